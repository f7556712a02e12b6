# SPDX-License-Identifier: Apache-2.0
"""Threads and streams that compute at random, near the memory's limit, and are checked.

Each thread has streams of its own and operands on both the CPU and the device. It runs
a random operator on a random stream, hands some results to other threads with an event
(who let go of them at once, recorded on their stream), copies some through pinned
memory, asks now and then for more memory than there is, and compares what it gets with
the CPU. With little memory to spare, a refusal in the middle is counted, nothing else.
At the end nothing may be wrong, lost or still allocated.

    python tests/python/stress.py --seconds 480
"""

from __future__ import annotations

import argparse
import faulthandler
import queue
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

import torch_fl

if TYPE_CHECKING:
    from collections.abc import Callable

    Operator = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

DEVICE = "flagos"
MIB = 1 << 20

# Of two square matrices with small whole numbers; products of them are exact.
OPERATORS: dict[str, Operator] = {
    "add": lambda a, b: a + 2 * b,
    "broadcast": lambda a, b: a * b[0] - b[:, :1],
    "strided": lambda a, b: a.t() + b[:, ::2].repeat(1, 2)[:, : a.shape[1]],
    "in place": lambda a, b: a.clone().mul_(3).sub_(b).clamp_(-5, 5),
    "relu": lambda a, b: torch.relu(a - b),
    "where": lambda a, b: torch.where(a > b, a, b),
    "sum": lambda a, b: a.sum(0) + b.sum(1),
    "max": lambda a, b: torch.maximum(a, b).amax(1),
    "mm": lambda a, b: a @ b,
    "addmm": lambda a, b: torch.addmm(b, a, b),
    "bmm": lambda a, b: torch.stack([a, b]) @ b,
    "cat": lambda a, b: torch.cat([a, b.t()], 1),
    "cast": lambda a, b: (a.half() + b.half()).float(),
    "int64": lambda a, b: (a.long() * 7 - b.long()).float(),
    "softmax": lambda a, b: torch.softmax(a - b, 1),
    "layer norm": lambda a, b: F.layer_norm(a + b, a.shape[-1:]),
    "argmax": lambda a, b: (a + b).argmax(1).float(),
    "cumsum": lambda a, b: (a - b).cumsum(1),
    "conv": lambda a, b: F.conv2d(a[None, None], b[None, None, :3, :3], padding=1),
    "pool": lambda a, b: F.max_pool2d((a + b)[None, None], 2),
    "gather": lambda a, b: a.gather(1, (b.long() % a.shape[1])),
    "fill": lambda a, b: torch.zeros_like(a).fill_(4) + b,
}


@dataclass
class Shared:
    """What the threads have in common."""

    mailbox: queue.Queue[tuple[torch.Tensor, torch.Tensor, object, str]]
    greed: int
    deadline: float
    count: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, own: Counter[str]) -> None:
        with self.lock:
            self.count.update(own)
        own.clear()

    def fail(self, text: str) -> None:
        with self.lock:
            self.wrong.append(text)


def whole_numbers(size: int, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(-4, 5, (size, size), generator=generator).float()


class Worker(threading.Thread):
    """One thread with its streams and operands."""

    def __init__(self, shared: Shared, number: int, streams: int, seed: int) -> None:
        super().__init__(name=f"worker {number}")
        self.shared = shared
        self.random = random.Random(seed * 1000 + number)
        self.generator = torch.Generator().manual_seed(seed * 1000 + number)
        self.stream_count = streams
        self.own: Counter[str] = Counter()

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.shared.fail(f"{self.name}: {type(error).__name__}: {error}")
            raise
        finally:
            self.shared.add(self.own)

    def work(self) -> None:
        torch.set_num_threads(1)
        self.streams = [torch.flagos.Stream() for _ in range(self.stream_count)]
        steps = [self.compute, self.compute, self.compute, self.pinned, self.take]
        while time.monotonic() < self.shared.deadline:
            try:
                with torch.flagos.stream(self.random.choice(self.streams)):
                    self.random.choice(steps)()
            except torch.OutOfMemoryError:
                self.own["refused in the middle"] += 1
            if self.random.random() < 0.01:
                self.ask_for_too_much()
                self.shared.add(self.own)

    def operands(self) -> tuple[torch.Tensor, torch.Tensor]:
        size = self.random.choice([2, 8, 30, 64, 128, 250, 512])
        return tuple(whole_numbers(size, self.generator) for _ in range(2))

    def compute(self) -> None:
        name, operator = self.random.choice(list(OPERATORS.items()))
        a, b = self.operands()
        there = a.to(DEVICE), b.to(DEVICE, non_blocking=True)
        hand_over = self.random.random() < 0.4
        if hand_over:  # late enough that who does not wait reads something else
            late = torch.ones(700, 700, device=DEVICE)
            for _ in range(4):
                late = late @ late
        ours = operator(*there)
        theirs = operator(a, b)
        self.own["operators"] += 1
        if hand_over:
            event = torch.flagos.Event()
            event.record()
            try:
                self.shared.mailbox.put_nowait((ours, theirs, event, name))
                self.own["handed over"] += 1
                return
            except queue.Full:
                pass
        self.check(ours, theirs, name)

    def take(self) -> None:
        """Uses another thread's result on our stream and lets go of it at once."""
        try:
            ours, theirs, event, name = self.shared.mailbox.get_nowait()
        except queue.Empty:
            return
        stream = torch.flagos.current_stream()
        event.wait(stream)
        doubled = ours * 2
        ours.record_stream(stream)
        del ours
        torch.empty(theirs.numel(), device=DEVICE).fill_(-77)  # wants that memory
        self.check(doubled, theirs * 2, f"{name}, handed over")

    def pinned(self) -> None:
        """There and back through pinned memory, freed while the copies may run."""
        size = self.random.choice([1, 1000, 65536])
        host = torch.randint(-9, 9, (size,), generator=self.generator).float()
        there = host.pin_memory().to(DEVICE, non_blocking=True)
        back = torch.empty(size, pin_memory=True)
        back.copy_(there + 1, non_blocking=True)
        event = torch.flagos.Event()
        event.record()
        del there
        event.synchronize()
        self.own["pinned copies"] += 1
        if not torch.equal(back, host + 1):
            self.shared.fail(f"{self.name}: pinned copy of {size} differs")

    def ask_for_too_much(self) -> None:
        try:
            torch.empty(self.shared.greed, dtype=torch.uint8, device=DEVICE)
        except torch.OutOfMemoryError:
            self.own["refused for memory"] += 1
            return
        self.shared.fail(f"{self.name}: {self.shared.greed} bytes were there")

    def check(self, ours: torch.Tensor, theirs: torch.Tensor, name: str) -> None:
        got = ours.cpu()
        self.own["checked"] += 1
        try:
            torch.testing.assert_close(got, theirs, rtol=1e-4, atol=1e-4)
        except AssertionError as error:
            self.shared.fail(f"{self.name}: {name} {list(theirs.shape)}: {error}")


@dataclass
class Memory:
    """Bytes that tensors hold, that the allocator keeps, that the device has free."""

    allocated: int
    reserved: int
    free: int


def settle() -> Memory:
    """With nothing queued and nothing cached."""
    torch.flagos.synchronize()
    torch.flagos.empty_cache()
    return Memory(
        torch.flagos.memory_allocated(),
        torch.flagos.memory_reserved(),
        torch.flagos.mem_get_info()[0],
    )


def finish(shared: Shared) -> None:
    """Looks at what nobody took out of the mailbox."""
    left = shared.mailbox.qsize()
    while not shared.mailbox.empty():
        ours, theirs, event, name = shared.mailbox.get()
        event.wait()
        if not torch.allclose(ours.cpu(), theirs, rtol=1e-4, atol=1e-4):
            shared.fail(f"{name}, left over, differs")
    print(f"left in the mailbox: {left}, all looked at")


def watch(shared: Shared, workers: list[Worker]) -> None:
    """Tells how far the workers are until all have ended."""
    start = time.monotonic()
    told = start
    while any(worker.is_alive() for worker in workers):
        next((w for w in workers if w.is_alive()), workers[0]).join(1)
        if shared.wrong:
            shared.deadline = 0
        if time.monotonic() - told > 10:
            told = time.monotonic()
            print(f"{told - start:6.0f} s  {dict(shared.count)}", flush=True)
    print(f"{time.monotonic() - start:6.0f} s  {dict(shared.count)}", flush=True)


def stress(options: argparse.Namespace) -> int:
    """The exit status: 0 if nothing was wrong."""
    torch_fl.set_strict(True)
    # Products and convolutions keep libraries' memory: touched once before the count.
    warm = whole_numbers(8, torch.Generator().manual_seed(0))
    for operator in OPERATORS.values():
        operator(warm.to(DEVICE), warm.to(DEVICE)).cpu()
    before = settle()
    room = before.free
    if options.memory:
        total = torch.flagos.mem_get_info()[1]
        room = min(room, options.memory * MIB)
        torch.flagos.set_per_process_memory_fraction(room / total)
    ballast = torch.empty(
        max(room - options.spare * MIB, 1), dtype=torch.uint8, device=DEVICE
    )
    shared = Shared(
        queue.Queue(4),
        greed=options.spare * 2 * MIB,
        deadline=time.monotonic() + options.seconds,
    )
    workers = [
        Worker(shared, number, options.streams, options.seed)
        for number in range(options.threads)
    ]
    for worker in workers:
        worker.start()
    watch(shared, workers)
    finish(shared)
    del ballast, workers
    after = settle()
    print(f"fallbacks {torch_fl.fallbacks()}; before {before}; after {after}")
    if shared.count["refused in the middle"] > shared.count["checked"] / 2:
        shared.fail("most operators found no memory: spare more of it")
    if (before.allocated, before.reserved) != (after.allocated, after.reserved):
        shared.fail("memory is still allocated or kept")
    # With a limit, others may use the device too.
    if not options.memory and after.free < before.free - 64 * MIB:
        shared.fail(f"{before.free - after.free} bytes of the device did not come back")
    for text in shared.wrong[:20]:
        print(text, file=sys.stderr)
    print("stress: " + (f"{len(shared.wrong)} wrong" if shared.wrong else "all right"))
    return 1 if shared.wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=480.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--streams", type=int, default=4, help="of each thread")
    parser.add_argument("--spare", type=int, default=256, help="MiB left to compute in")
    parser.add_argument(
        "--memory", type=int, default=0, help="MiB of the device, or all"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    faulthandler.enable()
    return stress(options)


if __name__ == "__main__":
    sys.exit(main())
