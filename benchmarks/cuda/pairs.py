# SPDX-License-Identifier: Apache-2.0
"""flagos and torch.cuda side by side: two processes on one GPU that take turns.

One process would be simpler, but where a PrivateUse1 device exists, torch's autograd
knows no other accelerator: a backward pass on CUDA tensors then fails an assertion
(`opt_ready_stream && opt_parent_stream`, seen in torch 2.11). So each question runs
twice: in this process with torch_fl, and in a partner without it, through the same
lines. At every row the two meet: they compare results, then time windows in turn while
the other one is idle.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import gc
import math
import os
import pathlib
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness import Row, heading, line, measure, now, timed, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Work = Callable[[], object]
    Make = Callable[[str], Work]

# What a library or a missing operator raises; anything else is a mistake in here.
UNABLE = (RuntimeError, ImportError, AttributeError, TypeError, ValueError)
# The driver's queue holds about a thousand launches; a full one would be timed.
HOST_CALLS = 200
WINDOW_US = 3000.0
COMPARED = 4096  # leading elements of a result

_parser = argparse.ArgumentParser()
_parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
_parser.add_argument(
    "--rehearse",
    action="store_true",
    help="no GPU: run every row once, small, on the CPU engine against torch's CPU",
)
OPTIONS, REST = _parser.parse_known_args()
ROUNDS = 5 if OPTIONS.quick else 9
OURS, THEIRS = "flagos", "cuda"
GONE = "torch.cuda's process ended with"
if OPTIONS.rehearse:
    torch.set_num_threads(1)
    THEIRS, ROUNDS, HOST_CALLS, WINDOW_US = "cpu", 1, 2, 1.0
SKIP = "FLAGOS_BENCH_SKIP"  # meetings that a partner before it came to
PARTNER = "FLAGOS_BENCH_PARTNER"  # the partner's end of the line to us
IS_PARTNER = PARTNER in os.environ
SIDE = THEIRS if IS_PARTNER else OURS
if not IS_PARTNER:
    import torch_fl


def module(device: str) -> Any:
    """torch.flagos or torch.cuda."""
    return torch.flagos if device == OURS else torch.cuda


def wait() -> None:
    """Until this side's work is done."""
    if SIDE != "cpu":
        module(SIDE).synchronize()


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


@functools.cache
def gpu() -> dict[str, Any]:
    if THEIRS != "cuda":
        return {"gpu": "none", "cores": os.cpu_count()}
    properties = torch.cuda.get_device_properties(0)
    query = ["nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.mem"]
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


@functools.cache
def versions() -> dict[str, str]:
    cudnn = torch.backends.cudnn.version() if THEIRS == "cuda" else None
    return {
        "python": sys.version.split()[0],
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
        "cudnn": str(cudnn),
        **{f"torch_fl {k}": v for k, v in torch_fl.info().items() if k != "toolkit"},
    }


def reason(error: BaseException) -> str:
    """The first line of what was raised."""
    text = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {text}"[:300]


class Ended(Exception):
    """The other side's process is no more."""


class Line:
    """What the two processes say to each other."""

    def __init__(self) -> None:
        self.meetings = 0
        if IS_PARTNER:
            self.connection = Connection(int(os.environ[PARTNER]))
            return
        self.start()

    def start(self) -> None:
        """A partner that skips the meetings that are over."""
        own, other = socket.socketpair()
        env = {**os.environ, PARTNER: str(other.fileno()), SKIP: str(self.meetings)}
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        self.partner = subprocess.Popen(
            [sys.executable, *sys.argv],
            env=env,
            pass_fds=[other.fileno()],
            stdout=subprocess.DEVNULL,
        )
        other.close()
        self.connection = Connection(own.detach())

    def send(self, what: object) -> None:
        try:
            self.connection.send(what)
        except OSError as error:
            raise self._ended() from error

    def receive(self) -> Any:
        try:
            return self.connection.recv()
        except (EOFError, OSError) as error:
            raise self._ended() from error

    def _ended(self) -> Exception:
        if IS_PARTNER:
            return SystemExit(0)
        code = self.partner.wait(10)
        return Ended(f"{GONE} {code}")

    def ask(self, calls: int, inside: bool) -> float:
        """The partner's microseconds, see time_window."""
        self.send((calls, inside))
        answer = self.receive()
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return float(answer)


def _leading(result: object) -> tuple[list[int], list[float]] | None:
    if not isinstance(result, torch.Tensor):
        return None
    values = result.detach().reshape(-1)[:COMPARED].cpu().double()
    return list(result.shape), values.tolist()


def _differ(ours: Any, theirs: Any, tolerance: float | None) -> str:
    """Empty if the leading elements agree: a wrong result is worth no figure."""
    if tolerance is None or ours is None or theirs is None:
        return ""
    if ours[0] != theirs[0]:
        return f"the shapes differ: {ours[0]} and {theirs[0]}"
    scale = max((abs(x) for x in theirs[1]), default=1.0) or 1.0
    pairs = zip(ours[1], theirs[1], strict=True)
    worst = max((abs(a - b) / scale for a, b in pairs), default=0.0)
    if math.isnan(sum(ours[1])) or worst > tolerance:
        return f"the results differ by {worst:.2g} of the largest"
    return ""


def time_window(work: Work, calls: int, inside: bool) -> float:
    """Microseconds a call; the wait at the end counts if it is ``inside``."""
    # The GPU is this process's again, and its core is awake.
    for _ in range(1 if inside else calls):
        work()
    wait()
    if not inside:
        return timed(work, calls, wait)

    def whole() -> None:
        for _ in range(calls):
            work()
        wait()

    return timed(whole, 1, wait) / calls


class Question:
    """A table of rows that is written after each of them; the partner's is silent."""

    def __init__(self, title: str, report: str, seconds: float = 60.0) -> None:
        if not OPTIONS.rehearse and not torch.cuda.is_available():
            sys.exit("this torch has no CUDA GPU to compare with.")
        self.title, self.report = title, f"cuda-{report}"
        self.rows: list[Row] = []
        self.more: dict[str, Any] = {}
        self.line = Line()
        share = 20.0 if OPTIONS.rehearse else 0.5 if OPTIONS.quick else 1.0
        self.deadline = time.monotonic() + share * seconds
        gc.disable()
        faulthandler.enable()
        if IS_PARTNER:
            return
        torch_fl.set_strict(True)  # a fallback raises, and becomes a row's reason
        print(f"settings: {settings()}")
        heading(title, f"{THEIRS} us")

    def add(self, row: Row) -> Row | None:
        if IS_PARTNER:
            return None
        self.rows.append(row)
        line(row)
        data = {
            "question": self.title,
            "report": self.report,
            "date": now(),
            "machine": gpu(),
            "versions": versions(),
            "settings": settings(),
            **self.more,
            "rows": [row.as_dict() for row in self.rows],
        }
        write(self.report, data)
        return row

    def without(self, name: str, why: str, aim: float | None = 1.0) -> None:
        """A row that says why there is no figure."""
        self.add(Row(name, aim=aim, better="higher", reason=why))

    def both(
        self, name: str, function: Callable[[str], object], aim: float | None = 1.0
    ) -> tuple[Any, Any] | None:
        """What a function of the device returns on both sides; here, not in the
        partner, and not where one of them cannot."""
        self.line.meetings += 1
        if IS_PARTNER and self.line.meetings <= int(os.environ[SKIP]):
            return None
        try:
            return self._meet(name, function, aim)
        except Ended as ended:
            self.without(name, str(ended), aim)
            self.line.start()
            return None

    def _meet(
        self, name: str, function: Callable[[str], object], aim: float | None
    ) -> tuple[Any, Any] | None:
        late = not IS_PARTNER and time.monotonic() > self.deadline
        if IS_PARTNER:
            late = self.line.receive()
        else:
            self.line.send(late)
        if late:
            self.without(name, "the time of this question was over", aim)
            return None
        try:
            value, why = function(SIDE), ""
        except UNABLE as error:
            value, why = None, f"{SIDE}: {reason(error)}"
        if IS_PARTNER:
            assert "torch_fl" not in sys.modules, "the partner is torch.cuda's alone"
            self.line.send((value, why))
            return None
        other, others = self.line.receive()
        if why or others:
            self.without(name, why or others, aim)
            return None
        return value, other

    def _serve(self, work: Work | None) -> None:
        """The partner's part of a row: it times what it is asked for."""
        while (request := self.line.receive()) is not None:
            assert work is not None
            try:
                self.line.send(time_window(work, *request))
            except UNABLE as error:
                self.line.send(f"{SIDE}: {reason(error)}")

    def _measure(
        self,
        name: str,
        make: Make,
        aim: float | None,
        tolerance: float | None,
        rounds: int,
        calls: int | None,
        per: int = 1,
    ) -> Row | None:
        """A row; ``calls`` without a wait, or as many with one as fill a window."""
        kept: list[Work] = []

        def first(device: str) -> object:
            work = make(device)
            result = _leading(work())
            wait()
            kept.append(work)
            return result

        before = len(self.rows)
        results = self.both(name, first, aim)
        if IS_PARTNER:
            if self.line.meetings > int(os.environ[SKIP]):
                self._serve(kept[0] if kept else None)
            return None
        if len(self.rows) > before and self.rows[-1].reason.startswith(GONE):
            return None  # the new partner is at the next row
        row = None
        try:
            if results:
                why = _differ(*results, tolerance)
                try:
                    row = (
                        None if why else self._turns(name, kept[0], aim, rounds, calls)
                    )
                except UNABLE as error:
                    why = reason(error)
                if why:
                    self.without(name, why, aim)
            self.line.send(None)
        except Ended as ended:
            self.without(name, str(ended), aim)
            self.line.start()
            return None
        if row is None or row.ours_us is None or row.theirs_us is None:
            return None
        row.ours_us, row.theirs_us = row.ours_us / per, row.theirs_us / per
        return self.add(row)

    def _turns(
        self, name: str, work: Work, aim: float | None, rounds: int, calls: int | None
    ) -> Row:
        inside, count = calls is None, calls or 1
        if inside:
            self.line.ask(1, True)
            once = self.line.ask(1, True)
            count = max(1, min(100, math.ceil(WINDOW_US / once)))
        time_window(work, count, inside)
        return measure(
            name,
            lambda: time_window(work, count, inside),
            lambda: self.line.ask(count, inside),
            rounds=rounds,
            aim=aim,
            better="higher",
        )

    def host(
        self,
        name: str,
        make: Make,
        aim: float | None = None,
        tolerance: float | None = 1e-5,
        calls: int | None = None,
        rounds: int | None = None,
        per: int = 1,
    ) -> Row | None:
        """What a call keeps the host, without waiting for the device; ``per`` is how
        many pieces of work one call holds."""
        rounds, calls = rounds or 2 * ROUNDS + 1, calls or HOST_CALLS
        return self._measure(name, make, aim, tolerance, rounds, calls, per)

    def device(
        self,
        name: str,
        make: Make,
        aim: float | None = 1.0,
        tolerance: float | None = 1e-4,
        rounds: int | None = None,
    ) -> Row | None:
        """What a call takes until the device is done, from windows of several calls."""
        return self._measure(name, make, aim, tolerance, rounds or ROUNDS, None)

    def end(self) -> None:
        """Frees what the rows held, so that the next part starts alike."""
        gc.collect()
        wait()
        if SIDE != "cpu":
            module(SIDE).empty_cache()


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
