# SPDX-License-Identifier: Apache-2.0
"""Running extrema, logcumsumexp, distances, and operators composed of others."""

from __future__ import annotations

import math

import pytest
import torch
from compare import close, same, same_gradients
from marks import needs_kernels

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def numbers(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    x = torch.randint(0, 40, shape)
    return (x.double() / 4 - 5).to(dtype) if dtype.is_floating_point else x.to(dtype)


@needs_kernels
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extrema(dtype, name) -> None:
    scan = getattr(torch, name)
    x = numbers(dtype, 3, 70, 5)
    for dim in (0, 1, 2):
        same(lambda t, d=dim: scan(t, d), x)
        same(lambda t, d=dim: scan(t.transpose(0, 2), d), x)
    if dtype.is_floating_point:
        x[1, 40:42] = math.nan
        x[2, 5] = math.inf
        same(lambda t: scan(t, 1), x)


@needs_kernels
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extrema_of_every_length(name) -> None:
    scan = getattr(torch, name)
    for n in (1, 31, 32, 33, 1023, 1024, 1025, 40_000, 100_001):
        same(lambda t: scan(t, 0), torch.randint(0, n, (n,)))
    same(lambda t: scan(t, 1), torch.randn(40, 3000))
    same(lambda t: scan(t, 0), torch.randn(70, 40_000))
    same(lambda t: scan(t, 0), torch.tensor(3.0))
    same(lambda t: scan(t, 1), torch.empty(0, 3))
    x = torch.randn(9, 8)
    out = (
        torch.empty(8, 9, device="flagos").t(),
        torch.empty(0, dtype=torch.int64, device="flagos"),
    )
    scan(x.to("flagos"), 0, out=out)
    close(out, tuple(scan(x, 0)))


@needs_kernels
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_logcumsumexp(dtype) -> None:
    x = torch.randn(3, 50, 6).to(dtype) * 4
    for dim in (0, 1, 2):
        same(lambda t, d=dim: torch.logcumsumexp(t, d), x)
    same(lambda t: torch.logcumsumexp(t.transpose(0, 2), 1), x)
    x[0, 3] = -math.inf
    x[1, :4] = -math.inf
    x[2, 30, :2] = math.inf
    x[2, 33, 1] = -math.inf
    x[1, 40, 3] = math.nan
    same(lambda t: torch.logcumsumexp(t, 1), x)


@needs_kernels
def test_logcumsumexp_forms() -> None:
    for n in (1, 33, 5000):
        x = torch.randn(n, dtype=torch.float64) * 100
        same(lambda t: torch.logcumsumexp(t, 0), x)
    same(lambda t: torch.logcumsumexp(t, 0), torch.tensor(2.0))
    same(lambda t: torch.logcumsumexp(t, 0), torch.empty(0, 3))
    same_gradients(
        lambda t: torch.logcumsumexp(t, 1),
        torch.randn(4, 20, dtype=torch.float64).requires_grad_(),
        rtol=1e-8,
        atol=1e-8,
    )
    y = torch.randn(5, 6, device="flagos")
    want = torch.logcumsumexp(y.cpu(), 0)
    torch.logcumsumexp(y, 0, out=y)
    close(y, want)


@needs_kernels
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_cdist(dtype, p) -> None:
    a = torch.randn(2, 1, 7, 5, dtype=dtype)
    b = torch.randn(3, 9, 5, dtype=dtype)
    a[0, 0, 0] = b[0, 0]
    same(lambda x, y: torch.cdist(x, y, p), a, b)
    same(lambda x, y: torch.cdist(x.mT, y, p), torch.randn(5, 7, dtype=dtype), b)
    if dtype == torch.float64:
        a = torch.randn(2, 7, 5, dtype=dtype, requires_grad=True)
        b = torch.randn(2, 9, 5, dtype=dtype, requires_grad=True)
        same_gradients(lambda x, y: torch.cdist(x, y, p), a, b)


@needs_kernels
def test_cdist_forms() -> None:
    a, b = torch.randn(60, 8), torch.randn(70, 8)
    for mode in (
        "use_mm_for_euclid_dist",
        "use_mm_for_euclid_dist_if_necessary",
        "donot_use_mm_for_euclid_dist",
    ):
        same(lambda x, y, m=mode: torch.cdist(x, y, compute_mode=m), a, b, atol=1e-3)
    same(torch.cdist, a[:0], b)
    same(torch.cdist, a[:, :0], b[:, :0])
    with pytest.raises(RuntimeError, match="same number of columns"):
        torch.cdist(a.to("flagos"), b[:, :3].to("flagos"))
    with pytest.raises(RuntimeError, match="non-negative p"):
        torch.cdist(a.to("flagos"), b.to("flagos"), -1)
    x, y = torch.randn(2, 6, 7)
    for p in (0.0, 1.0, 2.0, 3.5, math.inf):
        same(lambda s, t, p=p: torch.dist(s, t, p), x, y)


@needs_kernels
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf])
def test_pdist(p) -> None:
    for n in (0, 1, 2, 9, 40):
        same(lambda t: torch.pdist(t, p), torch.randn(n, 5))
    x = torch.randn(9, 4, dtype=torch.float64)
    x[3] = x[5]
    same_gradients(lambda t: torch.pdist(t, p), x.requires_grad_())
    same(lambda t: torch.pdist(t, p), torch.empty(4, 0))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
def test_counts_and_traces(dtype) -> None:
    x = numbers(dtype, 6, 7) * (torch.rand(6, 7) > 0.4).to(dtype)
    same(torch.count_nonzero, x)
    same(lambda t: torch.count_nonzero(t, 0), x)
    same(lambda t: torch.count_nonzero(t, (0, 1)), x)
    if dtype != torch.bool:
        # Not torch.trace on the CPU, which has no Half before torch 2.12.
        trace = torch.trace(x.to("flagos"))
        close(trace, x.diagonal().sum())
        close(torch.trace(x.t().to("flagos")), x.diagonal().sum())
        same(lambda t: torch.aminmax(t), x)
        same(lambda t: torch._aminmax(t), x)
        same(lambda t: torch._aminmax(t, 1, True), x)


def test_trace_and_count_forms() -> None:
    same(torch.trace, torch.empty(0, 3))
    same(torch.count_nonzero, torch.tensor([math.nan, 0.0, -0.0, math.inf]))
    same(torch.count_nonzero, torch.empty(0))
    with pytest.raises(RuntimeError, match="expected a matrix"):
        torch.trace(torch.ones(3, device="flagos"))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("p", [1, 2, 3.5, math.inf])
def test_renorm(dtype, p) -> None:
    x = torch.randn(5, 6, 3).to(dtype)
    for dim in (0, 1, -1):
        same(lambda t, d=dim: torch.renorm(t, p, d, 2.5), x)
    same(lambda t: t.clone().renorm_(p, 0, 1), x)
    if dtype == torch.float64:
        same_gradients(lambda t: torch.renorm(t, p, 0, 1), x.requires_grad_())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_addbmm(dtype) -> None:
    a, b = torch.randn(4, 3, 5).to(dtype), torch.randn(4, 5, 6).to(dtype)
    loose = {"rtol": 2e-2, "atol": 2e-1} if dtype.itemsize == 2 else {}
    for start in (torch.randn(3, 6), torch.randn(6), torch.randn(())):
        same(torch.addbmm, start.to(dtype), a, b, **loose)
    same(
        lambda s, x, y: torch.addbmm(s, x, y, beta=0.5, alpha=2),
        torch.randn(3, 6).to(dtype),
        a.transpose(0, 1).reshape(3, 4, 5).transpose(0, 1),
        b,
        **loose,
    )
    same(lambda s, x, y: s.clone().addbmm_(x, y), torch.randn(3, 6).to(dtype), a, b,
         **loose)  # fmt: skip
    if dtype == torch.float64:
        s = torch.randn(3, 6, dtype=dtype, requires_grad=True)
        same_gradients(torch.addbmm, s, a.requires_grad_(), b.requires_grad_())
    nan = torch.full((3, 6), math.nan, dtype=dtype)
    same(lambda s, x, y: torch.addbmm(s, x, y, beta=0), nan, a.detach(), b.detach(),
         **loose)  # fmt: skip


@pytest.mark.parametrize(
    "shape", [(2, 0, 4, 6), (2, 3, 0, 6), (0, 3, 4, 6), (2, 3, 4, 0)]
)
def test_addbmm_of_empty_operands(shape) -> None:
    batch, rows, depth, columns = shape
    start = torch.randn(rows, columns)
    same(
        torch.addbmm,
        start,
        torch.randn(batch, rows, depth),
        torch.randn(batch, depth, columns),
    )


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("shape", [(0, 30, 4), (30, 0, 4), (30, 30, 0)])
def test_cdist_of_empty_operands(shape, p) -> None:
    rows, others, columns = shape
    same(
        lambda a, b: torch.cdist(a, b, p),
        torch.randn(rows, columns),
        torch.randn(others, columns),
    )


def test_out_of_another_dtype_is_refused() -> None:
    x = torch.randn(4, 5).to("flagos")
    wide = torch.empty(0, dtype=torch.float64, device="flagos")
    with pytest.raises(RuntimeError, match="dtype"):
        torch._logcumsumexp(x, 1, out=wide)
    edges = torch.empty(0, device="flagos")
    with pytest.raises(RuntimeError, match="dtype"):
        torch.histogram(x, 4, out=(wide, edges))
    target = torch.zeros(4, dtype=torch.int64, device="flagos")
    with pytest.raises(RuntimeError, match="dtype"):
        torch._C._nn.multi_margin_loss(x, target, out=wide)
    with pytest.raises(RuntimeError, match="dtype"):
        torch._C._nn.binary_cross_entropy(x.sigmoid(), x.sigmoid(), out=wide)
