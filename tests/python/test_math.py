# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions on kernels of our own, against the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from marks import needs_kernels

import torch_fl

pytestmark = needs_kernels
INF, NAN = float("inf"), float("nan")
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
# A function's name and where it is of interest.
ONE = {
    "acosh": (0.5, 40),
    "angle": (-3, 3),
    "asin": (-1.2, 1.2),
    "asinh": (-40, 40),
    "atanh": (-1.2, 1.2),
    "cosh": (-9, 9),
    "exp2": (-20, 20),
    "erfc": (-6, 9),
    "frac": (-40, 40),
    "sinc": (-5, 5),
    "sinh": (-9, 9),
    "signbit": (-1, 1),
    "logit": (-0.1, 1.1),
    "nan_to_num": (-4, 4),
    "digamma": (-9, 60),
    "erfinv": (-1.1, 1.1),
    "i0": (-30, 30),
    "lgamma": (-9, 60),
    "special.entr": (-1, 9),
    "special.erfcx": (-5, 40),
    "special.i0e": (-60, 60),
    "special.i1": (-30, 30),
    "special.i1e": (-60, 60),
    "special.log_ndtr": (-30, 6),
    "special.ndtri": (-0.1, 1.1),
}
NO_INTEGERS = {"frac"}
TWO = {
    "atan2": (-3, 3),
    "copysign": (-3, 3),
    "fmax": (-3, 3),
    "fmin": (-3, 3),
    "heaviside": (-1, 1),
    "hypot": (-30, 30),
    "logaddexp": (-30, 30),
    "logaddexp2": (-30, 30),
    "nextafter": (-3, 3),
    "xlogy": (-1, 9),
    "special.xlog1py": (-1, 9),
    "special.zeta": (1, 9),
}
CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, INF, -INF, NAN]


def named(name: str):
    root = torch
    for part in name.split("."):
        root = getattr(root, part)
    return root


# Results that lie in the operands' own precision.
EXACT = {"copysign", "heaviside", "nan_to_num", "nextafter", "signbit", "frac"}


def reference(name: str, *operands: torch.Tensor) -> torch.Tensor:
    """The CPU's result; of 16-bit types, which it rounds between, from doubles."""
    dtype = operands[0].dtype
    if name in EXACT or dtype.itemsize > 2:
        return named(name)(*operands)
    return named(name)(*(x.double() for x in operands)).to(dtype)


def close(have: torch.Tensor, want: torch.Tensor) -> None:
    assert have.device.type == "flagos"
    torch.testing.assert_close(have.cpu(), want, equal_nan=True)


def spread(dtype: torch.dtype, low: float, high: float, *shape: int) -> torch.Tensor:
    values = torch.rand(shape, dtype=torch.float64) * (high - low) + low
    return values.to(dtype)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_one_operand(name, dtype) -> None:
    function = named(name)
    x = spread(dtype, *ONE[name], 37, 29)
    there = x.to("flagos")
    close(function(there), reference(name, x))
    close(function(there.t()[::2]), reference(name, x.t()[::2]))
    corners = torch.tensor(CORNERS, dtype=dtype)
    close(function(corners.to("flagos")), reference(name, corners))
    close(function(there[:0]), reference(name, x[:0]))
    close(function(there[3, 4]), reference(name, x[3, 4]))


@pytest.mark.parametrize("name", sorted(set(ONE) - NO_INTEGERS))
@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool], ids=str)
def test_one_operand_promotes_integers(name, dtype) -> None:
    if name == "logit" and dtype == torch.bool:
        pytest.skip("logit of bool: the CPU refuses it")
    function = named(name)
    x = torch.tensor([0, 1, 2, 3, 5, 11], dtype=dtype)
    if dtype.is_signed:
        x = torch.cat([x, -x])
    close(function(x.to("flagos")), function(x))


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_two_operands(name, dtype) -> None:
    function = named(name)
    x = spread(dtype, *TWO[name], 23, 31)
    y = spread(dtype, *TWO[name], 23, 31)
    a, b = x.to("flagos"), y.to("flagos")
    close(function(a, b), reference(name, x, y))
    close(function(a, b[:1]), reference(name, x, y[:1]))
    x, y = x.t(), y.reshape(31, 23)
    close(function(a.t(), b.reshape(31, 23)), reference(name, x, y))
    corners = torch.tensor(CORNERS, dtype=dtype)
    left, right = corners[:, None], corners[None, :]
    if name == "special.zeta":
        left = left.abs() + 1
    have = function(left.to("flagos"), right.to("flagos"))
    close(have, reference(name, left, right))


@pytest.mark.parametrize("name", sorted(set(TWO) - {"heaviside", "nextafter"}))
def test_two_operands_promote(name) -> None:
    function = named(name)
    x, y = torch.tensor([1, 2, 3, 4]), torch.tensor([0.5, 1.0, 2.0, 3.0])
    close(function(x.to("flagos"), y.to("flagos")), function(x, y))
    ints = torch.tensor([3, 1, 2, 1], dtype=torch.int32)
    if name not in ("hypot", "logaddexp", "logaddexp2"):  # the CPU refuses them
        close(function(x.to("flagos"), ints.to("flagos")), function(x, ints))
    number = torch.tensor(2.5, dtype=torch.float64)
    close(function(y.to("flagos"), number), function(y, number))
    close(function(number, y.to("flagos")), function(number, y))


@pytest.mark.parametrize("name", ["fmax", "fmin", "heaviside"])
@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool], ids=str)
def test_two_integers(name, dtype) -> None:
    x = torch.tensor([0, 1, 2, 0, 7, 100]).to(dtype)
    y = torch.tensor([1, 0, 2, 3, 5, 120]).to(dtype)
    function = named(name)
    close(function(x.to("flagos"), y.to("flagos")), function(x, y))


@pytest.mark.parametrize("name", ["gcd", "lcm"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_common_divisors(name, dtype) -> None:
    x = torch.randint(0, 12, (200,), dtype=dtype)
    y = torch.randint(0, 12, (200,), dtype=dtype)
    if dtype.is_signed:
        x = x - 6
    function = named(name)
    close(function(x.to("flagos"), y.to("flagos")), function(x, y))
    number = torch.tensor(6, dtype=dtype)
    close(function(x.to("flagos"), number), function(x, number))


def test_divisors_beyond_doubles() -> None:
    x = torch.tensor([2**62 + 2, 3**39, 2**61])
    y = torch.tensor([2**61 + 1, 3**38, 2**40])
    close(torch.gcd(x.to("flagos"), y.to("flagos")), torch.gcd(x, y))


@pytest.mark.parametrize("order", [0, 1, 2, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_polygamma(order, dtype) -> None:
    x = spread(dtype, 0.2, 30, 200)
    if order < 2:
        x = torch.cat([x, -x + 0.123])
    want = torch.polygamma(order, x.double()).to(dtype)
    close(torch.polygamma(order, x.to("flagos")), want)


def test_multivariate_lgamma() -> None:
    x = spread(torch.float64, 3, 30, 50)
    close(torch.mvlgamma(x.to("flagos"), 4), torch.mvlgamma(x, 4))


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_round_to_decimals(decimals, dtype) -> None:
    x = torch.tensor([0.05, 1.25, -2.345678, 12345.678, 150.0, 250.0, INF, NAN])
    x = x.to(dtype)
    close(x.to("flagos").round(decimals=decimals), x.round(decimals=decimals))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_replacements_of_not_a_number(dtype) -> None:
    x = torch.tensor([NAN, INF, -INF, 1.5, -2.0], dtype=dtype)
    for options in ({}, {"nan": 3.0}, {"posinf": 7.0, "neginf": -7.0}):
        close(torch.nan_to_num(x.to("flagos"), **options), x.nan_to_num(**options))
    ints = torch.arange(4)
    close(torch.nan_to_num(ints.to("flagos")), torch.nan_to_num(ints))


@pytest.mark.parametrize("epsilon", [None, 0.1])
def test_logit_clamps(epsilon) -> None:
    x = torch.tensor([-0.5, 0.0, 0.05, 0.3, 0.95, 1.0, 1.5, NAN])
    close(torch.logit(x.to("flagos"), epsilon), torch.logit(x, epsilon))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_neighbours_of_16_bit_numbers(dtype) -> None:
    bits = torch.arange(-(2**15), 2**15, 7, dtype=torch.int32).to(torch.int16)
    x = bits.view(dtype)
    y = x.flip(0)
    have = torch.nextafter(x.to("flagos"), y.to("flagos")).cpu()
    want = torch.nextafter(x, y)
    assert torch.equal(have.isnan(), want.isnan())
    kept = ~want.isnan()
    assert torch.equal(have[kept].view(torch.int16), want[kept].view(torch.int16))


def test_in_place_and_out() -> None:
    x = spread(torch.float32, 0.1, 0.9, 6, 5)
    there = x.to("flagos")
    assert there.clone().asin_().device.type == "flagos"
    close(there.clone().erfinv_(), x.erfinv())
    close(there.clone().hypot_(there), x.hypot(x))
    out = torch.empty(5, 6, dtype=torch.float64, device="flagos").t()
    torch.sinh(there, out=out)
    close(out, torch.sinh(x).double())
    whole = torch.arange(4, device="flagos")
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.sinh(whole, out=torch.empty(4, dtype=torch.int64, device="flagos"))
    with pytest.raises(RuntimeError, match="can't be cast"):
        whole.asin_()


def test_more_dimensions_than_can_be_merged() -> None:
    x = torch.rand(2, 3, 2, 3, 2, 3, 2).permute(6, 4, 2, 0, 5, 3, 1)
    close(torch.asinh(x.to("flagos")), torch.asinh(x))


@pytest.mark.parametrize("name", ["acosh", "digamma", "erfinv", "lgamma", "sinc"])
def test_gradients(name) -> None:
    low, high = (1.1, 9) if name == "acosh" else (0.1, 0.9)
    x = spread(torch.float64, low, high, 40)
    grads = []
    for device in ("cpu", "flagos"):
        leaf = x.clone().to(device).detach().requires_grad_()
        named(name)(leaf).sum().backward()
        grads.append(leaf.grad.cpu())
    torch.testing.assert_close(grads[1], grads[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_ldexp_of_powers_beyond_the_type(dtype) -> None:
    x = torch.tensor([1.5, -3.0, 0.0, 1e-30, float("inf"), float("nan")], dtype=dtype)
    power = torch.tensor([3, -200, 7, 150, -4, 1])
    ours = torch.ldexp(x.to("flagos"), power.to("flagos"))
    expected = torch.tensor(
        [math.ldexp(a, b) for a, b in zip(x.tolist(), power.tolist(), strict=True)]
    )
    torch.testing.assert_close(ours.cpu(), expected.to(dtype), equal_nan=True)


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    x = torch.rand(5, device="flagos")
    torch.xlogy(x, 2.0)
    torch.copysign(x, -1.0)
    torch.ldexp(x, torch.arange(5, device="flagos"))
    torch.special.ndtr(x)
    assert torch_fl.fallbacks() == {}
