# SPDX-License-Identifier: Apache-2.0
"""index_add, index_copy, index_reduce, index_fill_: slices along one dimension."""

from __future__ import annotations

import pytest
import torch
from compare import on, same, same_gradients
from marks import needs_kernels

import torch_fl

pytestmark = needs_kernels
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
ANY = [*FLOATS, *INTEGERS, torch.bool, torch.complex64, torch.complex128]
REDUCTIONS = ["prod", "mean", "amax", "amin"]


def make(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(0 if dtype == torch.uint8 else -7, 8, shape, dtype=dtype)
    if dtype.is_complex:  # whole numbers, whose sums are exact
        parts = torch.randint(-7, 8, (2, *shape)).to(dtype)
        return parts[0] + 1j * parts[1]
    return torch.randn(shape, dtype=dtype)


@pytest.mark.parametrize("index_dtype", [torch.int64, torch.int32], ids=str)
@pytest.mark.parametrize("dtype", ANY, ids=str)
def test_index_add_with_repeats(dtype, index_dtype) -> None:
    index = torch.tensor([4, 0, 4, 4, 2, 0], dtype=index_dtype)
    for dim, shape in ((0, (6, 7)), (1, (5, 6)), (-1, (3, 2, 6))):
        sizes = list(shape)
        sizes[dim] = 5
        same(
            lambda x, s, i, dim=dim: x.index_add(dim, i, s),
            make(*sizes, dtype=dtype),
            make(*shape, dtype=dtype),
            index,
        )


@pytest.mark.parametrize("alpha", [2, -3, 0])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_index_add_alpha(dtype, alpha) -> None:
    if dtype == torch.uint8 and alpha < 0:
        alpha = 5
    index = torch.tensor([1, 1, 3])
    same(
        lambda x, s, i: x.index_add_(0, i, s, alpha=alpha),
        make(4, 3, dtype=dtype),
        make(3, 3, dtype=dtype),
        index,
    )


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 64, 65, 1000, 5000])
@pytest.mark.parametrize("columns", [1, 3, 64, 130])
def test_index_add_of_long_segments(rows, columns) -> None:
    """Segments within blocks, across borders, and over many blocks."""
    for extent in (1, 2, 40, 3 * rows):
        index = torch.randint(extent, (rows,))
        same(
            lambda x, s, i: x.index_add(0, i, s),
            torch.zeros(extent, columns, dtype=torch.int64),
            torch.randint(-9, 9, (rows, columns)),
            index,
        )


def test_index_add_sums_halves_in_float() -> None:
    ones = torch.ones(5000, 2, dtype=torch.float16, device="flagos")
    index = torch.zeros(5000, dtype=torch.int64, device="flagos")
    sums = torch.zeros(1, 2, dtype=torch.float16, device="flagos")
    assert sums.index_add_(0, index, ones).tolist() == [[5000.0, 5000.0]]


def test_index_add_is_the_same_at_every_run() -> None:
    source = torch.randn(20000, 5, device="flagos")
    index = torch.randint(7, (20000,), device="flagos")
    first = torch.zeros(7, 5, device="flagos").index_add_(0, index, source)
    for _ in range(3):
        again = torch.zeros(7, 5, device="flagos").index_add_(0, index, source)
        assert torch.equal(first, again)


def test_index_add_of_views_and_scalars() -> None:
    index = torch.tensor([2, 0, 2])
    same(lambda x, s, i: x.t().index_add_(0, i, s), make(4, 3), make(3, 4), index)
    same(
        lambda x, s, i: x[:, ::2].index_add_(1, i, s.t()), make(4, 6), make(3, 4), index
    )
    same(
        lambda x, s, i: x.index_add_(1, i, s),
        make(2, 3, 4, 5).to(memory_format=torch.channels_last),
        make(2, 3, 4, 5),
        index,
    )
    same(
        lambda x, s, i: x.index_add_(1, i, s.expand(4, 3)),
        make(4, 3),
        make(4, 1),
        index,
    )
    same(lambda x, s, i: x.index_add(0, i, s), make(), make(), torch.tensor(0))
    same(lambda x, s, i: x.index_add(0, i, s), make(3), make(1), torch.tensor([1]))
    same(lambda x, s, i: x.index_add(0, i, s), make(3, 2), make(0, 2), index[:0])
    same(lambda x, s, i: x.index_add(0, i, s), make(3, 0), make(3, 0), index)
    same(lambda x, s, i: x.index_add(0, i, s[::2]), make(3, 2), make(6, 2), index)


def test_index_add_out_and_errors() -> None:
    x, s, i = on("flagos", (make(4, 3), make(2, 3), torch.tensor([1, 3])))
    out = torch.empty(0, device="flagos")
    torch.index_add(x, 0, i, s, out=out)
    assert torch.equal(out.cpu(), x.cpu().index_add(0, i.cpu(), s.cpu()))
    with pytest.raises(RuntimeError, match="same"):
        x.index_add(0, i, s.double())
    with pytest.raises(RuntimeError, match="must not be a floating point"):
        x.int().index_add(0, i, s.int(), alpha=1.5)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.index_add(2, i, s)
    with pytest.raises(RuntimeError):
        x.index_add(0, i, s.cpu())


@pytest.mark.parametrize("dtype", ANY, ids=str)
@pytest.mark.parametrize("deterministic", [False, True])
def test_index_copy(dtype, deterministic) -> None:
    index = torch.tensor([4, 0, 2])
    torch.use_deterministic_algorithms(deterministic)
    try:
        for dim, shape in ((0, (3, 8)), (1, (5, 3)), (-2, (2, 3, 6))):
            sizes = list(shape)
            sizes[dim] = 5
            same(
                lambda x, s, i, dim=dim: x.index_copy(dim, i, s),
                make(*sizes, dtype=dtype),
                make(*shape, dtype=dtype),
                index,
            )
    finally:
        torch.use_deterministic_algorithms(False)


def test_index_copy_of_views_and_scalars() -> None:
    index = torch.tensor([2, 0, 1])
    same(lambda x, s, i: x.t().index_copy_(0, i, s), make(4, 3), make(3, 4), index)
    same(
        lambda x, s, i: x[:, ::2].index_copy_(1, i, s.t()),
        make(4, 6),
        make(3, 4),
        index,
    )
    same(
        lambda x, s, i: x.index_copy_(1, i, s),
        make(2, 3, 4, 5).to(memory_format=torch.channels_last),
        make(2, 3, 4, 5),
        index,
    )
    same(lambda x, s, i: x.index_copy(0, i, s), make(), make(), torch.tensor(0))
    same(lambda x, s, i: x.index_copy(0, i, s), make(4), make(1), torch.tensor([2]))
    same(lambda x, s, i: x.index_copy(0, i, s), make(3, 2), make(0, 2), index[:0])
    same(lambda x, s, i: x[1:].index_copy(0, i, s), make(4, 5), make(3, 5), index)


def test_the_last_of_equal_indices_wins_when_deterministic() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        index = torch.randint(50, (3000,))
        for columns in (1, 4, 7):
            same(
                lambda x, s, i: x.index_copy(0, i, s),
                make(50, columns),
                make(3000, columns),
                index,
            )
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_index_reduce(dtype, reduce, include_self) -> None:
    index = torch.tensor([4, 0, 4, 4, 2, 0])
    for dim, shape in ((0, (6, 7)), (1, (5, 6)), (-1, (3, 2, 6))):
        sizes = list(shape)
        sizes[dim] = 5
        same(
            lambda x, s, i, dim=dim: x.index_reduce(
                dim, i, s, reduce, include_self=include_self
            ),
            make(*sizes, dtype=dtype),
            make(*shape, dtype=dtype),
            index,
        )


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_index_reduce_of_long_segments_and_nan(reduce) -> None:
    source = 1 + 0.001 * torch.randn(3000, 3, dtype=torch.float64)
    source[700, 1] = float("nan")
    index = torch.randint(5, (3000,))
    for include_self in (True, False):
        same(
            lambda x, s, i, keep=include_self: x.index_reduce(
                0, i, s, reduce, include_self=keep
            ),
            torch.randn(6, 3, dtype=torch.float64),
            source,
            index,
        )


@pytest.mark.parametrize("dtype", ANY, ids=str)
def test_index_fill(dtype) -> None:
    index = torch.tensor([1, -1, 1])
    for dim, shape in ((0, (4, 16)), (1, (3, 4)), (-1, (3, 2, 5))):
        x = make(*shape, dtype=dtype)
        same(lambda x, i, dim=dim: x.index_fill_(dim, i, 3), x, index)
        value = torch.tensor(1, dtype=dtype)
        same(lambda x, i, v, dim=dim: x.index_fill_(dim, i, v), x, index, value)


def test_index_fill_of_views_scalars_and_errors() -> None:
    index = torch.tensor([2, 0])
    same(lambda x, i: x.t().index_fill_(0, i, 9), make(4, 3), index)
    same(lambda x, i: x[:, ::2].index_fill_(1, i, 9), make(4, 6), index)
    same(lambda x, i: x.index_fill_(0, i, 9), make(), torch.tensor(0))
    same(lambda x, i: x.index_fill_(0, i, 9), make(3), torch.tensor(1))
    same(lambda x, i: x.index_fill_(0, i, 9), make(3), index[:0])
    same(lambda x, i: x.index_fill(0, i, 2**60 + 1), make(3, dtype=torch.int64), index)
    x, i = on("flagos", (make(3), index))
    with pytest.raises(IndexError, match="Expected dtype int64"):
        x.index_fill_(0, i.short(), 1)
    with pytest.raises(RuntimeError, match="0-dimensional value"):
        x.index_fill_(0, i, torch.ones(2, device="flagos"))


def test_gradients() -> None:
    index = torch.tensor([3, 0, 3])
    x = torch.randn(5, 4, requires_grad=True)
    s = torch.randn(3, 4, requires_grad=True)
    same_gradients(lambda x, s, i: x.index_add(0, i, s, alpha=0.5), x, s, index)
    distinct = torch.tensor([3, 0, 2])
    same_gradients(lambda x, s, i: x.index_copy(0, i, s), x, s, distinct)
    same_gradients(lambda x, i: x.index_fill(0, i, 2.0), x, index)
    same_gradients(lambda x, i: x.index_select(0, i), x, index)
    for reduce in REDUCTIONS:
        same_gradients(
            lambda x, s, i, how=reduce: x.index_reduce(0, i, s, how), x, s, index
        )


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    x, s, i = on("flagos", (make(4, 3), make(2, 3), torch.tensor([1, 3])))
    x.index_add_(0, i, s).index_copy_(0, i, s).index_fill_(0, i, 1)
    x.index_reduce_(0, i, s, "amax")
    assert torch_fl.fallbacks() == {}
