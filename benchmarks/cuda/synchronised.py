# SPDX-License-Identifier: Apache-2.0
"""What would it cost to wait for the stream after every operator, as some backends do?

CUDA_LAUNCH_BLOCKING=1 makes each launch wait until it is done. Processes with and
without it take turns; ``theirs`` is our own step with the waits, so the ratio says how
much faster the queue makes it. torch.cuda's own loss stands beside it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

import networks
from pairs import (
    OPTIONS,
    OURS,
    REST,
    THEIRS,
    UNABLE,
    Question,
    Row,
    reason,
    timed,
    window,
)

STEPS = {"digits CNN, batch 64": (networks.digits, 20)}
STEPS["ResNet-50, batch 64, fp32"] = (networks.resnet50, 3)
TURNS = 1 if OPTIONS.rehearse else 2


def child() -> None:
    """Microseconds of each step on both devices, as one line of JSON."""
    found: dict[str, dict[str, float | str]] = {}
    for name, (make, calls) in STEPS.items():
        found[name] = {}
        for device in (OURS, THEIRS):
            try:
                work = window(make(device), 1 if OPTIONS.rehearse else calls)
                work()
                times = [timed(work, 1, lambda: None) for _ in range(5)]
            except UNABLE as error:
                found[name][device] = reason(error)
                continue
            found[name][device] = statistics.median(times) / calls
    print("figures:" + json.dumps(found))


def turn(blocking: bool) -> dict[str, dict[str, float | str]]:
    env = {**os.environ, "CUDA_LAUNCH_BLOCKING": "1" if blocking else "0"}
    words = [word for word in sys.argv[1:] if word.startswith("--")]
    done = subprocess.run(
        [sys.executable, __file__, *words, "child"],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("figures:")]
    if done.returncode or not lines:
        raise RuntimeError(f"the process of a turn ended with {done.returncode}")
    return json.loads(lines[0].removeprefix("figures:"))


def main() -> None:
    if REST:
        child()
        return
    question = Question("A wait after every launch", "synchronised", seconds=120)
    try:
        turns = [(turn(False), turn(True)) for _ in range(TURNS)]
    except UNABLE as error:
        question.without("a wait after every launch", reason(error), None)
        return
    for name in STEPS:
        for device in (OURS, THEIRS):
            label = f"{name}, {device} against itself with waits"
            figures = [[each[name][device] for each in pair] for pair in turns]
            words = [x for pair in figures for x in pair if isinstance(x, str)]
            if words:
                question.without(label, words[0], None)
                continue
            free, held = (
                statistics.median(side) for side in zip(*figures, strict=True)
            )
            again = figures[-1][0] / figures[0][0]
            row = Row(label, free, held, held / free, again, better="higher")
            question.add(row)


if __name__ == "__main__":
    main()
