# SPDX-License-Identifier: Apache-2.0
"""Distributions against what they should be: Kolmogorov-Smirnov and chi-square."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from marks import needs_kernels
from torch.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = needs_kernels
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
SIZE = 100_000


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="flagos")


def fits(sample: torch.Tensor, cdf: Callable, slack: float = 0.0) -> None:
    """Kolmogorov-Smirnov; slack is what the dtype's rounding moves."""
    x = sample.cpu().double().flatten().sort().values
    n = len(x)
    want = cdf(x)
    above = torch.arange(1, n + 1, dtype=torch.float64) / n - want
    below = want - torch.arange(n, dtype=torch.float64) / n
    distance = max(above.max().item(), below.max().item())
    assert distance < 1.95 / math.sqrt(n) + slack, distance  # p = 0.001


def fits_counts(sample: torch.Tensor, pmf: torch.Tensor) -> None:
    """Chi-square of whole numbers against the probabilities of 0, 1, 2, ..."""
    x = sample.cpu().flatten().long()
    n = len(x)
    assert x.min() >= 0
    last = len(pmf) - 1
    have = torch.bincount(x.clamp(max=last), minlength=last + 1).double()
    want = pmf.double().clone()
    want[last] = 1 - want[:last].sum()
    want *= n
    many = want >= 8
    have = torch.cat([have[many], have[~many].sum()[None]])
    want = torch.cat([want[many], want[~many].sum()[None]])
    if want[-1] < 1e-6:
        assert have[-1] == 0
        have, want = have[:-1], want[:-1]
    statistic = ((have - want) ** 2 / want.clamp(min=1)).sum().item()
    freedom = max(len(have) - 1, 1)
    assert statistic < freedom + 4.5 * math.sqrt(2 * freedom) + 4, statistic


def rounding(dtype: torch.dtype) -> float:
    return {torch.float16: 1e-3, torch.bfloat16: 6e-3}.get(dtype, 0.0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("rate", [0.5, 1, 7])
def test_exponential(dtype, rate) -> None:
    x = empty(SIZE, dtype=dtype).exponential_(rate)
    fits(x, lambda v: 1 - torch.exp(-rate * v), rounding(dtype))
    if dtype.itemsize >= 4:
        assert x.min().item() > 0
    assert x.isfinite().all().item()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_cauchy(dtype) -> None:
    x = empty(SIZE, dtype=dtype).cauchy_(2, 0.5)
    fits(x, lambda v: 0.5 + torch.atan((v - 2) / 0.5) / math.pi, rounding(dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_log_normal(dtype) -> None:
    x = empty(SIZE, dtype=dtype).log_normal_(0.5, 0.75)
    fits(
        x,
        lambda v: 0.5 + 0.5 * torch.erf((v.log() - 0.5) / 0.75 / math.sqrt(2)),
        rounding(dtype),
    )


@pytest.mark.parametrize(
    "dtype", [*FLOATS, torch.int64, torch.int32, torch.int16], ids=str
)
@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
def test_geometric(dtype, p) -> None:
    x = empty(SIZE, dtype=dtype).geometric_(p)
    assert x.min().item() == 1
    k = torch.arange(200, dtype=torch.float64)
    pmf = torch.where(k > 0, p * (1 - p) ** (k - 1), 0)
    fits_counts(x if dtype != torch.bfloat16 else x.clamp(max=199), pmf)


def test_uniform_and_normal() -> None:
    fits(empty(SIZE).uniform_(-1, 3), lambda v: (v + 1) / 4)
    x = empty(SIZE, dtype=torch.float64).normal_(1, 2)
    fits(x, lambda v: 0.5 + 0.5 * torch.erf((v - 1) / 2 / math.sqrt(2)))


def test_normal_of_tensors() -> None:
    mean = torch.tensor([-3.0, 0.0, 10.0], device="flagos")
    std = torch.tensor([0.5, 1.0, 4.0], device="flagos")
    for x in (
        torch.normal(mean.expand(SIZE, 3), std.expand(SIZE, 3)),
        torch.normal(mean.expand(SIZE, 3), std),
        torch.normal(mean.expand(SIZE, 3), std, out=empty(0)),
    ):
        z = (x - mean) / std
        for column in z.unbind(1):
            fits(column, lambda v: 0.5 + 0.5 * torch.erf(v / math.sqrt(2)))
    torch.normal(mean, 0.0, out=std)
    assert torch.equal(std.cpu(), mean.cpu())
    with pytest.raises(RuntimeError, match="std >= 0"):
        torch.normal(mean, -std.abs())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("rate", [0.1, 3, 9.9, 10, 60])
def test_poisson(dtype, rate) -> None:
    rate = torch.tensor(rate, dtype=dtype).item()
    x = torch.poisson(torch.full((SIZE,), rate, dtype=dtype, device="flagos"))
    assert x.dtype == dtype
    k = torch.arange(int(rate + 12 * math.sqrt(rate) + 12), dtype=torch.float64)
    fits_counts(x, torch.exp(k * math.log(rate) - rate - torch.lgamma(k + 1)))


def test_poisson_at_the_ends() -> None:
    rate = torch.tensor([0, -1, math.nan, 1e-30, 1e6, 1e20], device="flagos")
    x = torch.poisson(rate.expand(1000, 6)).cpu()
    assert (x[:, 0] == 0).all()
    assert x[:, 1:3].isnan().all()
    assert (x[:, 3] == 0).all()
    assert abs(x[:, 4].double().mean() - 1e6) < 200
    assert abs(x[:, 4].double().std() - 1e3) < 100
    assert abs(x[:, 5].double().mean() / 1e20 - 1) < 1e-6
    with pytest.raises(NotImplementedError, match="poisson"):
        torch.poisson(torch.ones(3, dtype=torch.int64, device="flagos"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    ("count", "p"), [(1, 0.3), (10, 0.5), (40, 0.02), (100, 0.4), (100, 0.93)]
)
def test_binomial(dtype, count, p) -> None:
    n = torch.full((SIZE,), float(count), dtype=dtype, device="flagos")
    x = torch.binomial(n, torch.tensor(p, dtype=dtype, device="flagos").expand(SIZE))
    k = torch.arange(count + 1, dtype=torch.float64)
    ways = math.lgamma(count + 1) - torch.lgamma(k + 1) - torch.lgamma(count - k + 1)
    fits_counts(x, torch.exp(ways + k * math.log(p) + (count - k) * math.log1p(-p)))


def test_binomial_at_the_ends() -> None:
    count = torch.tensor([0.0, 5, 5, 5, math.nan], device="flagos")
    p = torch.tensor([0.5, 0, 1, math.nan, 0.5], device="flagos")
    x = torch.binomial(count, p).cpu()
    assert x[:3].tolist() == [0, 0, 5]
    assert x[3:].isnan().all()
    wide = torch.binomial(torch.full((4, 1), 3.0, device="flagos"), p[:3])
    assert wide.shape == (4, 3)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_of_one_row(dtype, replacement) -> None:
    weights = torch.tensor([1, 0, 3, 4, 2, 0], dtype=dtype, device="flagos")
    rows = weights.expand(SIZE, 6)
    x = torch.multinomial(rows, 1, replacement)
    assert x.shape == (SIZE, 1)
    assert x.dtype == torch.int64
    fits_counts(x, torch.tensor([0.1, 0, 0.3, 0.4, 0.2, 0]))
    if replacement:
        y = torch.multinomial(weights, SIZE, True)
        assert y.shape == (SIZE,)
        fits_counts(y, torch.tensor([0.1, 0, 0.3, 0.4, 0.2, 0]))


def test_multinomial_without_replacement() -> None:
    weights = torch.tensor([4.0, 3, 2, 1], device="flagos").expand(SIZE, 4)
    x = torch.multinomial(weights, 4).cpu()
    assert torch.equal(x.sort(1).values, torch.arange(4).expand(SIZE, 4))
    fits_counts(x[:, 0], torch.tensor([0.4, 0.3, 0.2, 0.1]))
    second = torch.zeros(4, dtype=torch.float64)
    p = [0.4, 0.3, 0.2, 0.1]
    for i in range(4):
        for j in range(4):
            if i != j:
                second[j] += p[i] * p[j] / (1 - p[i])
    fits_counts(x[:, 1], second)


def test_multinomial_of_many_categories() -> None:
    weights = torch.ones(50_257, device="flagos")
    x = torch.multinomial(weights, SIZE, True)
    fits(x, lambda v: (v + 1) / 50_257, 1e-4)
    out = torch.empty(0, dtype=torch.int64, device="flagos")
    torch.multinomial(weights, 7, out=out)
    assert len(out.unique()) == 7


@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_refuses_what_torch_refuses(replacement) -> None:
    def draw(weights: list, count: int = 1, **options: object) -> None:
        at = torch.tensor(weights, device="flagos", **options)
        torch.multinomial(at, count, replacement)

    for bad in (math.nan, math.inf, -1.0):
        with pytest.raises(RuntimeError, match=r"inf.*nan.*element < 0"):
            draw([1.0, bad])
    with pytest.raises(RuntimeError, match="sum of probabilities <= 0"):
        draw([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(RuntimeError, match="n_sample <= 0"):
        draw([1.0], 0)
    with pytest.raises(RuntimeError, match="floating-point"):
        draw([1, 2], dtype=torch.int64)
    if not replacement:
        with pytest.raises(RuntimeError, match="without replacement"):
            draw([1.0], 2)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rrelu(dtype) -> None:
    x = torch.randn(300, 400, dtype=dtype, device="flagos", requires_grad=True)
    y = F.rrelu(x, 0.1, 0.4, training=True)
    falls = x.detach().cpu() <= 0
    slopes = (y / x).detach().cpu().double()
    assert (slopes[~falls] == 1).all()
    fits(slopes[falls], lambda v: ((v - 0.1) / 0.3).clamp(0, 1), 10 * rounding(dtype))
    y.backward(torch.ones_like(y))
    grad = x.grad.cpu().double()
    assert (grad[~falls] == 1).all()
    assert (grad[falls] - slopes[falls]).abs().max() < 0.02
    flat = F.rrelu(x, 0.1, 0.4, training=False).detach().cpu()
    torch.testing.assert_close(flat, F.leaky_relu(x.detach().cpu(), 0.25))


def test_rrelu_forms() -> None:
    x = torch.randn(30, 40, device="flagos")
    before = x.cpu()
    y = F.rrelu_(x.t(), 0.2, 0.3, training=True)
    assert torch.equal(y.cpu().t() != before, before < 0)
    noise = torch.empty(30, 40, device="flagos")
    out = torch.ops.aten.rrelu_with_noise(x, noise, 0.5, 0.5, True)
    torch.testing.assert_close(out.cpu(), F.leaky_relu(x.cpu(), 0.5))
    assert torch.equal(noise.cpu(), torch.where(x.cpu() <= 0, 0.5, 1.0))


@pytest.mark.parametrize("n", [0, 1, 2, 1000, 100_003])
def test_randperm(n) -> None:
    x = torch.randperm(n, device="flagos")
    assert x.dtype == torch.int64
    assert torch.equal(x.cpu().sort().values, torch.arange(n))
    if n >= 1000:
        fits(x[: n // 2], lambda v: (v + 1) / n, 2e-3)
        assert not torch.equal(torch.randperm(n, device="flagos").cpu(), x.cpu())


def test_randperm_every_order_is_as_likely() -> None:
    orders = torch.stack([torch.randperm(4, device="flagos") for _ in range(2400)])
    places = orders.cpu() @ torch.tensor([64, 16, 4, 1])
    _, counts = places.unique(return_counts=True)
    assert len(counts) == 24
    assert ((counts - 100.0) ** 2 / 100).sum() < 53  # p = 0.0004


def test_randperm_forms() -> None:
    for dtype in (torch.int32, torch.float32, torch.float16, torch.uint8):
        x = torch.randperm(100, dtype=dtype, device="flagos")
        assert x.dtype == dtype
        assert torch.equal(x.cpu().long().sort().values, torch.arange(100))
    g = torch.Generator("flagos").manual_seed(3)
    a = torch.randperm(50, generator=g, device="flagos")
    g.manual_seed(3)
    out = torch.empty(0, dtype=torch.int64, device="flagos")
    assert torch.equal(torch.randperm(50, generator=g, out=out).cpu(), a.cpu())
    with pytest.raises(RuntimeError, match="cannot be greater"):
        torch.randperm(3000, dtype=torch.float16, device="flagos")
    with pytest.raises(RuntimeError, match="negative"):
        torch.randperm(-1, device="flagos")


def test_bernoulli_forms() -> None:
    p = torch.tensor([0.0, 0.25, 1.0], device="flagos").expand(SIZE, 3)
    for x in (
        torch.bernoulli(p),
        empty(SIZE, 3).bernoulli_(p),
        torch.bernoulli(p, out=empty(0)),
        empty(SIZE, 3, dtype=torch.int64).bernoulli_(p),
    ):
        x = x.cpu()
        assert (x[:, 0] == 0).all()
        assert (x[:, 2] == 1).all()
        fits_counts(x[:, 1], torch.tensor([0.75, 0.25]))
    fits_counts(torch.bernoulli(p, 0.6), torch.tensor([0.4, 0.6]))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_trunc_normal(dtype) -> None:
    x = torch.nn.init.trunc_normal_(empty(SIZE, dtype=dtype), 0, 1, -1, 2)
    assert x.min().item() >= -1
    assert x.max().item() <= 2

    def cdf(v: torch.Tensor) -> torch.Tensor:
        return torch.special.ndtr(v)

    low, high = cdf(torch.tensor(-1.0)), cdf(torch.tensor(2.0))
    fits(x, lambda v: (cdf(v) - low) / (high - low), rounding(dtype))


def test_dropout_in_all_forms() -> None:
    x = torch.ones(64, 32, 8, 8, device="flagos")
    for drop in (F.dropout1d, F.dropout2d, F.feature_alpha_dropout):
        y = drop(x[..., 0] if drop is F.dropout1d else x, 0.5, training=True).cpu()
        channels = y.flatten(2)
        assert (channels == channels[:, :, :1]).all()
        assert abs((channels[:, :, 0] > 0.5).double().mean() - 0.5) < 0.05
    z = torch.randn(SIZE, device="flagos")
    a = F.alpha_dropout(z, 0.3, training=True).cpu()
    assert abs(a.mean()) < 0.02
    assert abs(a.std() - 1) < 0.02
    kept = F.dropout(z.clone(), 0.3, inplace=True).cpu()
    assert abs((kept == 0).double().mean() - 0.3) < 0.01
