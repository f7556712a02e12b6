# SPDX-License-Identifier: Apache-2.0
"""Random numbers: distributions, ranges, reproducibility, generators, dropout."""

import math

import pytest
import torch
from torch.nn import functional as F

from torch_fl.testing import waits

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
I64 = torch.iinfo(torch.int64)


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="flagos")


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_fills_a_half_open_unit_range(dtype: torch.dtype) -> None:
    # muRAND's own range is (0, 1] (quirk 86)
    x = torch.rand(1_000_000, dtype=dtype, device="flagos").cpu().double()
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.mean() - 0.5) < 3e-3
    assert abs(x.var() - 1 / 12) < 1e-3


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("low", "high"), [(1, 2), (-3, 5), (0, 1e-3), (100, 101)])
def test_uniform_never_reaches_its_upper_end(
    dtype: torch.dtype, low: float, high: float
) -> None:
    x = empty(200_000, dtype=dtype).uniform_(low, high).cpu().double()
    assert x.min() >= low - 1e-3 * abs(low)
    assert (x < high).all()
    assert abs(x.mean() - (low + high) / 2) < 0.01 * (high - low) + 0.5 * (
        torch.finfo(dtype).eps * high
    )


def test_uniform_of_an_empty_range_is_its_end() -> None:
    assert (empty(10).uniform_(2, 2).cpu() == 2).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("count", [1, 3, 100_001])
def test_normal(dtype: torch.dtype, count: int) -> None:
    # muRAND makes an even number of them (quirk 86)
    x = torch.randn(count, dtype=dtype, device="flagos").cpu().double()
    assert x.isfinite().all()
    if count > 1000:
        assert abs(x.mean()) < 0.02
        assert abs(x.std() - 1) < 0.02
        assert abs((x.abs() < 1).double().mean() - 0.6827) < 0.01
        assert x.max() > 3
        assert x.min() < -3


def test_normal_takes_mean_and_deviation() -> None:
    x = empty(100_001).normal_(5, 0.25).cpu()
    assert abs(x.mean() - 5) < 0.01
    assert abs(x.std() - 0.25) < 0.01
    assert (empty(7).normal_(3, 0).cpu() == 3).all()
    with pytest.raises(RuntimeError, match="std >= 0"):
        empty(3).normal_(0, -1)


def test_normal_with_tensors() -> None:
    mean = torch.arange(3.0).expand(100_000, 3).to("flagos")
    deviation = torch.tensor([0.1, 1, 2]).to("flagos").expand(100_000, 3)
    both = torch.normal(mean, deviation).cpu()
    torch.testing.assert_close(both.mean(0), torch.arange(3.0), rtol=0, atol=0.03)
    torch.testing.assert_close(
        both.std(0), torch.tensor([0.1, 1, 2]), rtol=0.02, atol=0
    )
    assert torch.normal(mean, 0.5).shape == mean.shape
    assert torch.normal(1.0, deviation).shape == mean.shape


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + [torch.bool])
def test_random_fills_what_the_dtype_holds(dtype: torch.dtype) -> None:
    x = empty(100_000, dtype=dtype).random_().cpu()
    if dtype == torch.bool:
        assert abs(x.double().mean() - 0.5) < 0.01
        return
    top = {
        torch.float32: 2**24,
        torch.float64: 2**53,
        torch.float16: 2**11,
        torch.bfloat16: 2**8,
    }.get(dtype)
    if top is None:
        top = torch.iinfo(dtype).max
    assert x.min() >= 0
    assert x.max() <= top
    assert abs(x.double().mean() / top - 0.5) < 0.01


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 10),
        (-5, 6),
        (I64.min, I64.max),
        (0, I64.max),
        (-(2**62), 2**62 + 12345),
        (-(2**63), 2**40),
        (2**40, 2**40 + 3),
    ],
)
def test_random_ranges_of_int64(low: int, high: int) -> None:
    x = empty(200_000, dtype=torch.int64).random_(low, high).cpu()
    assert x.min() >= low
    assert x.max() < high
    span = high - low
    fractions = (x.double() - low) / span
    assert abs(fractions.mean() - (0.5 - 0.5 / span)) < 0.005 + (
        0.2 if span > 2**63 else 0
    )
    if span <= 11:
        assert len(x.unique()) == span


def test_random_over_all_of_int64() -> None:
    x = empty(200_000, dtype=torch.int64).random_(I64.min, None).cpu()
    assert abs((x < 0).double().mean() - 0.5) < 0.01
    assert x.max() > 2**62
    assert x.min() < -(2**62)
    low_bits = (x & 0xFFFFFFFF).double() / 2**32
    assert abs(low_bits.mean() - 0.5) < 0.01


def test_unsigned_types_that_mudnn_lacks_are_refused_by_name_under_strict() -> None:
    with pytest.raises(RuntimeError, match="random_"):
        empty(3, dtype=torch.uint16).random_(0, 10)


def test_random_checks_its_range() -> None:
    with pytest.raises(RuntimeError, match="'from' to be less than 'to'"):
        empty(3, dtype=torch.int64).random_(5, 5)
    with pytest.raises(RuntimeError, match="out of bounds"):
        empty(3, dtype=torch.int8).random_(0, 1000)


def test_randint_is_uniform() -> None:
    x = torch.randint(0, 7, (70_000,), device="flagos").cpu()
    counts = torch.bincount(x, minlength=7)
    assert (counts - 10_000).abs().max() < 600


def test_factories_and_likes() -> None:
    like = empty(4, 5, dtype=torch.float64)
    assert torch.rand_like(like).dtype == torch.float64
    assert torch.randn_like(like).shape == (4, 5)
    assert torch.randint_like(like, 3).max().item() <= 2
    assert torch.rand(0, device="flagos").shape == (0,)
    assert torch.randn(2, 3, dtype=torch.complex64, device="flagos").shape == (2, 3)


@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int64])
def test_bernoulli(p: float, dtype: torch.dtype) -> None:
    x = empty(100_000, dtype=dtype).bernoulli_(p).cpu().double()
    assert abs(x.mean() - p) < 0.01
    assert set(x.unique().tolist()) <= {0.0, 1.0}


def test_bernoulli_of_tensors() -> None:
    p = torch.tensor([0.0, 0.3, 1.0]).expand(50_000, 3).to("flagos")
    x = torch.bernoulli(p).cpu().mean(0)
    torch.testing.assert_close(x, torch.tensor([0, 0.3, 1]), rtol=0, atol=0.02)
    y = empty(50_000, 3).bernoulli_(p).cpu().mean(0)
    torch.testing.assert_close(y, torch.tensor([0, 0.3, 1]), rtol=0, atol=0.02)
    assert torch.bernoulli(p[0], 0.5).shape == (3,)
    with pytest.raises(RuntimeError, match=r"\[0, 1\]"):
        empty(3).bernoulli_(1.5)


DRAWS = {
    "uniform": lambda t, **k: t.uniform_(-1, 1, **k),
    "normal": lambda t, **k: t.normal_(**k),
    "random": lambda t, **k: t.random_(0, 1000, **k),
    "bernoulli": lambda t, **k: t.bernoulli_(0.5, **k),
}


@pytest.mark.parametrize("name", DRAWS)
def test_destinations_of_any_strides(name: str) -> None:
    draw = DRAWS[name]
    torch.manual_seed(3)
    wide = torch.full((50, 40), -7.0, device="flagos")
    draw(wide[:, ::2])
    kept = wide.cpu()
    assert (kept[:, 1::2] == -7).all()
    assert (kept[:, ::2] != -7).all()
    transposed = torch.full((30, 50), -7.0, device="flagos")
    draw(transposed.t())
    assert (transposed.cpu() != -7).all()


@pytest.mark.parametrize("name", DRAWS)
def test_seed_and_state_reproduce(name: str) -> None:
    draw = DRAWS[name]

    def three() -> list[torch.Tensor]:
        return [draw(empty(n)).cpu() for n in (5, 1001, 64)]

    torch.manual_seed(1234)
    first = three()
    state = torch.flagos.get_rng_state()
    more = three()
    torch.manual_seed(1234)
    assert all(torch.equal(a, b) for a, b in zip(first, three(), strict=True))
    torch.flagos.set_rng_state(state)
    assert all(torch.equal(a, b) for a, b in zip(more, three(), strict=True))
    assert not torch.equal(first[1], more[1])
    torch.flagos.manual_seed(1235)
    assert not torch.equal(first[1], three()[1])


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_of_its_own(name: str) -> None:
    draw = DRAWS[name]
    g = torch.Generator("flagos").manual_seed(7)
    h = torch.Generator("flagos").manual_seed(7)
    torch.manual_seed(0)
    a = draw(empty(1001), generator=g).cpu()
    b = draw(empty(1001), generator=h).cpu()
    assert torch.equal(a, b)
    assert not torch.equal(draw(empty(1001), generator=g).cpu(), a)
    # the default generator was left alone
    first = draw(empty(10)).cpu()
    torch.manual_seed(0)
    assert torch.equal(draw(empty(10)).cpu(), first)


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_of_the_cpu_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="'flagos' device type for generator"):
        DRAWS[name](empty(4), generator=torch.Generator())


@pytest.mark.parametrize("name", DRAWS)
def test_a_tensor_of_the_cpu_is_refused(name: str) -> None:
    # the generator's device alone brings the call to flagos
    with pytest.raises(RuntimeError, match="'cpu' device type for generator"):
        DRAWS[name](torch.empty(4), generator=torch.Generator("flagos"))
    with pytest.raises(RuntimeError, match="generator"):
        torch.rand(3, generator=torch.Generator("flagos"))


def test_no_two_calls_share_numbers() -> None:
    torch.manual_seed(0)
    drawn = [torch.rand(n, device="flagos").cpu() for n in (1, 3, 4, 5, 1000, 1)]
    values = torch.cat(drawn)
    assert len(values.unique()) > len(values) - 3


@pytest.mark.usefixtures("two_devices")
def test_devices_have_sequences_of_their_own() -> None:
    torch.manual_seed(5)
    a = torch.rand(100, device="flagos:0").cpu()
    b = torch.rand(100, device="flagos:1").cpu()
    torch.manual_seed(5)
    assert torch.equal(torch.rand(100, device="flagos:1").cpu(), b)
    assert torch.equal(torch.rand(100, device="flagos:0").cpu(), a)


def test_nothing_waits() -> None:
    for draw in DRAWS.values():
        draw(empty(101))
    before = waits()
    for draw in DRAWS.values():
        draw(empty(101))
        draw(empty(10, 20)[:, ::2])
    F.dropout(empty(100), 0.5)
    assert waits() == before


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout(dtype: torch.dtype, p: float) -> None:
    x = torch.ones(100_000, dtype=dtype, device="flagos", requires_grad=True)
    y = F.dropout(x, p)
    values = y.detach().cpu().double()
    kept = values != 0
    assert abs(kept.double().mean() - (1 - p)) < 0.01
    scale = 1 / (1 - p)
    assert (values[kept] - scale).abs().max() < 0.02 * scale
    y.backward(torch.full_like(y, 2))
    grad = x.grad.cpu().double()
    assert torch.equal(grad != 0, kept)
    assert (grad[kept] - 2 * scale).abs().max() < 0.04 * scale


def test_dropout_reproduces_and_is_off_in_evaluation() -> None:
    x = torch.randn(1001, device="flagos")
    torch.manual_seed(1)
    a = F.dropout(x, 0.4).cpu()
    b = F.dropout(x, 0.4).cpu()
    torch.manual_seed(1)
    assert torch.equal(F.dropout(x, 0.4).cpu(), a)
    assert not torch.equal(a, b)
    assert torch.equal(F.dropout(x, 0.4, training=False).cpu(), x.cpu())
    assert torch.equal(F.dropout(x, 0.0).cpu(), x.cpu())
    assert (F.dropout(x, 1.0).cpu() == 0).all()


def test_native_dropout_forms() -> None:
    x = torch.randn(6, 8, device="flagos")
    out, mask = torch.native_dropout(x, 0.5, False)
    assert torch.equal(out.cpu(), x.cpu())
    assert mask.dtype == torch.bool
    assert mask.all().item()
    for source in (x.t(), x[:, ::2], torch.empty(0, 3, device="flagos")):
        out, mask = torch.native_dropout(source, 0.5, True)
        expected = source.cpu() * mask.cpu() * 2
        torch.testing.assert_close(out.cpu(), expected)
    channels = F.dropout2d(torch.ones(64, 32, 3, 3, device="flagos"), 0.5).cpu()
    assert ((channels == 0) | (channels == 2)).all()
    assert (channels.flatten(2).std(2) == 0).all()


def test_initialisers() -> None:
    w = empty(64, 32, 3, 3)
    torch.nn.init.kaiming_uniform_(w, a=math.sqrt(5))
    bound = 1 / math.sqrt(32 * 9)
    assert w.abs().max().item() <= bound
    assert w.abs().max().item() > 0.99 * bound
    torch.nn.init.xavier_normal_(w)
    assert abs(w.std().item() - math.sqrt(2 / (96 * 9))) < 1e-3
