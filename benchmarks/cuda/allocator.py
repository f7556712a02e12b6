# SPDX-License-Identifier: Apache-2.0
"""The caching allocators: time of 10^6 mixed allocations, and memory in a real step.

Memory rows are ours / theirs, less is better.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import networks
import torch
from pairs import OPTIONS, Question, Row, module, set_tf32

if TYPE_CHECKING:
    from collections.abc import Callable

TOTAL = 2_000 if OPTIONS.rehearse else 200_000 if OPTIONS.quick else 1_000_000
LIVE = 256
LARGEST = 2**20 if OPTIONS.rehearse else 2**26


def sequence(count: int) -> list[tuple[int, int]]:
    """Which of the live blocks is replaced, and its new size: 512 B to 64 MiB."""
    chance = random.Random(0)
    top = LARGEST.bit_length() - 10
    return [
        (chance.randrange(LIVE), int(512 * 2 ** chance.uniform(0, top)))
        for _ in range(count)
    ]


def churn(order: list[tuple[int, int]]) -> Callable[[str], Callable[[], object]]:
    def make(device: str) -> Callable[[], object]:
        live: list[torch.Tensor | None] = [None] * LIVE
        where = torch.device(device)

        def run() -> None:
            for place, size in order:
                live[place] = None
                live[place] = torch.empty(size, dtype=torch.uint8, device=where)

        return run

    return make


def mixed(question: Question) -> None:
    """Our side allocates TOTAL blocks over the rounds, theirs twice as many."""
    rounds = 1 if OPTIONS.rehearse else 5
    order = sequence(TOTAL // rounds)
    name = f"{TOTAL:.0e} allocations, 512 B to {LARGEST >> 20} MiB"
    each = len(order)
    question.host(name, churn(order), 1.0, None, calls=1, rounds=rounds, per=each)


def peak(device: str) -> dict[str, int]:
    """Bytes reserved and allocated at the most during three steps of ResNet-50."""
    if device == "cpu":
        return {"reserved": 1, "allocated": 1}
    own = module(device)
    own.synchronize()
    own.empty_cache()
    before = own.memory_reserved()
    own.reset_peak_memory_stats()
    step = networks.resnet50(device)
    for _ in range(3):
        step()
    own.synchronize()
    return {
        "reserved": own.max_memory_reserved() - before,
        "allocated": own.max_memory_allocated(),
    }


def memory(question: Question) -> None:
    name = "ResNet-50, batch 64, fp32: peak reserved, MiB"
    found = question.both(name, peak, 1.05)
    if not found:
        return
    ours, theirs = found
    question.more["peak bytes"] = {"ours": ours, "torch.cuda": theirs}
    for what, aim in (("reserved", 1.05), ("allocated", None)):
        title = name.replace("reserved", what)
        ratio = ours[what] / theirs[what]
        sizes = ours[what] / 2**20, theirs[what] / 2**20
        question.add(Row(title, *sizes, ratio=ratio, aim=aim))


def main() -> None:
    question = Question("The caching allocator", "allocator")
    set_tf32(False)
    memory(question)  # first, before others have filled the pools
    question.end()
    mixed(question)


if __name__ == "__main__":
    main()
