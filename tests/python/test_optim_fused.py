# SPDX-License-Identifier: Apache-2.0
"""fused=True: one pass over all tensors, and nothing leaves the device."""

from __future__ import annotations

import copy

import pytest
import torch
from compare import close
from marks import needs_kernels
from torch import nn

import torch_fl
from torch_fl.testing import waits

pytestmark = needs_kernels
ADAM = torch.optim.Adam
ADAMW = torch.optim.AdamW
SGD = torch.optim.SGD
ADAGRAD = torch.optim.Adagrad
OPTIMIZERS = {
    "adam": (ADAM, {"lr": 0.01}),
    "adam decay": (ADAM, {"lr": 0.01, "weight_decay": 0.1}),
    "adam amsgrad": (ADAM, {"lr": 0.01, "amsgrad": True, "eps": 1e-4}),
    "adam maximize": (ADAM, {"lr": 0.01, "maximize": True}),
    "adamw": (ADAMW, {"lr": 0.01, "weight_decay": 0.1}),
    "adamw amsgrad": (ADAMW, {"lr": 0.01, "amsgrad": True, "eps": 1e-4}),
    "sgd": (SGD, {"lr": 0.05}),
    "sgd decay": (SGD, {"lr": 0.05, "weight_decay": 0.1}),
    "sgd momentum": (SGD, {"lr": 0.05, "momentum": 0.9, "dampening": 0.1}),
    "sgd nesterov": (SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    "sgd maximize": (SGD, {"lr": 0.05, "momentum": 0.9, "maximize": True}),
    "adagrad": (ADAGRAD, {"lr": 0.05, "lr_decay": 0.01, "weight_decay": 0.1}),
}
# More tensors than one launch takes, of sizes that share no factor; none empty.
SHAPES = [(3,), (5, 7), (1,), (129, 3), (64, 64), (2, 3, 4, 5)] * 6


def parameters(dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(5)
    return [
        nn.Parameter(torch.randn(shape, generator=generator).to(dtype))
        for shape in SHAPES
    ]


def steps(optimizer, params, count: int) -> None:
    """The same gradients wherever the parameters are; none is nearly zero."""
    generator = torch.Generator().manual_seed(6)
    for _ in range(count):
        for p in params:
            noise = torch.randn(p.shape, generator=generator, dtype=torch.float32)
            grad = noise + torch.where(noise < 0, -0.1, 0.1)
            p.grad = grad.to(p.dtype).to(p.device)
        optimizer.step()


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_steps_equal_the_unfused_ones(name: str, dtype: torch.dtype) -> None:
    kind, words = OPTIMIZERS[name]
    want = parameters(dtype)
    have = [nn.Parameter(p.detach().to("flagos")) for p in want]
    steps(kind(want, foreach=False, **words), want, 5)
    optimizer = kind(have, fused=True, **words)
    steps(optimizer, have, 5)
    close(have, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_parameters(dtype: torch.dtype) -> None:
    want = parameters(dtype)
    have = [nn.Parameter(p.detach().to("flagos")) for p in want]
    full = [nn.Parameter(p.detach().float()) for p in want]
    steps(SGD(full, lr=0.05, foreach=False), full, 1)
    steps(SGD(have, lr=0.05, fused=True), have, 1)
    close(have, [p.to(dtype) for p in full])


def test_a_learning_rate_on_the_device() -> None:
    want, have = parameters(), [nn.Parameter(p.to("flagos")) for p in parameters()]
    rate = torch.tensor(0.02, device="flagos")
    steps(ADAMW(want, lr=0.02, foreach=False), want, 3)
    optimizer = ADAMW(have, lr=rate, fused=True)
    steps(optimizer, have, 3)
    close(have, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["adamw", "sgd momentum", "adagrad"])
def test_a_step_neither_waits_nor_falls_back(name: str) -> None:
    kind, words = OPTIMIZERS[name]
    have = [nn.Parameter(p.to("flagos")) for p in parameters()]
    optimizer = kind(have, fused=True, **words)
    steps(optimizer, have, 1)
    torch_fl.reset_fallbacks()
    for p in have:
        p.grad = torch.ones_like(p)
    before = waits()
    optimizer.step()
    assert waits() == before
    assert torch_fl.fallbacks() == {}


def test_channels_last_parameters() -> None:
    want = [nn.Parameter(torch.randn(4, 3, 5, 5).to(memory_format=torch.channels_last))]
    have = [nn.Parameter(want[0].detach().to("flagos"))]
    assert have[0].stride() == want[0].stride()
    for params in (want, have):
        params[0].grad = torch.full_like(params[0], 0.5)
    SGD(want, lr=0.1, foreach=False).step()
    SGD(have, lr=0.1, fused=True).step()
    close(have, want)


def test_lists_that_do_not_agree_are_refused() -> None:
    x = torch.ones(4, 4, device="flagos")
    zero = torch.zeros((), device="flagos")
    words = {
        "lr": 0.1,
        "beta1": 0.9,
        "beta2": 0.99,
        "weight_decay": 0.0,
        "eps": 1e-8,
        "amsgrad": False,
        "maximize": False,
    }
    with pytest.raises(RuntimeError, match="same dtype, device, sizes and strides"):
        torch._fused_adam_([x], [x.t().contiguous().t()], [x], [x], [], [zero], **words)
    with pytest.raises(RuntimeError, match="state_steps"):
        torch._fused_adam_([x], [x], [x], [x], [], [], **words)


# --- the gradient scaler -----------------------------------------------------------


def unscale(grads: list[torch.Tensor], inverse: float) -> float:
    found = torch.zeros(1, device="flagos")
    factor = torch.tensor([inverse], device="flagos")
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, factor)
    return found.item()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str
)
def test_unscale_multiplies_and_finds(dtype: torch.dtype) -> None:
    grads = [torch.full(s, 8.0, dtype=dtype, device="flagos") for s in SHAPES]
    assert unscale(grads, 0.25) == 0
    assert all((g == 2).all() for g in grads)
    for bad in (float("inf"), float("-inf"), float("nan")):
        grads[17].view(-1)[-1] = bad
        assert unscale(grads, 1.0) == 1
        grads[17].view(-1)[-1] = 1
        assert unscale(grads, 1.0) == 0


def test_unscale_takes_mixed_dtypes_and_strides() -> None:
    base = torch.ones(6, 8, device="flagos")
    grads = [base[:, ::2], torch.ones(3, dtype=torch.float16, device="flagos")]
    assert unscale(grads, 0.5) == 0
    assert base.cpu().tolist() == [[0.5, 1.0] * 4] * 6
    assert grads[1].cpu().tolist() == [0.5] * 3


@pytest.mark.parametrize("fused", [False, True])
def test_the_scaler_skips_a_bad_step_and_grows(fused: bool) -> None:
    model = nn.Linear(4, 4).to("flagos")
    start = copy.deepcopy(model.state_dict())
    optimizer = SGD(model.parameters(), lr=0.1, fused=fused)
    scaler = torch.amp.GradScaler("flagos", init_scale=4.0, growth_interval=2)

    def step(value: float) -> None:
        optimizer.zero_grad()
        loss = (model(torch.ones(2, 4, device="flagos")) * value).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    step(float("inf"))
    assert scaler.get_scale() == 2.0  # backed off
    close(list(model.state_dict().values()), [v.cpu() for v in start.values()])
    step(1.0)
    assert scaler.get_scale() == 2.0
    step(1.0)
    assert scaler.get_scale() == 4.0  # two good steps
    grad = torch.full((4, 4), 2.0)
    close(model.weight.detach(), start["weight"].cpu() - 0.2 * grad)


def test_a_fused_step_reads_nothing_back() -> None:
    model = nn.Linear(4, 4).to("flagos")
    optimizer = ADAMW(model.parameters(), lr=0.1, fused=True)
    scaler = torch.amp.GradScaler("flagos")

    def step() -> None:
        optimizer.zero_grad()
        scaler.scale(model(torch.ones(2, 4, device="flagos")).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    step()
    torch_fl.reset_fallbacks()
    before = waits()
    step()
    assert waits() == before
    assert torch_fl.fallbacks() == {}
