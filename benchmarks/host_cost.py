# SPDX-License-Identifier: Apache-2.0
"""What does an operator cost the host, against torch CPU's same call?

8x8 float tensors, one torch thread, no wait between calls. The aims: at most 0.75 of
torch CPU for equal dense operands, 1.1 where TensorIterator is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from harness import compare, show

import torch_fl  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable


def cases(device: str) -> dict[str, tuple[Callable[[], object], float | None]]:
    x = torch.ones(8, 8, device=device)
    y = torch.ones(8, 8, device=device)
    out = torch.empty(8, 8, device=device)
    row = torch.ones(8, device=device)
    integers = torch.ones(8, 8, device=device, dtype=torch.int64)
    leaf = torch.ones(8, 8, device=device, requires_grad=True)
    return {
        "add": (lambda: torch.add(x, y), 0.75),
        "add out=": (lambda: torch.add(x, y, out=out), 0.75),
        "add_": (lambda: x.add_(y), 0.75),
        "mul by a number": (lambda: torch.mul(x, 2.5), 0.75),
        "relu": (lambda: torch.relu(x), 0.75),
        "sum": (lambda: torch.sum(x), 0.75),
        "mm": (lambda: torch.mm(x, y), 0.75),
        "add, broadcast row": (lambda: torch.add(x, row), 1.1),
        "add, transposed operand": (lambda: torch.add(x, y.t()), 1.1),
        "mul, strided slice": (lambda: torch.mul(x[:, ::2], y[:, ::2]), 1.1),
        "add, int64 and float": (lambda: torch.add(x, integers), None),
        "softmax": (lambda: torch.softmax(x, 1), None),
        "exp": (lambda: torch.exp(x), None),
        "greater than": (lambda: torch.gt(x, y), None),
        "sum over a dimension": (lambda: torch.sum(x, 0), None),
        "add, requires grad": (lambda: torch.add(leaf, y), None),
        "empty_like": (lambda: torch.empty_like(x), None),
        "transpose": (lambda: x.t(), None),
    }


def main() -> None:
    torch.set_num_threads(1)
    ours, theirs = cases("flagos"), cases("cpu")
    rows = [
        compare(name, ours[name][0], theirs[name][0], aim=ours[name][1])
        for name in ours
    ]
    show("Host cost of a call, 8x8 float, one torch thread", rows, "host_cost")


if __name__ == "__main__":
    main()
