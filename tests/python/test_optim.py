# SPDX-License-Identifier: Apache-2.0
"""Optimizers: the same steps as on the CPU, natively and without waiting."""

import copy

import pytest
import torch
from compare import close
from torch import nn

import torch_fl
from torch_fl.testing import waits

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "sgd momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "sgd nesterov": lambda p: torch.optim.SGD(
        p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01
    ),
    "sgd maximize": lambda p: torch.optim.SGD(p, lr=0.05, maximize=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adam decay": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "adamw loop": lambda p: torch.optim.AdamW(p, lr=0.01, foreach=False),
    "sgd loop": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, foreach=False),
}


def network() -> nn.Module:
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def train(model: nn.Module, name: str, device: str, steps: int) -> list[torch.Tensor]:
    optimizer = OPTIMIZERS[name](model.parameters())
    generator = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(steps):
        x = torch.randn(16, 6, generator=generator).to(device)
        y = torch.randn(16, 3, generator=generator).to(device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    return losses


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_equal_the_cpus(name: str) -> None:
    model = network()
    twin = copy.deepcopy(model).to("flagos")
    reference = train(model, name, "cpu", 10)
    ours = train(twin, name, "flagos", 10)
    close(torch.stack(ours), torch.stack(reference), rtol=1e-4, atol=1e-5)
    if "adam" not in name:
        close(list(twin.parameters()), list(model.parameters()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_native_and_do_not_wait(name: str) -> None:
    model = network().to("flagos")
    optimizer = OPTIMIZERS[name](model.parameters())
    for p in model.parameters():
        p.grad = torch.randn_like(p)
    optimizer.step()
    before, counted = waits(), dict(torch_fl.fallbacks())
    for _ in range(3):
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
    assert waits() == before
    assert dict(torch_fl.fallbacks()) == counted


def test_clip_grad_norm_equals_the_cpus() -> None:
    grads = [torch.randn(4, 5) * 3, torch.randn(7)]
    ours = [g.to("flagos") for g in grads]
    norms = []
    for given in (grads, ours):
        parameters = [nn.Parameter(torch.zeros_like(g)) for g in given]
        for p, g in zip(parameters, given, strict=True):
            p.grad = g
        norms.append(nn.utils.clip_grad_norm_(parameters, 1.0))
    close(norms[1], norms[0])
    close(ours, grads)


def test_state_travels_through_state_dict() -> None:
    model = network().to("flagos")
    optimizer = OPTIMIZERS["adamw"](model.parameters())
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    other = OPTIMIZERS["adamw"](model.parameters())
    other.load_state_dict(state)
    for entry in other.state_dict()["state"].values():
        assert entry["exp_avg"].is_flagos


LISTS = {
    "add": lambda a, b, c: torch._foreach_add_(a, b, alpha=0.5),
    "add number": lambda a, b, c: torch._foreach_add_(a, 1.5),
    "sub": lambda a, b, c: torch._foreach_sub_(a, b, alpha=2),
    "mul": lambda a, b, c: torch._foreach_mul_(a, b),
    "mul number": lambda a, b, c: torch._foreach_mul_(a, 0.9),
    "mul tensor": lambda a, b, c: torch._foreach_mul_(a, b[0].flatten()[0]),
    "div": lambda a, b, c: torch._foreach_div_(a, c),
    "div numbers": lambda a, b, c: torch._foreach_div_(a, [2.0, 4.0, 8.0]),
    "lerp": lambda a, b, c: torch._foreach_lerp_(a, b, 0.1),
    "addcmul": lambda a, b, c: torch._foreach_addcmul_(a, b, c, 0.5),
    "addcdiv": lambda a, b, c: torch._foreach_addcdiv_(a, b, c, 0.5),
    "addcdiv numbers": lambda a, b, c: torch._foreach_addcdiv_(a, b, c, [1.0, 2, 3]),
    "sqrt": lambda a, b, c: a.__setitem__(slice(None), torch._foreach_sqrt(c)),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("mixed", [False, True])
def test_lists_of_tensors(name: str, mixed: bool) -> None:
    """Equal dense lists, and lists with strides and several dtypes."""
    shapes = [(3, 4), (5,), (2, 2, 2)]
    lists = [[torch.randn(s) for s in shapes] for _ in range(2)]
    lists.append([torch.rand(s) + 0.5 for s in shapes])
    if mixed:
        for i, values in enumerate(lists):
            values[0] = values[0].t()
            values[2] = values[2].double() if i < 3 else values[2]
    ours = [[t.to("flagos") for t in values] for values in lists]
    if mixed:
        for values in ours:
            values[0] = values[0].t().contiguous().t()
    LISTS[name](*lists)
    LISTS[name](*ours)
    close(ours, lists)


def test_lists_of_unequal_lengths_are_refused() -> None:
    a = [torch.ones(2, device="flagos")]
    with pytest.raises(RuntimeError, match="same number of tensors"):
        torch._foreach_add_(a, a + a)
