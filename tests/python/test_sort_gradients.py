# SPDX-License-Identifier: Apache-2.0
"""Gradients that go back to where a sorted, picked or running value came from.

Autograd writes them with scatter; while that is the CPU's, strict mode says so.
"""

from __future__ import annotations

import pytest
import torch
from compare import same_gradients

import torch_fl

needs_kernels = pytest.mark.skipif(
    torch_fl.info()["device kernels"] != "ON", reason="built without device kernels"
)


def is_native(op: str) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{op}", "PrivateUse1")


SCATTERS = is_native("scatter.src_out") and is_native("scatter_add.out")


def go_back(function, x: torch.Tensor) -> None:
    if SCATTERS:
        same_gradients(function, x)
        return
    with pytest.raises(RuntimeError, match="CPU fallback of aten::scatter"):
        same_gradients(function, x)


def leaf(*shape: int) -> torch.Tensor:
    """All elements differ."""
    count = torch.Size(shape).numel()
    return torch.randperm(count).double().view(shape).requires_grad_()


PICKS = {
    "sort": lambda t: t.sort(0).values,
    "msort": torch.msort,
    "topk": lambda t: t.topk(2).values,
    "kthvalue": lambda t: t.kthvalue(3, 0).values,
}
KERNELS = {
    "median of rows": lambda t: t.median(1).values,
    "nanmedian of rows": lambda t: t.nanmedian(0).values,
    "mode": lambda t: t.mode(1).values,
    "cummax": lambda t: t.cummax(1)[0],
    "cummin": lambda t: t.cummin(0)[0],
}


@pytest.mark.parametrize("name", PICKS)
def test_picked_values(name) -> None:
    go_back(PICKS[name], leaf(5, 7))


@needs_kernels
@pytest.mark.parametrize("name", KERNELS)
def test_picked_values_of_kernels(name) -> None:
    go_back(KERNELS[name], leaf(5, 70))


@needs_kernels
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_of_everything(name) -> None:
    same_gradients(getattr(torch, name), leaf(5, 71))
