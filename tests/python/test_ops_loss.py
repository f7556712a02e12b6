# SPDX-License-Identifier: Apache-2.0
"""Cross entropy, negative log likelihood, mean squared error."""

import pytest
import torch
from compare import same, same_gradients
from torch.nn import functional as F

REDUCTIONS = ["none", "mean", "sum"]


def scores(*shape: int) -> torch.Tensor:
    return torch.randn(shape).log_softmax(1).requires_grad_()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignore", [-100, 2])
def test_nll_loss(reduction: str, weighted: bool, ignore: int) -> None:
    target = torch.tensor([0, 2, 4, 1, 2, 3])
    weight = torch.rand(5) + 0.1 if weighted else None
    same_gradients(
        lambda x, t, w: F.nll_loss(x, t, w, reduction=reduction, ignore_index=ignore),
        scores(6, 5),
        target,
        weight,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_nll_loss_of_a_single_row(reduction: str) -> None:
    same_gradients(
        lambda x, t: F.nll_loss(x, t, reduction=reduction),
        torch.randn(5).log_softmax(0).requires_grad_(),
        torch.tensor(3),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_nll_loss_of_no_rows_and_of_ignored_rows(reduction: str) -> None:
    same(
        lambda x, t: F.nll_loss(x, t, reduction=reduction),
        torch.zeros(0, 5),
        torch.zeros(0, dtype=torch.int64),
    )
    same(
        lambda x, t: F.nll_loss(x, t, reduction=reduction),
        torch.randn(3, 5),
        torch.full((3,), -100),
    )


def test_nll_loss_total_weight() -> None:
    same(
        lambda x, t, w: torch.ops.aten.nll_loss_forward(x, t, w, 1, -100),
        torch.randn(4, 3),
        torch.tensor([0, 2, 2, -100]),
        torch.tensor([0.5, 1, 2]),
    )


def test_nll_loss_of_strided_scores() -> None:
    same_gradients(
        lambda x, t: F.nll_loss(x.t(), t),
        torch.randn(5, 4).requires_grad_(),
        torch.tensor([0, 4, 1, 2]),
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_nll_loss_in_narrow_dtypes(dtype: torch.dtype) -> None:
    # muDNN's loss is float only
    x = torch.randn(6, 5).log_softmax(1).to(dtype).requires_grad_()
    target = torch.tensor([0, 2, 4, 1, 2, 3])
    for reduction in REDUCTIONS:
        same_gradients(
            lambda x, t, r=reduction: F.nll_loss(x, t, reduction=r), x, target
        )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(reduction: str, smoothing: float) -> None:
    same_gradients(
        lambda x, t: F.cross_entropy(
            x, t, reduction=reduction, label_smoothing=smoothing
        ),
        torch.randn(7, 10).mul(3).requires_grad_(),
        torch.randint(0, 10, (7,)),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_of_images(reduction: str, weighted: bool) -> None:
    target = torch.randint(0, 4, (2, 5, 6))
    target[0, 0, 0] = -100
    weight = torch.rand(4) + 0.1 if weighted else None
    same_gradients(
        lambda x, t, w: F.cross_entropy(x, t, w, reduction=reduction),
        torch.randn(2, 4, 5, 6).requires_grad_(),
        target,
        weight,
    )


def test_wrong_targets_are_refused() -> None:
    x = torch.randn(3, 4, device="flagos")
    with pytest.raises(RuntimeError, match="Long"):
        F.nll_loss(x, torch.zeros(3, dtype=torch.int32, device="flagos"))
    with pytest.raises((RuntimeError, ValueError), match="batch"):
        F.nll_loss(x, torch.zeros(2, dtype=torch.int64, device="flagos"))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_mse_loss(reduction: str, dtype: torch.dtype) -> None:
    same_gradients(
        lambda x, y: F.mse_loss(x, y, reduction=reduction),
        torch.randn(5, 6).to(dtype).requires_grad_(),
        torch.randn(5, 6).to(dtype).requires_grad_(),
    )
