# SPDX-License-Identifier: Apache-2.0
"""softmax and log_softmax: dims, dtypes, strides, gradients."""

import pytest
import torch
from compare import same, same_gradients

KINDS = [torch.softmax, torch.log_softmax]
FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_every_dim(kind, dim: int) -> None:
    same(lambda x: kind(x, dim), torch.randn(3, 5, 4) * 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_dtypes_and_gradients(kind, dtype: torch.dtype) -> None:
    x = torch.randn(4, 33).to(dtype).requires_grad_()
    same_gradients(lambda x: kind(x, 1), x)
    same_gradients(lambda x: kind(x, 0), x)


@pytest.mark.parametrize("kind", KINDS)
def test_strided_input_and_gradient(kind) -> None:
    same_gradients(lambda x: kind(x.t(), -1), torch.randn(6, 5).requires_grad_())
    same_gradients(lambda x: kind(x, 1).t(), torch.randn(6, 5).requires_grad_())
    same_gradients(lambda x: kind(x[:, ::2], 1), torch.randn(6, 8).requires_grad_())


@pytest.mark.parametrize("kind", KINDS)
def test_half_to_float(kind) -> None:
    x = torch.randn(4, 7).half()
    reference = kind(x.float(), 1)
    ours = kind(x.to("flagos"), 1, dtype=torch.float32)
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours.cpu(), reference)
    wide = getattr(torch, f"_{kind.__name__}")(x.to("flagos"), 1, True)
    torch.testing.assert_close(wide.cpu(), reference)


@pytest.mark.parametrize("kind", KINDS)
def test_scalars_empty_and_one(kind) -> None:
    same(lambda x: kind(x, 0), torch.tensor(3.0))
    same(lambda x: kind(x, 1), torch.zeros(0, 5))
    same(lambda x: kind(x, 1), torch.zeros(5, 0))
    same(lambda x: kind(x, 1), torch.randn(5, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_extreme_values(kind) -> None:
    x = torch.tensor([[1e4, -1e4, 0], [float("-inf"), 0, 1], [88, 89, 90.0]])
    same(lambda x: kind(x, 1), x)


def test_out_form() -> None:
    def run(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, 1, out=out)

    same(run, torch.randn(3, 4), torch.zeros(3, 4))
    same(run, torch.randn(3, 4), torch.zeros(4, 3).t())
    same(run, torch.randn(3, 4), torch.zeros(0))


def test_wrong_dim() -> None:
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.softmax(torch.randn(2, 2, device="flagos"), 2)
