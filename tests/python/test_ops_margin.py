# SPDX-License-Identifier: Apache-2.0
"""multi_margin_loss and weight_norm, composed of native operators."""

from __future__ import annotations

import pytest
import torch
from compare import close, same, same_gradients
from torch.nn import functional as F


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("margin", [1, 0.3, -0.2])
def test_multi_margin_loss(dtype, reduction, p, margin) -> None:
    x = torch.randn(9, 6, dtype=dtype, requires_grad=True)
    target = torch.randint(0, 6, (9,))
    weight = torch.rand(6, dtype=dtype)
    options = {"p": p, "margin": margin, "reduction": reduction}
    for w in (None, weight):
        same_gradients(
            lambda t, y, v: F.multi_margin_loss(t, y, weight=v, **options), x, target, w
        )
    same(lambda t, y: F.multi_margin_loss(t.t(), y, **options),
         x.detach().t().contiguous(), target)  # fmt: skip


def test_multi_margin_loss_forms() -> None:
    for reduction in ("none", "mean", "sum"):
        for target in (torch.tensor([2]), torch.tensor(2)):
            same(
                lambda t, y, r=reduction: F.multi_margin_loss(t, y, reduction=r),
                torch.randn(5),
                target,
            )
    x = torch.randn(3, 5, device="flagos")
    y = torch.tensor([0, 1, 4], device="flagos")
    out = torch.empty(0, device="flagos")
    torch.ops.aten.multi_margin_loss.out(x, y, out=out)
    close(out, F.multi_margin_loss(x.cpu(), y.cpu()))
    with pytest.raises(RuntimeError, match="only p == 1 and p == 2"):
        torch.ops.aten.multi_margin_loss(x, y, 3)
    with pytest.raises(RuntimeError, match="inconsistent target size"):
        torch.ops.aten.multi_margin_loss(x, y[:2])
    with pytest.raises(RuntimeError, match="inconsistent weight size"):
        torch.ops.aten.multi_margin_loss(x, y, weight=x[0, :2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape", [(7, 5), (4, 3, 2)])
def test_weight_norm_interface(dtype, shape) -> None:
    v = torch.randn(shape, dtype=dtype)
    for dim in (0, len(shape) - 1):
        sizes = [n if d == dim else 1 for d, n in enumerate(shape)]
        g = torch.rand(sizes, dtype=dtype)
        w, norms = same(lambda a, b, d=dim: torch._weight_norm_interface(a, b, d), v, g)
        same(
            lambda a, b, c, n, d=dim: torch.ops.aten._weight_norm_interface_backward(
                a, b, c, n, d
            ),
            torch.randn(shape, dtype=dtype),
            v,
            g,
            norms.cpu(),
        )
        assert w.shape == v.shape


def test_weight_norm_of_a_module() -> None:
    layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3))
    x = torch.randn(2, 4)
    want = layer(x)
    close(layer.to("flagos")(x.to("flagos")).detach(), want.detach())
