# SPDX-License-Identifier: Apache-2.0
"""torch.accelerator: everything it offers works on flagos (graphs: test_graph.py)."""

import torch


def test_flagos_is_the_accelerator() -> None:
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("flagos")
    assert torch.accelerator.device_count() == torch.flagos.device_count()


def test_indices_agree() -> None:
    last = torch.flagos.device_count() - 1
    torch.accelerator.set_device_index(last)
    assert torch.flagos.current_device() == last
    assert torch.accelerator.current_device_index() == last
    torch.flagos.set_device(0)
    assert torch.accelerator.current_device_index() == 0
    with torch.accelerator.device_index(last):
        assert torch.flagos.current_device() == last
    assert torch.flagos.current_device() == 0


def test_streams_agree() -> None:
    side = torch.Stream(device="flagos")
    torch.accelerator.set_stream(side)
    assert torch.flagos.current_stream() == side
    with side:
        x = torch.ones(2, device="flagos")
    torch.accelerator.synchronize()
    assert x.tolist() == [1, 1]


def test_memory_functions() -> None:
    torch.accelerator.empty_cache()
    torch.accelerator.reset_peak_memory_stats()
    torch.accelerator.reset_accumulated_memory_stats()
    x = torch.empty(1 << 20, device="flagos")
    assert torch.accelerator.memory_allocated() >= x.nbytes
    assert torch.accelerator.max_memory_allocated() >= x.nbytes
    assert torch.accelerator.memory_reserved() >= x.nbytes
    assert torch.accelerator.max_memory_reserved() >= x.nbytes
    if hasattr(torch.accelerator, "get_memory_info"):
        free, total = torch.accelerator.get_memory_info()
        assert 0 < free < total
    if hasattr(torch.accelerator, "empty_host_cache"):
        torch.accelerator.empty_host_cache()


def test_capability_lists_dtypes() -> None:
    capability = torch.accelerator.get_device_capability()
    assert torch.float32 in capability["supported_dtypes"]
    assert torch.bfloat16 in capability["supported_dtypes"]
