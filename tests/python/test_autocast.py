# SPDX-License-Identifier: Apache-2.0
"""Autocast: torch's own lists, on this device."""

from __future__ import annotations

import pytest
import torch
from marks import needs_kernels
from torch import nn
from torch.nn import functional

LOWER = [torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", LOWER, ids=str)
def test_products_run_lower_and_sensitive_operators_in_float(dtype) -> None:
    x, w = torch.randn(4, 8, device="flagos"), torch.randn(8, 8, device="flagos")
    with torch.autocast("flagos", dtype=dtype):
        y = x @ w
        assert y.dtype == dtype
        assert functional.linear(x, w).dtype == dtype
        assert torch.softmax(y, 1).dtype == torch.float32
        assert y.exp().dtype == torch.float32
        assert y.sum().dtype == torch.float32
        assert torch.norm(y).dtype == torch.float32
        assert torch.cat([y, x]).dtype == torch.float32  # the widest
        assert (y + y).dtype == dtype  # falls through
        with torch.autocast("flagos", enabled=False):
            assert (x @ w).dtype == torch.float32
        assert (
            functional.conv2d(
                torch.ones(1, 2, 5, 5, device="flagos"),
                torch.ones(3, 2, 3, 3, device="flagos"),
            ).dtype
            == dtype
        )
    assert (x @ w).dtype == torch.float32


def test_the_default_is_half() -> None:
    assert torch.get_autocast_dtype("flagos") == torch.float16
    assert not torch.is_autocast_enabled("flagos")
    with torch.autocast("flagos"):
        assert torch.is_autocast_enabled("flagos")


def test_regions_nest_with_their_own_dtypes() -> None:
    x = torch.ones(2, 2, device="flagos")
    with torch.autocast("flagos", dtype=torch.float16):
        with torch.autocast("flagos", dtype=torch.bfloat16):
            assert (x @ x).dtype == torch.bfloat16
        assert (x @ x).dtype == torch.float16


def casts_behind(*results: torch.Tensor) -> set[object]:
    """The nodes of autograd's graph that convert a leaf."""
    found, nodes = set(), [y.grad_fn for y in results]
    while nodes:
        node = nodes.pop()
        parents = [parent for parent, _ in node.next_functions if parent is not None]
        if any("AccumulateGrad" in parent.name() for parent in parents):
            found.add(node)
        nodes += parents
    return found


def test_weights_are_cast_once_in_a_region() -> None:
    layer = nn.Linear(4, 4, bias=False).to("flagos")
    x = torch.ones(2, 4, device="flagos")
    with torch.autocast("flagos", dtype=torch.bfloat16):
        first, second = layer(x), layer(x)
    assert len(casts_behind(first, second)) == 1
    (first.sum() + second.sum()).backward()
    assert layer.weight.grad.dtype == torch.float32
    assert (layer.weight.grad.cpu() == 4).all()


def test_binary_cross_entropy_is_refused() -> None:
    p = torch.rand(3, device="flagos")
    with (
        torch.autocast("flagos"),
        pytest.raises(RuntimeError, match="unsafe to autocast"),
    ):
        functional.binary_cross_entropy(p, p)


def test_a_custom_function_sees_its_dtypes() -> None:
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="flagos", cast_inputs=torch.float32)
        def forward(ctx, x):
            seen.append((x.dtype, torch.is_autocast_enabled("flagos")))
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="flagos")
        def backward(ctx, grad):
            seen.append((grad.dtype, torch.is_autocast_enabled("flagos")))
            return grad * 2

    x = torch.ones(3, device="flagos", dtype=torch.float16, requires_grad=True)
    with torch.autocast("flagos"):
        y = Double.apply(x)
    y.sum().backward()
    assert seen == [(torch.float32, False), (torch.float32, False)]
    assert x.grad.dtype == torch.float16


@needs_kernels
def test_training_in_mixed_precision_learns() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1)).to("flagos")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    scaler = torch.amp.GradScaler("flagos", init_scale=1024.0)
    x = torch.rand(256, 2, device="flagos")
    y = (x[:, :1] * x[:, 1:]).detach()
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        with torch.autocast("flagos", dtype=torch.float16):
            loss = functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    assert losses[-1].item() < 0.1 * losses[0].item()
