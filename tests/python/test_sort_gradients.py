# SPDX-License-Identifier: Apache-2.0
"""Gradients that go back to where a sorted, picked or running value came from."""

from __future__ import annotations

import pytest
import torch
from compare import same_gradients
from marks import needs_kernels


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
    same_gradients(PICKS[name], leaf(5, 7))


@needs_kernels
@pytest.mark.parametrize("name", KERNELS)
def test_picked_values_of_kernels(name) -> None:
    same_gradients(KERNELS[name], leaf(5, 70))


@needs_kernels
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_of_everything(name) -> None:
    same_gradients(getattr(torch, name), leaf(5, 71))
