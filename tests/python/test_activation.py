# SPDX-License-Identifier: Apache-2.0
"""Activations and losses beyond muDNN's common ones, forward and backward."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from marks import needs_kernels

pytestmark = needs_kernels
INF, NAN = float("inf"), float("nan")
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
ACTIVATIONS = {
    "celu": lambda x: F.celu(x, 0.7),
    "elu": F.elu,
    "elu with alpha": lambda x: F.elu(x, 1.7),
    "elu in place": lambda x: F.elu(x * 1, inplace=True),
    "glu": lambda x: F.glu(x, 0),
    "glu of rows": F.glu,
    "hardshrink": lambda x: F.hardshrink(x, 0.4),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.75),
    "logsigmoid": F.logsigmoid,
    "mish": F.mish,
    "relu6": F.relu6,
    "rrelu": F.rrelu,
    "selu": F.selu,
    "softplus": F.softplus,
    "softplus with beta": lambda x: F.softplus(x, 2.0, 3.0),
    "softshrink": lambda x: F.softshrink(x, 0.4),
    "tanhshrink": F.tanhshrink,
    "threshold": lambda x: F.threshold(x, 0.3, -2.0),
}


def loose(dtype: torch.dtype) -> dict[str, float]:
    """Half types are rounded at other places of a composition."""
    if dtype == torch.bfloat16:
        return {"rtol": 1.6e-2, "atol": 1e-2}
    return {"rtol": 2e-3, "atol": 2e-3} if dtype == torch.float16 else {}


def compare(function, *inputs: torch.Tensor) -> None:
    """Results and gradients of both devices."""
    made = []
    for device in ("cpu", "flagos"):
        leaves = [x.clone().to(device).detach().requires_grad_() for x in inputs]
        out = function(*leaves)
        assert out.device.type == device
        weights = torch.linspace(-1, 1, out.numel()).reshape(out.shape)
        out.backward(weights.to(out.dtype).to(device))
        made.append([out.detach().cpu(), *(leaf.grad.cpu() for leaf in leaves)])
    for have, want in zip(made[1], made[0], strict=True):
        torch.testing.assert_close(have, want, equal_nan=True, **loose(want.dtype))


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_activation(name, dtype) -> None:
    x = (torch.randn(18, 26, dtype=torch.float64) * 2.5).to(dtype)
    compare(ACTIVATIONS[name], x)
    compare(ACTIVATIONS[name], x.t())


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_of_corners(name) -> None:
    corners = [0.0, -0.0, 0.3, 0.4, -0.4, -0.5, 0.75, 3.0, -3.0, 6.0, 40.0, -40.0]
    x = torch.tensor([corners, corners[::-1]])
    compare(ACTIVATIONS[name], x)
    compare(ACTIVATIONS[name], x[:, :0])
    odd = torch.tensor([[NAN, INF, -INF, 1.0], [1.0, NAN, 2.0, INF]])
    have, want = ACTIVATIONS[name](odd.to("flagos")), ACTIVATIONS[name](odd)
    torch.testing.assert_close(have.cpu(), want, equal_nan=True)


@pytest.mark.parametrize("weights", [1, 6])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_prelu(weights, dtype) -> None:
    x = torch.randn(4, 6, 5, dtype=torch.float64).to(dtype)
    compare(F.prelu, x, torch.linspace(-0.2, 0.4, weights).to(dtype))


def test_rrelu_in_training_keeps_its_slopes() -> None:
    x = torch.linspace(-2, 2, 4001, device="flagos").requires_grad_()
    out = F.rrelu(x, 0.1, 0.3, training=True)
    out.sum().backward()
    slopes, values = x.grad.cpu(), x.detach().cpu()
    assert torch.equal(slopes[values > 0], torch.ones(2000))
    drawn = slopes[values < 0]
    assert 0.1 <= drawn.min() < 0.11
    assert 0.29 < drawn.max() <= 0.3
    torch.testing.assert_close(out.detach().cpu(), values * slopes)


@pytest.mark.parametrize("value", [7, -3])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.int8], ids=str)
def test_integers(value, dtype) -> None:
    x = torch.arange(-8, 9, dtype=dtype)
    have = F.threshold(x.to("flagos"), 2, value)
    assert torch.equal(have.cpu(), F.threshold(x, 2, value))
    have = F.hardtanh(x.to("flagos"), -3, 4)
    assert torch.equal(have.cpu(), F.hardtanh(x, -3, 4))


def test_a_threshold_beyond_doubles() -> None:
    x = torch.tensor([2**60, 2**60 + 1, 2**60 + 2])
    have = F.threshold(x.to("flagos"), 2**60 + 1, -1)
    assert have.tolist() == [-1, -1, 2**60 + 2]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_losses(reduction, dtype) -> None:
    x = torch.randn(9, 7, dtype=dtype) * 2
    y = torch.randn(9, 7, dtype=dtype) * 2
    p, q = torch.rand(9, 7, dtype=dtype), torch.rand(9, 7, dtype=dtype)
    w = torch.rand(9, 7, dtype=dtype)
    compare(lambda a, b: F.huber_loss(a, b, reduction=reduction, delta=0.8), x, y)
    compare(lambda a, b: F.smooth_l1_loss(a, b, reduction=reduction, beta=0.7), x, y)
    compare(lambda a, b: F.smooth_l1_loss(a, b, reduction=reduction), x.t(), y.t())
    same = lambda a: F.binary_cross_entropy(  # noqa: E731
        a, q.to(a.device), reduction=reduction
    )
    compare(same, p)
    compare(
        lambda a: F.binary_cross_entropy(
            a, q.to(a.device), w.to(a.device), reduction=reduction
        ),
        p,
    )


def test_cross_entropy_of_certainties() -> None:
    x, y = torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.0])
    compare(lambda a: F.binary_cross_entropy(a, y.to(a.device), reduction="none"), x)


def test_soft_losses_that_torch_composes() -> None:
    x, y = torch.randn(6, 4), torch.rand(6, 4)
    compare(lambda a: F.binary_cross_entropy_with_logits(a, y.to(a.device)), x)
    compare(lambda a: F.soft_margin_loss(a, y.to(a.device).sign()), x)


def test_floats_only() -> None:
    whole = torch.arange(4, device="flagos")
    for function in (F.logsigmoid, F.glu):
        with pytest.raises(RuntimeError, match=r"not implemented|forbids"):
            function(whole)


def test_a_second_derivative() -> None:
    x = torch.randn(12, dtype=torch.float64)
    results = []
    for device in ("cpu", "flagos"):
        leaf = x.clone().to(device).detach().requires_grad_()
        (first,) = torch.autograd.grad(
            (F.softplus(leaf) * F.logsigmoid(leaf)).sum(), leaf, create_graph=True
        )
        (second,) = torch.autograd.grad(first.sum(), leaf)
        results.append(second.cpu())
    torch.testing.assert_close(results[1], results[0])
