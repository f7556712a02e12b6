# SPDX-License-Identifier: Apache-2.0
"""What does an operator cost the host on the GPU, against torch.cuda's same call?

8x8 floats, no wait between calls. The floor is the launch of an empty kernel, measured
beside the rows: nothing that runs on the GPU can cost less.
"""

from __future__ import annotations

import ctypes
import os
import statistics
from typing import TYPE_CHECKING

import torch
from pairs import HOST_CALLS, IS_PARTNER, OPTIONS, Question, Row, timed, wait

if TYPE_CHECKING:
    from collections.abc import Callable

AIM = 1.1
AIM_ABOVE_FLOOR = 1 / 0.75
AIM_PRODUCT = 1.25

OPERATORS: dict[str, Callable[..., object]] = {
    "add": lambda x, y: torch.add(x, y),
    "mul": lambda x, y: torch.mul(x, y),
    "relu": lambda x, y: torch.relu(x),
    "sum": lambda x, y: torch.sum(x),
    "softmax": lambda x, y: torch.softmax(x, 1),
    "cat": lambda x, y: torch.cat((x, y)),
    "copy": lambda x, y: x.clone(),
}


def operands(device: str) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(8, 8), (8, 8), (8,)]
    return tuple(torch.randn(s, generator=generator).to(device) for s in shapes)


def operator(call: Callable[..., object]) -> Callable[[str], Callable[[], object]]:
    def make(device: str) -> Callable[[], object]:
        x, y, _ = operands(device)
        return lambda: call(x, y)

    return make


def linear(device: str) -> Callable[[], object]:
    x, weight, bias = operands(device)
    return lambda: torch.nn.functional.linear(x, weight, bias)


class Floor:
    """Times the launch of an empty kernel; the median of all that it has measured."""

    def __init__(self) -> None:
        path = os.environ.get("FLAGOS_LAUNCH_FLOOR", "")
        self.samples: list[float] = []
        here = path and not OPTIONS.rehearse and not IS_PARTNER
        self.library = ctypes.CDLL(path) if here else None

    def sample(self) -> None:
        if self.library is None:
            return
        self.library.launch_floor(HOST_CALLS)  # the GPU is this process's again
        wait()
        for _ in range(3):
            us = timed(lambda: self.library.launch_floor(HOST_CALLS), 1, wait)
            self.samples.append(us / HOST_CALLS)

    @property
    def us(self) -> float:
        return statistics.median(self.samples) if self.samples else 0.0


def above(row: Row, floor: float) -> Row:
    """The same row without what every launch costs."""
    assert row.ours_us is not None
    assert row.theirs_us is not None
    ours, theirs = row.ours_us - floor, row.theirs_us - floor
    return Row(
        name=f"{row.name}, above the launch floor",
        ours_us=ours,
        theirs_us=theirs,
        ratio=theirs / ours if ours > 0 else float("inf"),
        again=row.again,
        aim=AIM_ABOVE_FLOOR,
        better="higher",
    )


def main() -> None:
    question = Question("Host cost of a call, 8x8 float", "host_cost")
    floor = Floor()
    rows = []
    for name, call in OPERATORS.items():
        rows.append(question.host(name, operator(call), AIM))
        floor.sample()
        if len(rows) == 1:
            floor.samples.clear()  # the first launches load the kernel
    question.host("mm", operator(torch.mm), AIM_PRODUCT)
    floor.sample()
    question.host("linear with bias", linear, AIM_PRODUCT)
    floor.sample()
    if not floor.samples:
        question.without("launch floor", "FLAGOS_LAUNCH_FLOOR names no library", None)
        return
    question.more["launch floor us"] = floor.us
    question.more["launch floor samples us"] = floor.samples
    print(f"launch floor: {floor.us:.2f} us")
    for row in rows:
        if row:
            question.add(above(row, floor.us))


if __name__ == "__main__":
    main()
