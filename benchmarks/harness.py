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

if TYPE_CHECKING:
    from collections.abc import Callable

REPORTS = pathlib.Path(__file__).resolve().parent.parent / "build" / "reports"
TRIES = 3
WARM_UP = 0.1  # seconds of each side, before a row


@dataclasses.dataclass
class Row:
    """One comparison, or why there is none.

    ``ratio`` is ours / theirs where ``better`` is ``lower``, and theirs / ours, a
    speed, where it is ``higher``.
    """

    name: str
    ours_us: float | None = None
    theirs_us: float | None = None
    ratio: float | None = None
    again: float | None = None  # theirs / theirs
    spread: float | None = None  # p90 - p10 of ours over its median
    aim: float | None = None
    better: str = "lower"
    reason: str = ""  # why it was not measured

    @property
    def met(self) -> bool | None:
        if self.aim is None or self.ratio is None:
            return None
        tolerance = 0.0
        if self.aim == 1.0 and self.again is not None:
            tolerance = max(0.02, abs(self.again - 1))
        if self.better == "higher":
            return self.ratio >= self.aim - tolerance
        return self.ratio <= self.aim + tolerance

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "met": self.met}


def timed(work: Callable[[], object], calls: int, after: Callable[[], object]) -> float:
    """Microseconds a call; ``after`` (a device wait) is not counted."""
    start = time.perf_counter_ns()
    for _ in range(calls):
        work()
    end = time.perf_counter_ns()
    after()
    return (end - start) / calls / 1e3


def warm_up(
    work: Callable[[], object], calls: int, after: Callable[[], object]
) -> None:
    """Rounds that are not counted, so that a table's first row is like its others."""
    end = time.monotonic() + WARM_UP
    timed(work, max(calls // 10, 2), after)
    while time.monotonic() < end:
        timed(work, calls, after)


def measure(
    name: str,
    ours: Callable[[], float],
    theirs: Callable[[], float],
    *,
    rounds: int,
    aim: float | None = None,
    better: str = "lower",
) -> Row:
    """Medians of interleaved rounds; each function returns the microseconds of one."""
    row = None
    for _ in range(TRIES):
        mine, first, second = [], [], []
        for _ in range(rounds):
            first.append(theirs())
            mine.append(ours())
            second.append(theirs())
        both = statistics.median(first + second)
        middle = statistics.median(mine)
        ordered = sorted(mine)
        tenth = len(ordered) // 10
        row = Row(
            name=name,
            ours_us=middle,
            theirs_us=both,
            ratio=both / middle if better == "higher" else middle / both,
            again=statistics.median(second) / statistics.median(first),
            spread=(ordered[-1 - tenth] - ordered[tenth]) / middle,
            aim=aim,
            better=better,
        )
        if abs(row.again - 1) <= 0.1:
            break
    assert row is not None
    return row


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
    for work in (ours, theirs):
        warm_up(work, calls, wait)
    return measure(
        name,
        lambda: timed(ours, calls, wait),
        lambda: timed(theirs, calls, wait),
        rounds=rounds,
        aim=aim,
    )


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds")


def machine() -> dict[str, Any]:
    import torch_fl

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
        "date": now(),
    }


def heading(question: str, theirs: str = "torch us") -> None:
    print(f"\n{question}")
    print(
        f"{'':44}{theirs:>12}{'ours us':>12}{'ratio':>8}{'A/A':>7}{'aim':>7}",
        flush=True,
    )


def line(row: Row) -> None:
    """One line of the table."""
    if row.ratio is None:
        print(f"{row.name:44}  not measured: {row.reason}", flush=True)
        return
    aim = "" if row.aim is None else f"{row.aim:.2f}"
    again = "" if row.again is None else f"{row.again:.2f}"
    mark = {None: "", True: "", False: "  missed"}[row.met]
    print(
        f"{row.name:44}{row.theirs_us:12.2f}{row.ours_us:12.2f}{row.ratio:8.2f}"
        f"{again:>7}{aim:>7}{mark}",
        flush=True,
    )


def write(report: str, data: dict[str, Any]) -> pathlib.Path:
    """build/reports/<report>.json."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    path = REPORTS / f"{report}.json"
    path.write_text(json.dumps(data, indent=2) + "\n")
    return path


def show(question: str, rows: list[Row], report: str, **more: Any) -> None:
    """Prints the table and writes build/reports/<report>.json."""
    heading(question)
    for row in rows:
        line(row)
    print(f"load average {os.getloadavg()[0]:.1f}")
    data = {
        **machine(),
        "question": question,
        **more,
        "rows": [row.as_dict() for row in rows],
    }
    print(f"written: {write(report, data)}", file=sys.stderr)
