# SPDX-License-Identifier: Apache-2.0
"""Reductions, running sums, gathering and joining against the CPU."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import pytest
import torch
from compare import close, same, same_gradients
from test_ops_elementwise import FLOATS, INTEGERS, values

if TYPE_CHECKING:
    from collections.abc import Callable

NAN, INF = math.nan, math.inf
ALL = [*FLOATS, *INTEGERS, torch.bool]


def inputs(dtype: torch.dtype) -> dict[str, torch.Tensor]:
    return {
        "dense": values((3, 4, 5), dtype),
        "transposed": values((5, 4, 3), dtype).transpose(0, 2),
        "middle": values((3, 5, 4), dtype).transpose(1, 2),
        "strided": values((6, 4, 10), dtype)[::2, :, ::2],
        "part broadcast": values((4, 5), dtype).expand(3, 4, 5),
        "all broadcast": values((), dtype).expand(3, 4, 5),
        "row broadcast": values((1, 1, 5), dtype).expand(3, 4, 5),
        "ones": values((1, 4, 1), dtype),
    }


DIMS = [0, 1, 2, -1, (0, 1), (1, 2), (0, 2), (0, 1, 2)]


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
def test_sum(dtype: torch.dtype, keepdim: bool) -> None:
    for x in inputs(dtype).values():
        same(torch.sum, x)
        for dim in DIMS:
            same(lambda t, d=dim: t.sum(d, keepdim=keepdim), x, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_moments(dtype: torch.dtype, name: str) -> None:
    loose = {} if dtype == torch.float64 else {"rtol": 1e-2, "atol": 1e-2}
    if dtype == torch.float32:
        loose = {"rtol": 1e-5, "atol": 1e-5}
    function = getattr(torch, name)
    for label, x in inputs(dtype).items():
        if label == "ones" and name != "mean":
            continue
        same(function, x, **loose)
        for dim, keepdim in itertools.product(DIMS, (False, True)):
            same(lambda t, d=dim, k=keepdim: function(t, d, keepdim=k), x, **loose)
    if name != "mean":
        x = values((3, 4, 5), dtype)
        for correction in (0, 1, 2):
            same(lambda t, c=correction: function(t, (0, 2), correction=c), x, **loose)
        pair = getattr(torch, name + "_mean")
        same(lambda t: list(pair(t, 1, keepdim=True)), x, **loose)
        same(lambda t: list(pair(t)), x, **loose)


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extremes(dtype: torch.dtype, name: str) -> None:
    function = getattr(torch, name)
    for x in inputs(dtype).values():
        same(function, x)
        for dim, keepdim in itertools.product(DIMS, (False, True)):
            same(lambda t, d=dim, k=keepdim: function(t, d, keepdim=k), x)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_places(dtype: torch.dtype, name: str) -> None:
    function = getattr(torch, name)
    for label, x in inputs(dtype).items():
        if "broadcast" not in label:
            same(function, x)
        for dim, keepdim in itertools.product((0, 1, 2), (False, True)):
            result = function(x, dim, keepdim=keepdim)
            ours = same(
                lambda t, d=dim, k=keepdim: _values(function(t, d, keepdim=k)), x
            )
            if isinstance(result, torch.Tensor):
                assert ours.dtype == torch.int64
            else:
                places = function(x.to("flagos"), dim, keepdim=keepdim).indices.cpu()
                if not keepdim:
                    places = places.unsqueeze(dim)
                    picked = x.gather(dim, places).squeeze(dim)
                else:
                    picked = x.gather(dim, places)
                assert torch.equal(picked, result.values)


def _values(result: object) -> torch.Tensor:
    return result if isinstance(result, torch.Tensor) else result.values


def test_the_first_of_equals_wins() -> None:
    x = torch.tensor([[1, 3, 3, 2], [5, 5, 5, 5]])
    for t in (x, x.float(), x.half(), x.to(torch.uint8)):
        same(lambda v: v.argmax(1), t)
        same(lambda v: v.argmin(1), t)
        same(lambda v: list(v.max(1)), t)
        same(lambda v: list(v.min(1)), t)
        same(torch.argmax, t)


def test_nan_wins() -> None:
    x = torch.tensor([[1.0, NAN, 3.0], [NAN, 2.0, INF], [-INF, 0.0, 1.0]])
    for dtype in FLOATS:
        t = x.to(dtype)
        for f in (
            torch.max,
            torch.min,
            torch.amax,
            torch.amin,
            torch.argmax,
            torch.argmin,
            lambda v: list(v.max(0)),
            lambda v: list(v.min(1)),
            lambda v: v.amax(0),
            lambda v: v.amin(1),
            lambda v: v.sum(0),
            lambda v: v.mean(1),
            lambda v: v.prod(0),
            lambda v: list(torch.aminmax(v)),
            lambda v: v.any(0),
            lambda v: v.all(),
        ):
            same(f, t)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_aminmax(dtype: torch.dtype) -> None:
    for x in inputs(dtype).values():
        same(lambda t: list(torch.aminmax(t)), x)
        same(lambda t: list(torch.aminmax(t, dim=1)), x)
        same(lambda t: list(torch.aminmax(t, dim=0, keepdim=True)), x)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_prod(dtype: torch.dtype) -> None:
    loose = {"rtol": 2e-2, "atol": 1e-2} if dtype.itemsize == 2 else {}
    for x in inputs(dtype).values():
        small = x if dtype == torch.bool else torch.where(x.abs() > 2, 2, x).to(dtype)
        same(lambda t: t.prod(1), small, **loose)
        same(lambda t: t.prod(2, keepdim=True), small, **loose)
    same(torch.prod, values((3, 4), dtype), **loose)
    same(lambda t: t.prod(0, dtype=torch.float64), values((3, 4), dtype))


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("name", ["any", "all"])
def test_truth(dtype: torch.dtype, name: str) -> None:
    function = getattr(torch, name)
    for x in inputs(dtype).values():
        t = x if dtype == torch.bool else torch.where(x.abs() < 1.5, 0, x).to(dtype)
        same(function, t)
        for dim, keepdim in itertools.product(DIMS, (False, True)):
            same(lambda v, d=dim, k=keepdim: function(v, d, keepdim=k), t)
    same(lambda v: function(v, ()), values((3, 4), dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("order", [2, 1, 3, 0, INF, -INF, 0.5])
def test_vector_norm(dtype: torch.dtype, order: float) -> None:
    loose = {"rtol": 2e-2, "atol": 2e-2} if dtype.itemsize == 2 else {}
    if dtype == torch.float32:
        loose = {"rtol": 1e-4, "atol": 1e-4}
    if dtype == torch.float64 and order == 0.5:
        loose = {"rtol": 1e-8, "atol": 1e-8}
    for x in inputs(dtype).values():
        same(lambda t: torch.linalg.vector_norm(t, order), x, **loose)
        for dim in (0, (0, 2), (0, 1, 2)):
            same(lambda t, d=dim: torch.linalg.vector_norm(t, order, d), x, **loose)
            same(lambda t, d=dim: t.norm(order, d, keepdim=True), x, **loose)


def test_nothing_to_reduce() -> None:
    empty = torch.empty(0, 3)
    for f in (
        torch.sum,
        torch.mean,
        torch.prod,
        torch.any,
        torch.all,
        lambda t: t.sum(0),
        lambda t: t.sum(1),
        lambda t: t.mean(0),
        lambda t: t.prod(0),
        lambda t: t.any(0),
        lambda t: t.all(0),
        lambda t: t.amax(1),
        lambda t: torch.linalg.vector_norm(t),
        lambda t: torch.linalg.vector_norm(t, dim=0),
        lambda t: t.cumsum(0),
        lambda t: list(t.max(1)),
    ):
        same(f, empty)
    E = empty.to("flagos")
    for g in (torch.max, torch.argmax, lambda t: t.amax(0), lambda t: t.max(0)):
        with pytest.raises((RuntimeError, IndexError)):
            g(E)
        with pytest.raises((RuntimeError, IndexError)):
            g(empty)


def test_one_element() -> None:
    x = torch.tensor(3.0)
    for f in (
        torch.sum,
        torch.mean,
        torch.prod,
        torch.max,
        torch.argmax,
        lambda t: list(t.max(0)),
        lambda t: t.sum(0),
        lambda t: t.amax(0),
        lambda t: t.any(),
        lambda t: t.cumsum(0),
        lambda t: torch.linalg.vector_norm(t),
    ):
        same(f, x)


def test_many_dimensions() -> None:
    x = torch.randn([2] * 9)
    same(torch.sum, x)
    same(lambda t: t.sum((0, 3, 7)), x[..., 0])
    same(lambda t: t.sum((1, 2)), x)


def test_sums_are_exact_and_in_the_dtype_asked_for() -> None:
    same(torch.sum, torch.tensor([2**60, 2**60 + 1, -3]))
    same(torch.sum, torch.full((1000,), 100, dtype=torch.uint8))
    same(lambda t: t.sum(dtype=torch.float64), values((3, 4), torch.float32))
    same(lambda t: t.sum(0, dtype=torch.float32), values((3, 4), torch.int64))
    same(lambda t: t.mean(dtype=torch.float32), values((3, 4), torch.int64))
    long = torch.full((4096,), 0.1)
    for dtype in (torch.float16, torch.bfloat16):
        same(torch.sum, long.to(dtype), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "argmax", "any", "prod"])
def test_reductions_into_out(name: str) -> None:
    x = values((3, 4, 5), torch.float32)
    function = getattr(torch, name)
    expected = function(x, 1)
    X = x.to("flagos")
    for out in (
        torch.empty(3, 5, dtype=expected.dtype, device="flagos"),
        torch.empty(0, dtype=expected.dtype, device="flagos"),
        torch.empty(5, 3, dtype=expected.dtype, device="flagos").t(),
        torch.empty(3, 10, dtype=expected.dtype, device="flagos")[:, ::2],
    ):
        assert function(X, 1, out=out) is out
        close(out, expected)


def test_reduction_errors() -> None:
    x = torch.randn(3, 4, device="flagos")
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.sum(2)
    with pytest.raises(RuntimeError, match="appears multiple times"):
        x.sum((0, 0))
    with pytest.raises(RuntimeError, match="mean"):
        x.long().mean()
    with pytest.raises(RuntimeError, match="same device"):
        torch.sum(x, 0, out=torch.empty(4))
    with pytest.raises(RuntimeError, match="dtype"):
        torch.argmax(x, 0, out=torch.empty(4, device="flagos"))


@pytest.mark.parametrize(
    "function",
    [
        torch.sum,
        lambda x: x.sum(0),
        lambda x: x.mean((0, 1)),
        lambda x: x.amax(1),
        lambda x: x.max(1).values,
        lambda x: x.var(1),
        lambda x: x.std(),
        lambda x: torch.linalg.vector_norm(x, dim=1),
        lambda x: x.prod(1),
        lambda x: torch.cat([x, x * 2], 1),
        lambda x: x.cumsum(1),
    ],
)
def test_gradients(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    from torch_fl import set_strict

    set_strict(False)  # the backward of max and cumsum needs scatter and flip
    try:
        same_gradients(function, values((4, 5), torch.float32).requires_grad_())
        same_gradients(function, values((4, 5), torch.float64).requires_grad_())
    finally:
        set_strict(True)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_running_sums(dtype: torch.dtype) -> None:
    loose = {"rtol": 2e-2, "atol": 2e-2} if dtype.itemsize == 2 else {}
    for x in inputs(dtype).values():
        for dim in (0, 1, 2):
            same(lambda t, d=dim: t.cumsum(d), x, **loose)
    same(lambda t: t.cumprod(1), values((3, 4), dtype), **loose)
    same(lambda t: t.cumsum(0, dtype=torch.float64), values((3, 4), dtype))
    same(lambda t: t.clone().cumsum_(1), values((3, 4), dtype), **loose)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_cat(dtype: torch.dtype) -> None:
    a, b = values((3, 4), dtype), values((3, 2), dtype, 1)
    same(lambda x, y: torch.cat([x, y], 1), a, b)
    same(lambda x, y: torch.cat([x, y, x], -1), a, b)
    same(lambda x, y: torch.cat([x.t(), y.t()]), a, b)
    same(lambda x, y: torch.cat([x, y[:, :0], y], 1), a, b)
    same(lambda x: torch.cat([x, torch.empty(0, dtype=x.dtype, device=x.device)]), a)
    same(lambda x: torch.stack([x, x], 1), a)
    same(lambda x, y: torch.cat([x[:, ::2], y], 1), a, b)
    same(lambda x, y: torch.cat([x, y.double()], 1), a, b)
    same(
        lambda x, y: torch.cat(
            [x, y], 1, out=torch.empty(0, dtype=x.dtype, device=x.device)
        ),
        a,
        b,
    )
    same(lambda x: torch.cat([x.expand(3, 4), x.expand(3, 4)]), values((1, 4), dtype))
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        torch.cat([a.to("flagos"), b.to("flagos")])
    with pytest.raises(RuntimeError, match="same device"):
        torch.cat([a.to("flagos"), a])


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("index_dtype", [torch.int64, torch.int32], ids=str)
def test_gathering(dtype: torch.dtype, index_dtype: torch.dtype) -> None:
    x = values((5, 4, 3), dtype)
    index = torch.tensor([3, 0, 2, 3], dtype=index_dtype)
    for dim, source in itertools.product((0, 1), (x, x.transpose(0, 1))):
        same(lambda t, i, d=dim: t.index_select(d, i % 4), source, index)
    same(lambda t, i: t.index_select(2, i % 3), x, index)
    if index_dtype == torch.int64:
        places = torch.randint(0, 3, (4, 4, 3))
        same(lambda t, i: t.gather(0, i), x, places)
        same(lambda t, i: t.gather(2, i[:, :2]), x, places)
        same(
            lambda t, i: torch.nn.functional.embedding(i, t),
            values((9, 4), dtype),
            torch.randint(0, 9, (2, 3)),
        )


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_selecting(dtype: torch.dtype) -> None:
    x, mask = values((3, 4), dtype), values((3, 4), torch.bool)
    same(torch.masked_select, x, mask)
    same(torch.masked_select, x, mask[:1])
    same(torch.masked_select, x.t(), mask.t())
    same(torch.masked_select, x, torch.zeros(3, 4, dtype=torch.bool))
    sparse = torch.where(mask, x, torch.zeros_like(x))
    same(torch.nonzero, sparse)
    same(torch.nonzero, sparse.t())
    same(torch.nonzero, torch.zeros_like(x))
    same(torch.nonzero, x[:0])


def test_equal() -> None:
    x = values((3, 4), torch.float32)
    X = x.to("flagos")
    assert torch.equal(X, X.clone())
    assert torch.equal(X.t(), X.clone().t())
    assert not torch.equal(X, X + 1)
    assert not torch.equal(X, X[:2])
    assert not torch.equal(X * NAN, X * NAN)
    assert torch.allclose(X, X + 1e-9)
    assert torch.equal(X[:0], X[:0])
    with pytest.raises(RuntimeError, match="same device"):
        torch.equal(X, x)


def test_ranges() -> None:
    for f in (
        lambda d: torch.arange(10, device=d),
        lambda d: torch.arange(3, 30, 4, device=d),
        lambda d: torch.arange(30, 3, -4, device=d),
        lambda d: torch.arange(0, 1, 0.1, device=d),
        lambda d: torch.arange(5.0, device=d),
        lambda d: torch.arange(1, 2, 0.25, device=d, dtype=torch.float64),
        lambda d: torch.arange(5, device=d, dtype=torch.float16),
        lambda d: torch.arange(5, device=d, dtype=torch.int32),
        lambda d: torch.arange(2**60, 2**60 + 5, device=d),
        lambda d: torch.arange(0, device=d),
        lambda d: torch.eye(4, device=d),
        lambda d: torch.eye(3, 5, device=d, dtype=torch.int64),
        lambda d: torch.eye(5, 3, device=d),
        lambda d: torch.zeros(3, 4, device=d),
        lambda d: torch.ones(3, 4, device=d, dtype=torch.int8),
        lambda d: torch.full((2, 3), 1.5, device=d),
        lambda d: torch.full((2, 3), True, device=d),
        lambda d: torch.full((2,), 1 + 2j, device=d),
        lambda d: torch.zeros(4, device=d, dtype=torch.complex64),
    ):
        close(f("flagos"), f("cpu"), rtol=1e-6, atol=1e-6)
    with pytest.raises(RuntimeError, match="bound inconsistent with step sign"):
        torch.arange(3, 0, device="flagos")


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_fill(dtype: torch.dtype) -> None:
    x = values((3, 4), dtype)
    same(lambda t: t.clone().fill_(1), x)
    same(lambda t: t.clone().t().fill_(1), x)
    same(lambda t: t.clone()[:, ::2].fill_(1), x)
    same(lambda t: t.clone().zero_(), x)
    same(lambda t: _zero_part(t.clone()), x)
    same(lambda t: t.clone().fill_(torch.ones((), dtype=t.dtype, device=t.device)), x)
    same(lambda t: t.clone().fill_(torch.ones((), dtype=t.dtype)), x)


def _zero_part(x: torch.Tensor) -> torch.Tensor:
    x[:, ::2].zero_()
    return x


def test_fill_refuses_what_does_not_fit() -> None:
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.zeros(3, dtype=torch.int8, device="flagos").fill_(300)
