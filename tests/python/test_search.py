# SPDX-License-Identifier: Apache-2.0
"""searchsorted, bucketize, isin, bincount, histc and the unique family."""

from __future__ import annotations

import math

import pytest
import torch
from compare import close, same
from marks import needs_kernels

pytestmark = needs_kernels
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def numbers(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    x = torch.randint(0, 40, shape)
    return (x.double() / 4 - 3).to(dtype) if dtype.is_floating_point else x.to(dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(dtype, right) -> None:
    rows = numbers(dtype, 4, 33).sort(1).values
    values = numbers(dtype, 4, 21)
    same(lambda b, v: torch.searchsorted(b, v, right=right), rows, values)
    same(lambda b, v: torch.searchsorted(b, v, right=right), rows[0], values)
    same(lambda b, v: torch.bucketize(v, b, right=right), rows[0], values[:, ::2])
    same(
        lambda b, v: torch.searchsorted(b, v, right=right, out_int32=True),
        rows[:, ::2],
        values,
    )


def test_searchsorted_forms() -> None:
    edges = torch.tensor([1.0, 2, 2, 5, math.inf, math.nan])
    values = torch.tensor([-1, 1, 2, 2.5, math.inf, -math.inf, math.nan])
    for side in ("left", "right"):
        same(lambda b, v, s=side: torch.searchsorted(b, v, side=s), edges, values)
        same(lambda b, s=side: torch.searchsorted(b, 2, side=s), edges)
        same(lambda b, s=side: torch.bucketize(2.5, b, right=s == "right"), edges)
    # mixed dtypes are compared as their common one
    same(torch.searchsorted, torch.tensor([1, 2, 3]), torch.tensor([1.5, 2.5]))
    mixed = torch.randn(3, 9)
    same(lambda b, v, s: torch.searchsorted(b, v, sorter=s),
         mixed, torch.randn(3, 5), mixed.argsort(1))  # fmt: skip
    same(torch.searchsorted, torch.empty(0), torch.ones(3))
    same(torch.searchsorted, torch.ones(3), torch.empty(0))
    same(torch.searchsorted, torch.ones(3), torch.tensor(1.0))
    out = torch.empty(0, dtype=torch.int64, device="flagos")
    torch.bucketize(values.to("flagos"), edges.to("flagos"), out=out)
    close(out, torch.bucketize(values, edges))
    big = torch.arange(2**53, 2**53 + 9)
    same(torch.searchsorted, big, big + 1)
    with pytest.raises(RuntimeError, match="side and right"):
        torch.searchsorted(
            edges.to("flagos"), values.to("flagos"), right=True, side="left"
        )
    with pytest.raises(RuntimeError, match="1 dimension"):
        torch.bucketize(out, torch.ones(2, 2, device="flagos"))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("invert", [False, True])
def test_isin(dtype, invert) -> None:
    x = numbers(dtype, 9, 11)
    for among in (x[:2, :3].contiguous(), x.view(-1)[:70], x[0, :1], x[:0]):
        same(lambda t, a: torch.isin(t, a, invert=invert), x, among)
    same(lambda t: torch.isin(t, 3, invert=invert), x)
    same(lambda t: torch.isin(3, t, invert=invert), x)


def test_isin_forms() -> None:
    x = torch.tensor([1.0, math.nan, math.inf, 0.1])
    same(torch.isin, x, x)
    same(torch.isin, x, torch.tensor([0.1], dtype=torch.float64))
    same(torch.isin, torch.arange(5), torch.tensor([1.5, 2.0]))
    same(torch.isin, torch.empty(0), x)
    same(torch.isin, x.view(2, 2).t(), x[:1])
    same(lambda t, a: torch.isin(t, a, assume_unique=True), x, x[:2])
    # A Python number takes the tensor's dtype: 0.1 is among float32's 0.1.
    same(lambda t: torch.isin(0.1, t), x)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_bincount(dtype) -> None:
    x = torch.randint(0, 100, (5000,)).to(dtype)
    same(torch.bincount, x)
    same(lambda t: torch.bincount(t, minlength=300), x)
    same(torch.bincount, x[::3])
    same(lambda t, w: torch.bincount(t, w), x, torch.rand(5000, dtype=torch.float64))
    same(lambda t, w: torch.bincount(t, w), x, torch.rand(5000), rtol=1e-4)
    same(lambda t, w: torch.bincount(t, w), x, torch.randint(-9, 9, (5000,)))


def test_bincount_of_runs_longer_than_a_chunk() -> None:
    for lengths in ([1, 700, 1, 256, 2, 3000], [256, 256, 512], [10_000], [255, 1, 1]):
        x = torch.repeat_interleave(torch.tensor(lengths))
        x = x[torch.randperm(len(x))]
        w = torch.randn(len(x), dtype=torch.float64)
        w[w > 2.5] = math.inf
        same(torch.bincount, x, w)
        same(torch.bincount, x)


def test_bincount_forms() -> None:
    same(torch.bincount, torch.empty(0, dtype=torch.int64))
    same(lambda t: torch.bincount(t, minlength=4), torch.empty(0, dtype=torch.int64))
    y = torch.tensor([1, 2], device="flagos")
    for bad in (torch.tensor([-1]), torch.ones(2, 2, dtype=torch.int64)):
        with pytest.raises(RuntimeError, match="1-d non-negative"):
            torch.bincount(bad.to("flagos"))
    with pytest.raises(RuntimeError, match="minlength"):
        torch.bincount(y, minlength=-1)
    with pytest.raises(RuntimeError, match="same length"):
        torch.bincount(y, torch.ones(3, device="flagos"))
    with pytest.raises(NotImplementedError):
        torch.bincount(torch.ones(2, device="flagos"))


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_histc(dtype) -> None:
    x = torch.randn(7001, dtype=dtype)
    same(lambda t: torch.histc(t, 10, -2, 2), x)
    same(torch.histc, x)
    same(lambda t: torch.histc(t, 3), torch.full((5,), 2.0, dtype=dtype))
    same(lambda t: torch.histc(t, 4, 0, 4), torch.arange(6, dtype=dtype))
    x[::50] = math.nan
    same(lambda t: torch.histc(t, 7, -1, 3), x)
    same(lambda t: torch.histc(t, 5, 0, 1), torch.empty(0, dtype=dtype))


def test_histc_forms() -> None:
    x = torch.randint(0, 10, (999,))
    have = torch.histc(x.to("flagos"), 10, 0, 9)  # as torch.cuda: integers too
    assert torch.equal(have.cpu(), torch.bincount(x, minlength=10))
    out = torch.empty(0, device="flagos")
    torch.histc(x.float().to("flagos"), 5, out=out)
    close(out, torch.histc(x.float(), 5))
    with pytest.raises(RuntimeError, match="bins"):
        torch.histc(out, 0)
    with pytest.raises(RuntimeError, match="dtype"):
        torch.histc(out, 5, out=torch.empty(0, device="flagos", dtype=torch.float64))
    with pytest.raises(RuntimeError, match="not finite"):
        torch.histc(out / 0, 5)
    with pytest.raises(RuntimeError, match="larger than min"):
        torch.histc(out, 5, 3, 1)


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
@pytest.mark.parametrize("density", [False, True])
def test_histogram(dtype, density) -> None:
    x = torch.randn(70, 30, dtype=dtype)
    weight = torch.rand(70, 30, dtype=dtype)
    edges = torch.tensor([-2, -1, -0.5, 0.25, 3], dtype=dtype)
    x[0, :5] = edges
    x[1, :2] = torch.tensor([math.nan, math.inf])
    options = {"density": density}
    loose = {"rtol": 1e-4, "atol": 1e-5} if dtype == torch.float32 else {}
    for w in (None, weight):
        same(lambda t, e, v: torch.histogram(t, e, weight=v, **options),
             x, edges, w, **loose)  # fmt: skip
        same(lambda t, v: torch.histogram(t, 9, range=(-1, 2), weight=v, **options),
             x, w, **loose)  # fmt: skip
        same(lambda t, v: torch.histogram(t[2:], 7, weight=v, **options),
             x, None if w is None else w[2:], **loose)  # fmt: skip


def test_histogram_forms() -> None:
    same(lambda t: torch.histogram(t, 3), torch.ones(3))
    same(lambda t: torch.histogram(t, 2), torch.empty(0))
    x = torch.randn(50)
    out = (torch.empty(0, device="flagos"), torch.empty(0, device="flagos"))
    torch.histogram(x.to("flagos"), 4, out=out)
    close(out, tuple(torch.histogram(x, 4)))
    y = x.to("flagos")
    for wrong, sentence in (
        (lambda: torch.histogram(y, 0), "bins must be > 0"),
        (lambda: torch.histogram(y, y[:1]), "bins must be > 0"),
        (lambda: torch.histogram(y, 2, range=(4, 3)), "min should not exceed max"),
        (lambda: torch.histogram(y / 0, 2), "not finite"),
        (lambda: torch.histogram(y, y.view(5, 10)), "one dimension"),
        (lambda: torch.histogram(y, 2, weight=y[:3]), "same shape"),
    ):
        with pytest.raises(RuntimeError, match=sentence):
            wrong()


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("counts", [False, True])
def test_unique(dtype, inverse, counts) -> None:
    x = numbers(dtype, 13, 17)
    options = {"return_inverse": inverse, "return_counts": counts}
    same(lambda t: torch.unique(t, **options), x)
    same(lambda t: torch.unique(t[:, ::2], **options), x)
    runs = x.sort(1).values
    same(lambda t: torch.unique_consecutive(t, **options), runs)
    for dim in (0, 1):
        few = x[:, :2] if dim == 0 else x[:2]
        same(lambda t, d=dim: torch.unique(t, dim=d, **options), few)
        same(
            lambda t, d=dim: torch.unique_consecutive(t, dim=d, **options),
            few.sort(dim).values,
        )


def test_unique_forms() -> None:
    both = {"return_inverse": True, "return_counts": True}
    for x in (torch.empty(0), torch.empty(0, 3), torch.tensor(2.0), torch.ones(1)):
        same(lambda t: torch.unique(t, **both), x)
        same(lambda t: torch.unique_consecutive(t, **both), x)
    same(lambda t: torch.unique(t, dim=0, **both), torch.empty(0, 3))
    same(lambda t: torch.unique(t, dim=1, **both), torch.randint(0, 2, (2, 500, 3)))
    same(lambda t: torch.unique(t, **both), torch.randint(-(2**62), 2**62, (3000,)))
    same(lambda t: torch.unique(t, **both), torch.randint(0, 300, (100_003,)))
    # NaN differs from itself
    x = torch.tensor([math.nan, 1, math.nan, 1, -math.inf])
    have = torch.unique(x.to("flagos"), return_counts=True)
    close(have, torch.unique(x, return_counts=True))
    with pytest.raises(RuntimeError, match="0 sized dimensions"):
        torch.unique(torch.empty(3, 0, device="flagos"), dim=0)
