# SPDX-License-Identifier: Apache-2.0
"""What would it cost to wait for the stream after every operator, as some backends do?

CUDA_LAUNCH_BLOCKING=1 makes each launch wait until it is done. A process without
and one with it; ``theirs`` is our own step with the waits, so the ratio says how much
faster the queue makes it. torch.cuda's own loss stands beside it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

import networks
from pairs import (
    IS_PARTNER,
    OPTIONS,
    OURS,
    PARTNER,
    REST,
    SIDE,
    THEIRS,
    UNABLE,
    Question,
    Row,
    reason,
    time_window,
)

STEPS = {"digits CNN, batch 64": (networks.digits, 20)}
STEPS["ResNet-50, batch 64, fp32"] = (networks.resnet50, 3)
_ANSWER = "FLAGOS_BENCH_ANSWER"


def alone() -> None:
    """Microseconds of each step on this side's device, as one line of JSON."""
    found: dict[str, float | str] = {}
    for name, (make, calls) in STEPS.items():
        count = 1 if OPTIONS.rehearse else calls
        try:
            work = make(SIDE)
            for _ in range(3):
                work()
            times = [time_window(work, count, True) for _ in range(5)]
        except UNABLE as error:
            found[name] = reason(error)
            continue
        found[name] = statistics.median(times)
    os.write(int(os.environ[_ANSWER]), json.dumps(found).encode())


def turn(device: str, blocking: bool) -> dict[str, float | str]:
    """One process of one side, with or without the waits."""
    read, write = os.pipe()
    env = {**os.environ, "CUDA_LAUNCH_BLOCKING": "1" if blocking else "0"}
    env[_ANSWER] = str(write)
    if device != OURS:
        env |= {PARTNER: "-1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    words = [word for word in sys.argv[1:] if word.startswith("--")]
    done = subprocess.run(
        [sys.executable, __file__, *words, "alone"], env=env, pass_fds=[write]
    )
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    if done.returncode or not text:
        raise RuntimeError(f"the process of a turn ended with {done.returncode}")
    found: dict[str, float | str] = json.loads(text)
    return found


def main() -> None:
    if REST:
        alone()
        return
    question = Question("A wait after every launch", "synchronised", seconds=120)
    if IS_PARTNER:
        return
    for device in (OURS, THEIRS):
        try:
            free, held = turn(device, False), turn(device, True)
        except UNABLE as error:
            question.without(f"{device} with waits", reason(error), None)
            continue
        for name in STEPS:
            label = f"{name}, {device} against itself with waits"
            a, b = free[name], held[name]
            if isinstance(a, str) or isinstance(b, str):
                question.without(label, str(a if isinstance(a, str) else b), None)
                continue
            row = Row(label, a, b, b / a, better="higher")
            question.add(row)


if __name__ == "__main__":
    main()
