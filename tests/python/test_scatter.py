# SPDX-License-Identifier: Apache-2.0
"""scatter in every form against the CPU, and the gradients that are made of it."""

from __future__ import annotations

import pytest
import torch
from compare import same, same_gradients
from marks import needs_kernels

ANY = [
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
]
REDUCTIONS = ["sum", "prod", "mean", "amax", "amin"]


def values(*shape: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, 4, shape, generator=generator).to(dtype)


def once(rows: int, *shape: int) -> torch.Tensor:
    """Indices along the first dimension, none of them twice in a column."""
    generator = torch.Generator().manual_seed(5)
    order = torch.rand(rows, *shape[1:], generator=generator).argsort(0)
    return order[: shape[0]]


def often(rows: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(6)
    return torch.randint(rows, shape, generator=generator)


@pytest.mark.parametrize("dtype", [*ANY, torch.bool])
def test_every_dtype_moves(dtype) -> None:
    x, src = values(9, 6, dtype=dtype), values(5, 6, dtype=dtype, seed=1)
    index = once(9, 5, 6)
    same(lambda x, i, s: x.scatter(0, i, s), x, index, src)
    same(lambda x, i: x.scatter(0, i, 2), x, index)
    same(lambda x, i, s: x.clone().scatter_(0, i, s), x, index, src)
    same(lambda x, i: x.clone().scatter_(0, i, 1), x, index)


@pytest.mark.parametrize("dtype", ANY)
def test_every_dtype_adds(dtype) -> None:
    x, src = values(4, 6, dtype=dtype), values(7, 6, dtype=dtype, seed=1)
    index = often(4, 7, 6)
    same(lambda x, i, s: x.scatter_add(0, i, s), x, index, src)
    same(lambda x, i, s: x.clone().scatter_add_(0, i, s), x, index, src)
    same(lambda x, i, s: x.scatter(0, i, s, reduce="add"), x, index, src)
    same(lambda x, i: x.scatter(0, i, 3, reduce="add"), x, index)


@needs_kernels
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("dtype", ANY)
def test_every_reduction(dtype, reduce, include_self) -> None:
    x, src = values(4, 6, dtype=dtype), values(3, 6, dtype=dtype, seed=1)
    index = often(4, 3, 6)
    same(
        lambda x, i, s: x.scatter_reduce(0, i, s, reduce, include_self=include_self),
        x,
        index,
        src,
    )


@needs_kernels
def test_multiply() -> None:
    x, src = values(4, 6, dtype=torch.float32), values(7, 6, dtype=torch.float32)
    index = often(4, 7, 6)
    same(lambda x, i, s: x.scatter(0, i, s, reduce="multiply"), x, index, src)
    same(lambda x, i: x.scatter(0, i, 2.0, reduce="multiply"), x, index)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_dimensions_and_smaller_indices(dim) -> None:
    """The index may be smaller than both others outside `dim`, `src` everywhere."""
    x = torch.zeros(6, 7, 8)
    index = torch.rand(8, 8, 8).argsort(dim)[:4, :5, :6] % 4
    src = values(5, 6, 7, dtype=torch.float32)
    same(lambda x, i, s: x.scatter_add(dim, i, s), x, index, src)
    unique = torch.arange(4).view(-1, 1, 1).transpose(0, dim).expand(4, 4, 4)
    same(lambda x, i, s: x.scatter(dim, i, s), x, unique, src)


def test_strided_operands() -> None:
    x = torch.zeros(8, 12)[::2, 1::2]
    src = values(6, 4, dtype=torch.float32).t()
    index = once(6, 6, 4).t()
    same(lambda x, i, s: x.scatter_(1, i, s), x, index, src)
    same(lambda x, i, s: x.scatter_add_(1, i, s), x, index, src)
    same(lambda x, i, s: torch.scatter(x.t(), 0, i.t(), s.t()), x, index, src)


def test_no_dimensions_and_no_elements() -> None:
    one, index = torch.tensor(3.0), torch.tensor(0)
    same(lambda x, i: x.scatter(0, i, 5.0), one, index)
    same(lambda x, i: x.scatter_add(0, i, x), one, index)
    same(lambda x, i: x.scatter(0, i, 5.0), torch.ones(4), torch.empty(0).long())
    same(lambda x, i: x.scatter(0, i, 5.0), torch.ones(0, 4), torch.ones(0, 4).long())


def test_out() -> None:
    x, src = values(5, 3, dtype=torch.float32), values(2, 3, dtype=torch.float32)
    index = once(5, 2, 3)
    given = torch.empty(3, 5).t()
    same(lambda x, i, s, out: torch.scatter(x, 0, i, s, out=out), x, index, src, given)


@needs_kernels
@pytest.mark.parametrize("reduce", [None, "add"])
def test_deterministic(reduce) -> None:
    """Then the last of equal places wins, as on the CPU, whatever the sizes."""
    x, src = torch.zeros(50, 30), torch.randn(2000, 30)
    index = often(50, 2000, 30)
    torch.use_deterministic_algorithms(True)
    try:
        if reduce:
            same(lambda x, i, s: x.scatter_add(0, i, s), x, index, src, rtol=1e-4)
        else:
            same(lambda x, i, s: x.scatter(0, i, s), x, index, src)
    finally:
        torch.use_deterministic_algorithms(False)


def test_gradients() -> None:
    x = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    src = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    index = once(6, 4, 5)
    same_gradients(lambda x, s, i: x.scatter(0, i, s), x, src, index)
    same_gradients(lambda x, s, i: x.scatter_add(0, i, s), x, src, often(6, 4, 5))
    same_gradients(lambda x, i: x.gather(0, i), x, often(6, 9, 5))


@needs_kernels
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_gradients_of_reductions(reduce) -> None:
    x = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    src = torch.randn(9, 5, dtype=torch.float64, requires_grad=True)
    index = often(6, 9, 5)
    same_gradients(lambda x, s, i: x.scatter_reduce(0, i, s, reduce), x, src, index)


def test_bad_operands() -> None:
    x = torch.zeros(3, 3, device="flagos")
    index = torch.zeros(2, 3, dtype=torch.long, device="flagos")
    with pytest.raises(RuntimeError, match=r"same dtype|dtype to be equal"):
        x.scatter(0, index, index)
    with pytest.raises(RuntimeError, match=r"int64|int32"):
        x.scatter(0, x, x)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.scatter(2, index, 1.0)
