# SPDX-License-Identifier: Apache-2.0
"""sort, topk, kthvalue, median and mode against the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from compare import close, on, same
from marks import needs_kernels

import torch_fl

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def numbers(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Many ties; with NaN and infinities if the dtype has them."""
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point:
        low = 0 if dtype == torch.uint8 else -20
        return torch.randint(low, 20, shape).to(dtype)
    x = torch.randint(-20, 20, shape).to(dtype) / 4
    flat = x.view(-1)
    if len(flat) > 20:
        for i, value in enumerate((math.nan, math.inf, -math.inf, -0.0, math.nan)):
            flat[3 * i] = value
    return x


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable(dtype, descending) -> None:
    x = numbers(dtype, 5, 37, 4)
    for dim in (0, 1, -1):
        same(
            lambda t, d=dim: torch.sort(t, dim=d, descending=descending, stable=True), x
        )
        same(lambda t, d=dim: torch.sort(t, d, descending).values, x)
        same(
            lambda t, d=dim: torch.argsort(
                t, dim=d, descending=descending, stable=True
            ),
            x,
        )
    same(lambda t: torch.sort(t, descending=descending, stable=True), x[:, ::3])
    same(lambda t: torch.sort(t, dim=0, descending=descending, stable=True), x[0].t())


def test_sort_of_large_rows_and_of_int64_beyond_doubles() -> None:
    x = torch.randint(-(2**63), 2**63 - 1, (100_003,))
    same(lambda t: torch.sort(t, stable=True), x)
    close_ones = 2**53 + torch.randperm(1000) // 2
    same(lambda t: torch.sort(t, descending=True, stable=True), close_ones)
    same(lambda t: torch.sort(t, stable=True), torch.randn(3, 20_011))
    same(torch.msort, torch.randn(300, 7))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3), (1,), (1, 1)])
def test_sort_of_empty_and_single(shape) -> None:
    x = torch.randn(shape)
    same(torch.sort, x)
    same(torch.argsort, x)


def test_sort_into_given_tensors() -> None:
    x = torch.randn(6, 7)
    y = x.to("flagos")
    values = torch.empty(7, 6, device="flagos").t()
    indices = torch.empty(0, dtype=torch.int64, device="flagos")
    torch.sort(y, 0, out=(values, indices))
    close((values, indices), tuple(x.sort(0)))
    torch.sort(y, 1, out=(y, indices))
    close((y, indices), tuple(x.sort(1)))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("largest", [True, False])
def test_topk(dtype, largest) -> None:
    x = numbers(dtype, 4, 50, 3)
    for k, dim in ((0, 1), (1, 1), (7, 1), (50, 1), (2, 0), (3, -1)):
        values = same(lambda t, k=k, d=dim: t.topk(k, d, largest).values, x)
        indices = x.to("flagos").topk(k, dim, largest).indices
        picked = x.to("flagos").gather(dim, indices)
        close(values, picked.cpu())
    loose = x.to("flagos").topk(7, 1, largest, sorted=False).values
    close(loose.sort(1).values, x.topk(7, 1, largest).values.sort(1).values)


def test_topk_forms() -> None:
    same(lambda t: t.topk(1), torch.tensor(3.0))
    same(lambda t: t.topk(0), torch.empty(0))
    big = torch.randint(-(2**62), 2**62, (10, 1000))
    same(lambda t: t.topk(5), big)
    out = (
        torch.empty(0, device="flagos"),
        torch.empty(0, dtype=torch.int64, device="flagos"),
    )
    x = torch.randn(30, 4)
    torch.topk(x.to("flagos"), 3, 0, out=out)
    close(out, tuple(x.topk(3, 0)))
    same(lambda t: t.t().topk(3), x)
    with pytest.raises(RuntimeError, match="out of range"):
        x.to("flagos").topk(5)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_kthvalue(dtype) -> None:
    x = numbers(dtype, 6, 31)
    for k, dim, keep in ((1, 1, False), (16, 1, True), (31, 1, False), (3, 0, False)):
        values = same(lambda t, a=(k, dim, keep): t.kthvalue(*a).values, x)
        y = x.to("flagos")
        indices = y.kthvalue(k, dim, keep).indices
        picked = y.gather(dim, indices if keep else indices.unsqueeze(dim))
        close(values, (picked if keep else picked.squeeze(dim)).cpu())


def test_kthvalue_forms() -> None:
    same(lambda t: t.kthvalue(1), torch.tensor(2.0))
    same(lambda t: t.kthvalue(2, 1), torch.empty(0, 3))
    with pytest.raises(RuntimeError, match="out of range"):
        torch.ones(3, device="flagos").kthvalue(4)


@needs_kernels
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_median(dtype, name) -> None:
    x = numbers(dtype, 6, 30)
    if dtype.is_floating_point:
        x[2] = math.nan
        x[4, 5:9] = math.nan
    median = getattr(torch, name)
    same(median, x)
    same(median, x[0])
    for dim, keep in ((0, False), (1, True), (-1, False)):
        values = same(lambda t, a=(dim, keep): median(t, *a).values, x)
        y = x.to("flagos")
        indices = median(y, dim, keep).indices
        picked = y.gather(dim, indices if keep else indices.unsqueeze(dim))
        close(values, (picked if keep else picked.squeeze(dim)).cpu())


@needs_kernels
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_median_forms(name) -> None:
    median = getattr(torch, name)
    same(median, torch.empty(0))
    same(median, torch.tensor(3.0))
    same(lambda t: median(t, 0), torch.tensor(3.0))
    same(lambda t: median(t, 1), torch.empty(0, 3))
    with pytest.raises(IndexError):
        median(torch.empty(3, 0, device="flagos"), 1)
    x = torch.randperm(35).view(5, 7).double()
    y = x.to("flagos")
    out = (y.new_empty(0), torch.empty(0, dtype=torch.int64, device="flagos"))
    median(y.t(), 0, out=out)
    close(out, tuple(median(x.t(), 0)))


@needs_kernels
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
def test_mode(dtype) -> None:
    x = torch.randint(0, 5, (7, 40)).to(dtype)
    for dim, keep in ((0, False), (1, True), (-1, False)):
        values = same(lambda t, a=(dim, keep): torch.mode(t, *a).values, x)
        y = x.to("flagos")
        indices = torch.mode(y, dim, keep).indices
        picked = y.gather(dim, indices if keep else indices.unsqueeze(dim))
        close(values, (picked if keep else picked.squeeze(dim)).cpu())


@needs_kernels
def test_mode_forms() -> None:
    same(torch.mode, torch.tensor(3.0))
    same(lambda t: torch.mode(t, 1), torch.empty(0, 3))
    same(lambda t: torch.mode(t).values, torch.tensor([5, 5, 2, 2, 9]))
    with pytest.raises(IndexError):
        torch.mode(torch.empty(3, 0, device="flagos"), 1)


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    x = on("flagos", torch.randn(5, 6))
    x.sort()
    x.topk(2)
    x.kthvalue(2)
    x.argsort()
    assert torch_fl.fallbacks() == {}


def test_sort_into_indices_that_are_the_input() -> None:
    x = torch.randint(-50, 50, (3000,)).to("flagos")
    want, order = torch.sort(x.cpu(), stable=True)
    values = torch.empty(0, dtype=torch.int64, device="flagos")
    torch.sort(x, stable=True, dim=0, descending=False, out=(values, x))
    assert torch.equal(values.cpu(), want)
    assert torch.equal(x.cpu(), order)
