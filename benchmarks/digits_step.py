# SPDX-License-Identifier: Apache-2.0
"""What does a training step of the digits CNN take, against torch CPU?

Two figures a step: until the device is done, and until the main thread is free again.
torch CPU has one thread and the toolkit one worker, then both have all cores; each
setting runs in a process of its own, since it is chosen at start-up.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import torch
from harness import Row, compare, show
from torch import nn

import torch_fl  # noqa: F401

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples"))

from digits_model import BATCH, make_data, make_model


def make_step(device: str, state: dict[str, torch.Tensor]) -> object:
    model = make_model()
    model.load_state_dict(state)
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    images, labels, _, _ = make_data()
    x, y = images[:BATCH].to(device), labels[:BATCH].to(device)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def steps_until_done(step: object, device: str) -> object:
    def work() -> None:
        for _ in range(10):
            step()  # type: ignore[operator]
        if device != "cpu":
            torch.accelerator.synchronize()

    return work


def measure() -> list[Row]:
    threads = int(os.environ["MUSA_CPU_THREADS"])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    state = make_model().state_dict()
    ours, theirs = make_step("flagos", state), make_step("cpu", state)
    kind = f"{threads} thread" + ("s" if threads > 1 else "")
    done = compare(
        f"10 steps, {kind}",
        steps_until_done(ours, "flagos"),  # type: ignore[arg-type]
        steps_until_done(theirs, "cpu"),  # type: ignore[arg-type]
        calls=1,
        rounds=31,
        aim=1.0,
    )
    free = compare(
        f"step until the main thread is free, {kind}",
        ours,  # type: ignore[arg-type]
        theirs,  # type: ignore[arg-type]
        calls=10,
        rounds=31,
    )
    return [done, free]


def main() -> None:
    if "MUSA_CPU_THREADS" in os.environ:
        threads = os.environ["MUSA_CPU_THREADS"]
        show(
            "Training step of the digits CNN, batch 64, AdamW",
            measure(),
            f"digits_step_{threads}",
            threads=int(threads),
        )
        return
    for threads in sorted({1, os.cpu_count() or 1}):
        subprocess.run(
            [sys.executable, __file__],
            env={**os.environ, "MUSA_CPU_THREADS": str(threads)},
            check=True,
        )


if __name__ == "__main__":
    main()
