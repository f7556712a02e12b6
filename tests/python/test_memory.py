# SPDX-License-Identifier: Apache-2.0
"""Memory: statistics, limits, recovery, pinned host memory."""

import gc

import pytest
import torch
from subprocesses import output_of

MIB = 1 << 20


@pytest.fixture(autouse=True)
def clean() -> None:
    gc.collect()
    torch.flagos.synchronize()
    torch.flagos.empty_cache()
    torch.flagos.reset_peak_memory_stats()


def test_allocated_and_peak_follow_tensors() -> None:
    before = torch.flagos.memory_allocated()
    x = torch.empty(8 * MIB, dtype=torch.uint8, device="flagos")
    assert torch.flagos.memory_allocated() - before == 8 * MIB
    assert torch.flagos.memory_reserved() >= torch.flagos.memory_allocated()
    del x
    assert torch.flagos.memory_allocated() == before
    assert torch.flagos.max_memory_allocated() >= before + 8 * MIB
    torch.flagos.reset_peak_memory_stats()
    assert torch.flagos.max_memory_allocated() == before


def test_empty_cache_gives_memory_back() -> None:
    free_before = torch.flagos.mem_get_info()[0]
    x = torch.empty(64 * MIB, dtype=torch.uint8, device="flagos")
    assert torch.flagos.mem_get_info()[0] <= free_before - 64 * MIB
    del x
    reserved = torch.flagos.memory_reserved()
    assert reserved >= 64 * MIB
    torch.flagos.empty_cache()
    assert torch.flagos.memory_reserved() <= reserved - 64 * MIB
    assert torch.flagos.mem_get_info()[0] >= free_before


def test_stats_have_the_names_of_torch_cuda() -> None:
    stats = torch.flagos.memory_stats()
    for name in (
        "allocated_bytes.all.current",
        "allocated_bytes.all.peak",
        "reserved_bytes.all.current",
        "active_bytes.all.current",
        "allocation.all.allocated",
        "segment.all.current",
        "num_alloc_retries",
        "num_ooms",
    ):
        assert name in stats
    accelerator = torch.accelerator.memory_stats()
    assert accelerator["allocated_bytes.all.current"] == torch.flagos.memory_allocated()


def test_summary_is_a_table() -> None:
    text = torch.flagos.memory_summary()
    assert "Allocated memory" in text
    assert "|" in text


def test_too_much_memory_raises_out_of_memory_with_numbers() -> None:
    total = torch.flagos.mem_get_info()[1]
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(2 * total, dtype=torch.uint8, device="flagos")
    text = str(caught.value)
    assert "Tried to allocate" in text
    assert "GiB" in text or "MiB" in text
    assert "flagos" in text
    assert torch.flagos.memory_stats()["num_ooms"] >= 1
    assert (torch.ones(3, device="flagos") + 1).tolist() == [2.0] * 3


def test_memory_fraction_limits_and_is_validated() -> None:
    total = torch.flagos.mem_get_info()[1]
    torch.flagos.set_per_process_memory_fraction(0.01)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(total // 50, dtype=torch.uint8, device="flagos")
    finally:
        torch.flagos.set_per_process_memory_fraction(1.0)
    torch.empty(total // 50, dtype=torch.uint8, device="flagos")
    with pytest.raises(ValueError, match=r"0.*1"):
        torch.flagos.set_per_process_memory_fraction(1.5)


def test_cached_blocks_are_freed_before_giving_up() -> None:
    output_of(
        """
import torch, torch_fl
half = int(torch.flagos.mem_get_info()[0] * 0.6)
for _ in range(6):
    x = torch.empty(half, dtype=torch.uint8, device="flagos")
    del x
    y = torch.empty(half + 4096 * 1024, dtype=torch.uint8, device="flagos")
    del y
assert torch.flagos.memory_stats()["num_alloc_retries"] >= 1
assert torch.flagos.memory_stats()["num_ooms"] == 0
""",
        MUSA_CPU_MEMORY="256MiB",
    )


def test_a_thousand_recoveries_leak_nothing() -> None:
    output_of(
        """
import gc, os, torch, torch_fl

def state():
    gc.collect()
    torch.flagos.synchronize()
    torch.flagos.empty_cache()
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    threads = int(lines["Threads"])
    rss = int(lines["VmRSS"].split()[0])
    return threads, len(os.listdir("/proc/self/fd")), torch.flagos.mem_get_info(), rss

total = torch.flagos.mem_get_info()[1]
x = torch.ones(64, device="flagos")
for _ in range(5000):  # the first use of a stream's queue touches its pages
    x.fill_(1)
for round in range(1, 1001):
    try:
        torch.empty(2 * total, dtype=torch.uint8, device="flagos")
        raise SystemExit("no error")
    except torch.OutOfMemoryError:
        pass
    assert (torch.ones(64, device="flagos") + 1).sum().item() == 128
    if round == 100:
        before = state()
after = state()
assert after[:3] == before[:3], (before, after)
assert after[3] - before[3] < 512, (before, after)
""",
        timeout=300,
        MUSA_CPU_MEMORY="256MiB",
    )


def test_pinned_memory() -> None:
    x = torch.randn(1000).pin_memory()
    assert x.is_pinned()
    assert not torch.randn(3).is_pinned()
    assert torch.empty(5, pin_memory=True).is_pinned()
    assert torch.empty(0).pin_memory().numel() == 0
    y = x.to("flagos", non_blocking=True)
    back = torch.empty(1000, pin_memory=True)
    back.copy_(y, non_blocking=True)
    torch.flagos.synchronize()
    assert torch.equal(back, x)


def test_pinned_block_is_not_reused_while_a_copy_reads_it() -> None:
    from torch_fl.testing import Latch

    with Latch():
        x = torch.full((1 << 16,), 3.0).pin_memory()
        y = x.to("flagos", non_blocking=True)
        del x
        for _ in range(8):
            torch.zeros(1 << 16).pin_memory()
    assert (y == 3).all().item()


def test_pageable_source_may_change_after_a_non_blocking_copy() -> None:
    x = torch.full((1 << 20,), 7.0)
    y = x.to("flagos", non_blocking=True)
    x.zero_()
    assert (y == 7).all().item()


def test_device_memory_can_not_be_pinned() -> None:
    with pytest.raises(RuntimeError, match="pin"):
        torch.ones(2, device="flagos").pin_memory()
    with pytest.raises(RuntimeError, match="pin"):
        torch.empty(2, device="flagos", pin_memory=True)


def test_storage_resize() -> None:
    x = torch.arange(8, dtype=torch.float32).to("flagos")
    storage = x.untyped_storage()
    storage.resize_(0)
    assert storage.size() == 0
    storage.resize_(32)
    x.fill_(2)
    assert x.tolist() == [2.0] * 8
    storage.resize_(64)
    assert x.tolist() == [2.0] * 8


def test_zero_bytes_need_no_memory() -> None:
    before = torch.flagos.memory_allocated()
    x = torch.empty(0, 5, device="flagos")
    assert x.data_ptr() == 0
    assert torch.flagos.memory_allocated() == before
