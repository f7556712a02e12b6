# SPDX-License-Identifier: Apache-2.0
"""Saving, loading, copying."""

import copy
import io
import pickle

import pytest
import torch


def saved(value: object) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return buffer


def test_load_returns_to_the_device(device: torch.device) -> None:
    x = torch.randn(3, 4).to(device)
    y = torch.load(saved(x))
    assert y.device == device
    assert torch.equal(y.cpu(), x.cpu())


@pytest.mark.parametrize("where", ["cpu", "flagos", "flagos:0"])
def test_map_location(where: str) -> None:
    x = torch.randn(3, 4)
    for source in (x, x.to("flagos")):
        y = torch.load(saved(source), map_location=where)
        assert y.device.type == where.partition(":")[0]
        assert torch.equal(y.cpu(), x)


@pytest.mark.usefixtures("two_devices")
def test_map_location_by_dictionary_and_function() -> None:
    x = torch.randn(2, 2).to("flagos:1")
    y = torch.load(saved(x), map_location={"flagos:1": "flagos:0"})
    assert y.device.index == 0
    y = torch.load(saved(x), map_location=lambda storage, _: storage)
    assert y.device.type == "cpu"
    y = torch.load(saved(x))
    assert y.device.index == 1


def test_view_and_shared_storage_survive() -> None:
    base = torch.randn(4, 6).to("flagos")
    a, b = torch.load(saved([base, base[1:3, ::2]]))
    assert torch.equal(b.cpu(), base[1:3, ::2].cpu())
    assert a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def test_deepcopy_and_pickle() -> None:
    x = torch.randn(3, 4).to("flagos").t()
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.is_flagos
        assert torch.equal(y.cpu(), x.cpu())
        assert y.data_ptr() != x.data_ptr()
    assert copy.deepcopy(x).stride() == x.stride()


def test_optimizer_state_round_trip() -> None:
    model = torch.nn.Linear(4, 3).to("flagos")
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 4, device="flagos")).sum().backward()
    optimizer.step()
    state = torch.load(saved(optimizer.state_dict()), map_location="cpu")
    fresh = torch.optim.AdamW(model.parameters())
    fresh.load_state_dict(state)
    moment = fresh.state[model.weight]["exp_avg"]
    assert moment.is_flagos
    old = optimizer.state[model.weight]["exp_avg"]
    assert torch.equal(moment.cpu(), old.cpu())


def test_state_dict_moves_between_devices() -> None:
    ours, cpu = torch.nn.Linear(4, 3).to("flagos"), torch.nn.Linear(4, 3)
    cpu.load_state_dict(ours.state_dict())
    assert torch.equal(cpu.weight, ours.weight.cpu())
