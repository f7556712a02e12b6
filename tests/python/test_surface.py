# SPDX-License-Identifier: Apache-2.0
"""What users of torch.cuda type exists here too, and modules keep their parameters."""

from __future__ import annotations

import weakref

import pytest
import torch
from subprocesses import output_of
from torch import nn

from torch_fl.testing import Latch

NAMES = """
Event ExternalStream OutOfMemoryError Stream StreamContext current_device
current_stream default_generators default_stream device device_count device_of
empty_cache get_amp_supported_dtype get_device_capability get_device_name
get_device_properties get_per_process_memory_fraction get_rng_state get_rng_state_all
graph graph_pool_handle host_memory_stats init initial_seed ipc_collect is_available
is_bf16_supported is_current_stream_capturing is_initialized make_graphed_callables
manual_seed manual_seed_all max_memory_allocated max_memory_reserved mem_get_info
memory memory_allocated memory_reserved memory_stats memory_stats_as_nested_dict
memory_summary random reset_accumulated_memory_stats reset_peak_memory_stats seed
seed_all set_device set_per_process_memory_fraction set_rng_state set_rng_state_all
set_stream stream synchronize
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_name_exists(name: str) -> None:
    assert hasattr(torch.flagos, name)
    assert name in torch.flagos.__all__


def test_every_listed_name_exists() -> None:
    assert [
        name for name in torch.flagos.__all__ if not hasattr(torch.flagos, name)
    ] == []
    with pytest.raises(AttributeError, match="cudart"):
        _ = torch.flagos.cudart


@pytest.mark.parametrize("index", [99, 1000, -7])
def test_index_of_any_size_is_refused_by_name(index: int) -> None:
    for call in (
        torch.flagos.get_device_name,
        torch.flagos.synchronize,
        torch.flagos.mem_get_info,
        torch.flagos.current_stream,
        torch.flagos.get_rng_state,
    ):
        with pytest.raises(RuntimeError, match=f"flagos:{index} does not exist"):
            call(index)
    with pytest.raises(ValueError, match="flagos device was expected, got cpu"):
        torch.flagos.synchronize("cpu")


def test_device_of_follows_tensors() -> None:
    last = torch.flagos.device_count() - 1
    with torch.flagos.device_of(torch.ones(1, device=f"flagos:{last}")):
        assert torch.flagos.current_device() == last
    with torch.flagos.device_of(torch.ones(1)):
        assert torch.flagos.current_device() == 0


def test_wait_that_needs_the_interpreter_lock_ends() -> None:
    """The latch is a Python function on the stream: a wait that kept the lock hangs."""
    import threading

    waits = (
        torch.flagos.synchronize,
        torch.accelerator.synchronize,
        torch.flagos.current_stream().synchronize,
        torch.flagos.empty_cache,
        lambda: torch.ones(2, device="flagos").cpu(),
        lambda: torch.ones(2, device="flagos").sum().item(),
        lambda: torch.ones(2, device="flagos").tolist(),
    )
    for wait in waits:
        torch.empty(64 << 20, dtype=torch.uint8, device="flagos")
        latch = Latch(timeout=30)
        with latch:
            opener = threading.Timer(0.02, latch._open.set)
            opener.start()
            wait()
        assert not latch.expired


def test_malformed_allocator_settings_are_refused() -> None:
    text = output_of(
        """
import torch, torch_fl
try:
    torch.ones(1, device="flagos")
except (RuntimeError, ValueError) as error:
    print(error)
""",
        PYTORCH_ALLOC_CONF="max_split_size_mb:many",
    )
    assert "PYTORCH_ALLOC_CONF=max_split_size_mb:many is malformed" in text
    assert len(text.splitlines()) == 1


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight


def test_tied_weights_stay_tied_and_optimizers_keep_them() -> None:
    model = Tied()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = model.head.weight
    for target in ("flagos", "cpu", "flagos"):
        model.to(target)
        assert model.head.weight is model.embedding.weight is weight
        assert weight.device.type == target
    assert optimizer.param_groups[0]["params"] == [weight]
    assert not torch.__future__.get_swap_module_params_on_conversion()


def test_gradients_move_with_their_parameters() -> None:
    layer = nn.Linear(3, 2)
    layer(torch.ones(1, 3)).sum().backward()
    gradient = layer.weight.grad.clone()
    layer.to("flagos")
    assert layer.weight.grad.is_flagos
    assert torch.equal(layer.weight.grad.cpu(), gradient)


def test_parameter_that_something_refers_to_moves_all_the_same() -> None:
    layer = nn.Linear(3, 2)
    reference = weakref.ref(layer.weight)
    layer.to("flagos")
    assert layer.weight.is_flagos
    assert layer.bias.is_flagos
    assert reference is not None


def test_failed_conversion_leaves_torch_as_it_was() -> None:
    layer = nn.Linear(3, 2)
    with pytest.raises(RuntimeError):
        layer.to("flagos:99")
    assert not torch.__future__.get_swap_module_params_on_conversion()
    assert layer(torch.ones(1, 3)).shape == (1, 2)
