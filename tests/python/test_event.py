# SPDX-License-Identifier: Apache-2.0
"""Events: order, time, reuse."""

import time
import weakref

import pytest
import torch

from torch_fl.testing import Latch


def test_unrecorded_event_is_done() -> None:
    event = torch.flagos.Event()
    assert event.query()
    event.synchronize()


def test_event_is_not_done_before_its_work() -> None:
    event = torch.flagos.Event()
    with Latch():
        event.record()
        assert not event.query()
    event.synchronize()
    assert event.query()


def test_wait_event_orders_streams() -> None:
    side = torch.flagos.Stream()
    x = torch.zeros(1 << 16, device="flagos")
    event = torch.flagos.Event()
    for _ in range(20):
        x += 1
    event.record()
    side.wait_event(event)
    with torch.flagos.stream(side):
        y = x + 0
    side.synchronize()
    assert y.min().item() == 20


def test_wait_holds_the_record_of_its_moment() -> None:
    first, second = torch.flagos.Stream(), torch.flagos.Stream()
    event = torch.flagos.Event()
    event.record(first)
    second.wait_event(event)
    with Latch():  # holds the default stream
        event.record(torch.flagos.default_stream())
        second.synchronize()  # waits for the old record only
        assert not event.query()


def test_elapsed_time_measures_the_device() -> None:
    start = torch.flagos.Event(enable_timing=True)
    end = torch.flagos.Event(enable_timing=True)
    start.record()
    with Latch():
        time.sleep(0.05)
    end.record()
    end.synchronize()
    assert 45 <= start.elapsed_time(end) < 5000


def test_elapsed_time_without_timing_is_refused() -> None:
    start, end = torch.flagos.Event(), torch.flagos.Event()
    start.record()
    end.record()
    torch.flagos.synchronize()
    with pytest.raises((RuntimeError, ValueError)):
        start.elapsed_time(end)


def test_generic_event_and_stream_work() -> None:
    event = torch.Event(device="flagos", enable_timing=True)
    stream = torch.Stream(device="flagos")
    event.record(stream)
    event.synchronize()
    assert event.query()
    event.record(torch.accelerator.current_stream())
    event.wait(stream)
    stream.synchronize()


def test_events_are_recycled() -> None:
    events = []
    for _ in range(2000):
        event = torch.flagos.Event()
        event.record()
        events.append(event)
    torch.flagos.synchronize()
    assert all(event.query() for event in events)


def test_weak_references() -> None:
    event, stream = torch.flagos.Event(), torch.flagos.Stream()
    assert weakref.ref(event)() is event
    assert weakref.ref(stream)() is stream
