# SPDX-License-Identifier: Apache-2.0
"""FLAGOS_BUILD_VENDOR=OFF: memory, streams and copies native, computing on the CPU.

`./run runtime-only` builds the plugin that way, against the toolkit that is built
already, and runs this folder with it.
"""

import pytest
import torch
from torch import nn

import torch_fl


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch_fl.reset_fallbacks()


def test_build_has_no_native_operators() -> None:
    assert torch_fl.info()["native ops"] == "OFF"


def test_copies_and_views_need_no_fallback() -> None:
    x = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    y = x.to("flagos")
    assert torch.equal(y.t()[1:3].cpu(), x.t()[1:3])
    assert torch.equal(y.to(torch.int64).cpu(), x.to(torch.int64))
    z = torch.empty(6, 4, device="flagos")
    z.copy_(y.t())
    assert torch.equal(z.cpu(), x.t())
    assert torch_fl.fallbacks() == {}


def test_streams_events_and_memory_work() -> None:
    side = torch.flagos.Stream()
    event = torch.flagos.Event()
    x = torch.ones(1000).pin_memory()
    with torch.flagos.stream(side):
        y = x.to("flagos", non_blocking=True)
        event.record()
    torch.flagos.current_stream().wait_event(event)
    event.synchronize()
    assert torch.equal(y.cpu(), x)
    assert torch.flagos.memory_allocated() >= y.nbytes


def test_network_trains_on_counted_fallbacks() -> None:
    torch.manual_seed(0)
    cpu = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    ours = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    ours.load_state_dict(cpu.state_dict())
    ours.to("flagos")
    x, y = torch.randn(5, 1, 8, 8), torch.tensor([0, 1, 2, 1, 0])
    losses = []
    for model, where in ((cpu, "cpu"), (ours, "flagos")):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x.to(where)), y.to(where))
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    counts = torch_fl.fallbacks()
    assert any("convolution" in name for name in counts)
    assert any("addmm" in name for name in counts)


def test_strict_refuses_by_name() -> None:
    x = torch.ones(2, device="flagos")
    torch_fl.set_strict()
    try:
        with pytest.raises(RuntimeError, match="add"):
            x + x
    finally:
        torch_fl.set_strict(False)
