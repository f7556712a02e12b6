# SPDX-License-Identifier: Apache-2.0
"""flagos beside torch.cuda in one process, on one GPU and one CUDA context.

What every question of this folder shares: the settings that hold for both sides, how a
row is timed, and what becomes of a row that cannot be measured.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import math
import os
import pathlib
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import torch

import torch_fl

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness import Row, compare, heading, line, now, timed, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What a library or a missing operator raises; anything else is a mistake in here.
UNABLE = (RuntimeError, ImportError, AttributeError, TypeError, ValueError)
# The driver's queue holds about a thousand launches; a full one would be timed.
HOST_CALLS = 200
WINDOW_US = 3000.0
OURS, THEIRS = "flagos", "cuda"

_parser = argparse.ArgumentParser()
_parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
_parser.add_argument(
    "--rehearse",
    action="store_true",
    help="no GPU: run every row once, small, on the CPU engine against torch's CPU",
)
OPTIONS, REST = _parser.parse_known_args()
ROUNDS = 5 if OPTIONS.quick else 9
if OPTIONS.rehearse:
    torch.set_num_threads(1)
    THEIRS, ROUNDS, HOST_CALLS, WINDOW_US = "cpu", 1, 2, 1.0


def wait() -> None:
    """Until both sides' work is done; they share the context."""
    torch.flagos.synchronize()
    if THEIRS == "cuda":
        torch.cuda.synchronize()


def small(size: int, tiny: int) -> int:
    """The size that is measured, or a tiny one to rehearse."""
    return tiny if OPTIONS.rehearse else size


def set_tf32(on: bool) -> None:
    """For products and convolutions of both sides: flagos follows the first flag."""
    torch.backends.cuda.matmul.allow_tf32 = on
    torch.backends.cudnn.allow_tf32 = on


def settings() -> dict[str, Any]:
    """What both sides ran with."""
    return {
        "tf32 of products": torch.backends.cuda.matmul.allow_tf32,
        "tf32 of convolutions": torch.backends.cudnn.allow_tf32,
        "cudnn.benchmark": torch.backends.cudnn.benchmark,
        "bf16 reduced precision": (
            torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
        ),
        "rounds": ROUNDS,
        "quick": OPTIONS.quick,
    }


def _gpu() -> dict[str, Any]:
    if THEIRS != "cuda":
        return {"gpu": "none", "cores": os.cpu_count()}
    properties = torch.cuda.get_device_properties(0)
    query = ["nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.mem"]
    with contextlib.suppress(OSError):
        done = subprocess.run(
            [*query, "--format=csv,noheader"], capture_output=True, text=True
        )
        return {
            "gpu": properties.name,
            "multiprocessors": properties.multi_processor_count,
            "memory_gib": round(properties.total_memory / 2**30, 1),
            "driver and clocks": done.stdout.strip(),
            "cores": os.cpu_count(),
        }
    return {"gpu": properties.name}


def versions() -> dict[str, str]:
    cudnn = torch.backends.cudnn.version() if THEIRS == "cuda" else None
    return {
        "python": sys.version.split()[0],
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
        "cudnn": str(cudnn),
        **{f"torch_fl {k}": str(v) for k, v in torch_fl.info().items()},
    }


def reason(error: BaseException) -> str:
    """The first line of what was raised."""
    text = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {text}"[:300]


def _same(ours: object, theirs: object, tolerance: float) -> str:
    """Empty if the leading elements agree: a wrong result is worth no figure."""
    if not isinstance(ours, torch.Tensor) or not isinstance(theirs, torch.Tensor):
        return ""
    if ours.shape != theirs.shape:
        return f"the shapes differ: {tuple(ours.shape)} and {tuple(theirs.shape)}"
    a = ours.detach().reshape(-1)[:4096].cpu().double()
    b = theirs.detach().reshape(-1)[:4096].cpu().double()
    scale = max(b.abs().max().item(), 1e-6) if b.numel() else 1.0
    worst = (a - b).abs().max().item() / scale if b.numel() else 0.0
    if math.isnan(worst) or worst > tolerance:
        return f"the results differ by {worst:.2g} of the largest"
    return ""


def window(work: Callable[[], object], calls: int) -> Callable[[], object]:
    """So many calls and the wait for the device, as one."""

    def run() -> None:
        for _ in range(calls):
            work()
        wait()

    return run


class Question:
    """A table of rows that is written after each of them."""

    def __init__(self, title: str, report: str, seconds: float = 60.0) -> None:
        if THEIRS == "cuda" and not torch.cuda.is_available():
            sys.exit("this torch has no CUDA GPU to compare with.")
        self.title, self.report = title, f"cuda-{report}"
        self.rows: list[Row] = []
        self.more: dict[str, Any] = {}
        self.deadline = time.monotonic() + (seconds / 2 if OPTIONS.quick else seconds)
        torch_fl.set_strict(True)  # a fallback raises, and becomes a row's reason
        gc.disable()
        print(f"settings: {settings()}")
        heading(title, f"{THEIRS} us")

    def add(self, row: Row) -> Row:
        self.rows.append(row)
        line(row)
        data = {
            "question": self.title,
            "report": self.report,
            "date": now(),
            "machine": _gpu(),
            "versions": versions(),
            "settings": settings(),
            **self.more,
            "rows": [row.as_dict() for row in self.rows],
        }
        write(self.report, data)
        return row

    def without(self, name: str, why: str, aim: float | None = 1.0) -> Row:
        """A row that says why there is no figure."""
        return self.add(Row(name, aim=aim, better="higher", reason=why))

    def _ready(
        self, name: str, aim: float | None, make: Any, tolerance: float | None
    ) -> Iterator[tuple[Callable[[], object], Callable[[], object]]]:
        """Both sides' work, run once and compared, or a row with the reason."""
        if time.monotonic() > self.deadline:
            self.without(name, "the time of this question was over", aim)
            return
        try:
            work = make(OURS), make(THEIRS)
            results = [side() for side in work]
            wait()
            differ = "" if tolerance is None else _same(*results, tolerance)
        except UNABLE as error:
            self.without(name, reason(error), aim)
            return
        del results
        if differ:
            self.without(name, differ, aim)
            return
        yield work

    def host(
        self,
        name: str,
        make: Callable[[str], Callable[[], object]],
        aim: float | None = None,
        tolerance: float | None = 1e-5,
    ) -> Row | None:
        """What a call keeps the host, without waiting for the device."""
        for ours, theirs in self._ready(name, aim, make, tolerance):
            how = {"calls": HOST_CALLS, "rounds": 2 * ROUNDS + 1, "wait": wait}
            return self.add(
                compare(name, ours, theirs, aim=aim, better="higher", **how)  # type: ignore[arg-type]
            )
        return None

    def device(
        self,
        name: str,
        make: Callable[[str], Callable[[], object]],
        aim: float | None = 1.0,
        tolerance: float | None = 1e-4,
        rounds: int | None = None,
    ) -> Row | None:
        """What a call takes until the device is done, from windows of several calls."""
        for ours, theirs in self._ready(name, aim, make, tolerance):
            timed(window(theirs, 1), 1, wait)
            once = timed(window(theirs, 1), 1, wait)
            calls = max(1, min(100, math.ceil(WINDOW_US / once)))
            row = compare(
                name,
                window(ours, calls),
                window(theirs, calls),
                calls=1,
                rounds=rounds or ROUNDS,
                aim=aim,
                better="higher",
                wait=wait,
            )
            for side in ("ours_us", "theirs_us"):
                setattr(row, side, getattr(row, side) / calls)
            return self.add(row)
        return None

    def end(self) -> None:
        """Frees what the rows held, so that the next part starts alike."""
        gc.collect()
        wait()
        torch.flagos.empty_cache()
        if THEIRS == "cuda":
            torch.cuda.empty_cache()


def parts(*wanted: str) -> Iterator[str]:
    """Runs this program once for each part, in a process of its own; yields inside one.

    For settings that a process keeps, such as the algorithms that it has chosen.
    """
    if REST:
        yield from REST
        return
    words = [word for word in sys.argv[1:] if word.startswith("--")]
    failed = [
        part
        for part in wanted
        if subprocess.run([sys.executable, sys.argv[0], *words, part]).returncode
    ]
    if failed:
        sys.exit(f"these parts failed: {', '.join(failed)}")
