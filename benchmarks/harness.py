# SPDX-License-Identifier: Apache-2.0
"""Interleaved timing: A, A again, B in turn, medians, ratios, one JSON a question.

A ratio is only worth its A/A ratio: the same work timed twice in the same run. A row
whose A/A ratio is off by more than 10 % is measured again, up to three times.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import pathlib
import platform
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import torch

import torch_fl

if TYPE_CHECKING:
    from collections.abc import Callable

REPORTS = pathlib.Path(__file__).resolve().parent.parent / "build" / "reports"
TRIES = 3


@dataclasses.dataclass
class Row:
    """One comparison. ``ratio`` = ours / theirs: less than 1 is faster than torch."""

    name: str
    ours_us: float
    theirs_us: float
    ratio: float
    again: float  # theirs / theirs
    spread: float  # p90 - p10 of ours over its median
    aim: float | None = None

    @property
    def met(self) -> bool | None:
        if self.aim is None:
            return None
        tolerance = max(0.02, abs(self.again - 1)) if self.aim == 1.0 else 0.0
        return self.ratio <= self.aim + tolerance


def timed(work: Callable[[], object], calls: int, after: Callable[[], object]) -> float:
    """Microseconds a call; ``after`` (a device wait) is not counted."""
    start = time.perf_counter_ns()
    for _ in range(calls):
        work()
    end = time.perf_counter_ns()
    after()
    return (end - start) / calls / 1e3


def compare(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    calls: int = 400,
    rounds: int = 21,
    aim: float | None = None,
    wait: Callable[[], object] = torch.accelerator.synchronize,
) -> Row:
    """Medians of interleaved rounds of ``calls`` calls each."""
    row = None
    for _ in range(TRIES):
        for work in (ours, theirs):
            timed(work, max(calls // 10, 2), wait)
        mine, first, second = [], [], []
        for _ in range(rounds):
            first.append(timed(theirs, calls, wait))
            mine.append(timed(ours, calls, wait))
            second.append(timed(theirs, calls, wait))
        both = statistics.median(first + second)
        middle = statistics.median(mine)
        ordered = sorted(mine)
        tenth = len(ordered) // 10
        row = Row(
            name=name,
            ours_us=middle,
            theirs_us=both,
            ratio=middle / both,
            again=statistics.median(second) / statistics.median(first),
            spread=(ordered[-1 - tenth] - ordered[tenth]) / middle,
            aim=aim,
        )
        if abs(row.again - 1) <= 0.1:
            break
    assert row is not None
    return row


def machine() -> dict[str, Any]:
    model = platform.machine()
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return {
        "machine": f"{model}, {os.cpu_count()} cores",
        "load_average": os.getloadavg()[0],
        "torch": torch.__version__,
        "torch_fl": {k: str(v) for k, v in torch_fl.info().items()},
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
    }


def show(question: str, rows: list[Row], report: str, **more: Any) -> None:
    """Prints the table and writes build/reports/<report>.json."""
    print(f"\n{question}")
    print(f"{'':36}{'torch us':>10}{'ours us':>10}{'ratio':>8}{'A/A':>7}{'aim':>7}")
    for row in rows:
        aim = "" if row.aim is None else f"{row.aim:.2f}"
        mark = {None: "", True: "", False: "  missed"}[row.met]
        print(
            f"{row.name:36}{row.theirs_us:10.2f}{row.ours_us:10.2f}{row.ratio:8.2f}"
            f"{row.again:7.2f}{aim:>7}{mark}"
        )
    print(f"load average {os.getloadavg()[0]:.1f}")
    REPORTS.mkdir(parents=True, exist_ok=True)
    data = {
        **machine(),
        "question": question,
        **more,
        "rows": [{**dataclasses.asdict(row), "met": row.met} for row in rows],
    }
    path = REPORTS / f"{report}.json"
    path.write_text(json.dumps(data, indent=2) + "\n")
    print(f"written: {path}", file=sys.stderr)
