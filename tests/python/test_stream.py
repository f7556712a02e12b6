# SPDX-License-Identifier: Apache-2.0
"""Streams: pools, current stream per thread, ordering, lifetime of blocks."""

import pathlib
import subprocess
import sys
import threading

import pytest
import torch

from torch_fl.testing import Latch


def test_default_stream_is_current_at_first(device: torch.device) -> None:
    current = torch.flagos.current_stream()
    assert current == torch.flagos.default_stream()
    assert current.device == device
    assert torch.accelerator.current_stream() == current


def test_stream_context_switches_and_restores() -> None:
    before = torch.flagos.current_stream()
    side = torch.flagos.Stream()
    with torch.flagos.stream(side):
        assert torch.flagos.current_stream() == side
        assert torch.accelerator.current_stream() == side
    assert torch.flagos.current_stream() == before
    with torch.flagos.stream(None):
        assert torch.flagos.current_stream() == before


@pytest.mark.usefixtures("two_devices")
def test_stream_context_of_another_device_restores_both() -> None:
    side = torch.flagos.Stream(device="flagos:1")
    other_before = torch.flagos.current_stream(1)
    with torch.flagos.stream(side):
        assert torch.flagos.current_device() == 1
        assert torch.flagos.current_stream() == side
    assert torch.flagos.current_device() == 0
    assert torch.flagos.current_stream(1) == other_before


def test_streams_come_from_a_pool() -> None:
    handles = {torch.flagos.Stream().stream_id for _ in range(200)}
    assert 2 <= len(handles) <= 64


def test_priority_is_honoured() -> None:
    high = torch.flagos.Stream(priority=-1)
    low = torch.flagos.Stream(priority=0)
    assert high.priority == -1
    assert low.priority == 0
    assert high != low


def test_current_stream_is_per_thread() -> None:
    side = torch.flagos.Stream()
    seen = []
    with torch.flagos.stream(side):
        worker = threading.Thread(
            target=lambda: seen.append(torch.flagos.current_stream())
        )
        worker.start()
        worker.join()
    assert seen == [torch.flagos.default_stream()]


def test_query_is_false_while_work_is_held(device: torch.device) -> None:
    stream = torch.flagos.current_stream()
    with Latch():
        x = torch.ones(4, device=device) + 1
        assert not stream.query()
    stream.synchronize()
    assert stream.query()
    assert x.tolist() == [2.0] * 4


def test_side_stream_runs_while_the_default_one_is_held() -> None:
    side = torch.flagos.Stream()
    with Latch():
        with torch.flagos.stream(side):
            y = torch.full((16,), 3.0, device="flagos") * 2
        side.synchronize()
        assert side.query()
    assert y.tolist() == [6.0] * 16


def test_wait_stream_orders_two_streams() -> None:
    side = torch.flagos.Stream()
    x = torch.zeros(1 << 16, device="flagos")
    for _ in range(30):
        x += 1
    side.wait_stream(torch.flagos.current_stream())
    with torch.flagos.stream(side):
        y = x * 2
    torch.flagos.current_stream().wait_stream(side)
    assert y.sum().item() == 60 * (1 << 16)


def test_stream_ids_survive_a_round_trip() -> None:
    side = torch.flagos.Stream()
    again = torch.Stream(
        stream_id=side.stream_id,
        device_index=side.device_index,
        device_type=side.device_type,
    )
    assert again == side


def test_record_stream_keeps_a_block_from_reuse() -> None:
    side = torch.flagos.Stream()
    x = torch.full((1 << 18,), 5.0, device="flagos")
    address = x.data_ptr()
    torch.flagos.synchronize()
    with torch.flagos.stream(side), Latch():
        y = x * 2
        x.record_stream(side)
        del x
        z = torch.zeros(1 << 18, device="flagos")
        with torch.flagos.stream(torch.flagos.default_stream()):
            w = torch.zeros(1 << 18, device="flagos")
        assert w.data_ptr() != address
        assert z.data_ptr() != address
    side.synchronize()
    assert (y == 10).all().item()


def test_block_freed_on_its_own_stream_is_reused_at_once() -> None:
    x = torch.empty(12345, device="flagos")
    address = x.data_ptr()
    del x
    assert torch.empty(12345, device="flagos").data_ptr() == address


def test_blocks_are_not_shared_between_streams() -> None:
    x = torch.empty(54321, device="flagos")
    address = x.data_ptr()
    del x
    with torch.flagos.stream(torch.flagos.Stream()):
        assert torch.empty(54321, device="flagos").data_ptr() != address


def test_tensor_outlives_its_stream_object() -> None:
    def make() -> torch.Tensor:
        stream = torch.flagos.Stream()
        with torch.flagos.stream(stream):
            x = torch.arange(6, dtype=torch.float32).to("flagos") * 2
        torch.flagos.current_stream().wait_stream(stream)
        return x

    x = make()
    assert (x + 1).tolist() == [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]


def test_stream_of_a_wrong_kind_is_refused() -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError, AttributeError)):
        torch.flagos.set_stream("fast")  # type: ignore[arg-type]


def test_eight_threads_with_four_streams_each() -> None:
    errors = []

    def work(number: int) -> None:
        try:
            streams = [torch.flagos.Stream() for _ in range(4)]
            for i in range(40):
                with torch.flagos.stream(streams[i % 4]):
                    x = torch.full((500 + number,), float(number), device="flagos")
                    y = x * 2 + 1
                    assert (y - (2 * number + 1)).abs().max().item() == 0
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_threads_and_streams_near_the_limit_of_memory() -> None:
    """A short round of stress.py, which is run for minutes by hand."""
    script = pathlib.Path(__file__).with_name("stress.py")
    words = ["--seconds", "4", "--memory", "1024", "--spare", "256"]
    done = subprocess.run(
        [sys.executable, script, *words], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all right" in done.stdout
