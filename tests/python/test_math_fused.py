# SPDX-License-Identifier: Apache-2.0
"""Functions that one kernel of ours computes where muDNN takes several calls."""

from __future__ import annotations

import pytest
import torch
from marks import needs_kernels

import torch_fl

pytestmark = needs_kernels
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def close(have: torch.Tensor, want: torch.Tensor) -> None:
    assert have.device.type == "flagos"
    torch.testing.assert_close(have.cpu(), want, equal_nan=True)


def three(dtype: torch.dtype) -> list[torch.Tensor]:
    return [(torch.rand(9, 14, dtype=torch.float64) + 0.2).to(dtype) for _ in range(3)]


def exact(function, *operands: torch.Tensor, **options) -> torch.Tensor:
    """From doubles: the CPU rounds 16-bit types between its steps."""
    want = function(*(x.double() for x in operands), **options)
    return want.to(operands[0].dtype)


@pytest.mark.parametrize("function", [torch.addcmul, torch.addcdiv])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_products_and_quotients_are_added(function, dtype) -> None:
    x, y, z = three(dtype)
    a, b, c = (t.to("flagos") for t in (x, y, z))
    close(function(a, b, c, value=-0.5), exact(function, x, y, z, value=-0.5))
    close(function(a, b[:1], c[:, :1]), exact(function, x, y[:1], z[:, :1]))
    close(function(a.t(), b.t(), c.t()), exact(function, x.t(), y.t(), z.t()))
    if function is torch.addcmul:
        number = torch.tensor(1.5, dtype=torch.float64)
        close(function(a, b, number), exact(function, x, y, number))
    there = a.clone()
    getattr(there, function.__name__ + "_")(there, c, value=2)
    close(there, exact(function, x, x, z, value=2))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_products_are_added(dtype) -> None:
    x, y, z = (torch.randint(0, 5, (40,), dtype=dtype) for _ in range(3))
    have = torch.addcmul(x.to("flagos"), y.to("flagos"), z.to("flagos"), value=3)
    close(have, torch.addcmul(x, y, z, value=3))


def test_integer_products_beyond_doubles() -> None:
    x = torch.tensor([2**62, 1])
    y = torch.tensor([2**31 + 1, -(2**31) - 1])
    have = torch.addcmul(x.to("flagos"), y.to("flagos"), y.to("flagos"), value=1)
    close(have, torch.addcmul(x, y, y))


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 0.8, 1.0, -1.5, 2.0])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_lerp(weight, dtype) -> None:
    x, y, z = three(dtype)
    a, b = x.to("flagos"), y.to("flagos")
    close(torch.lerp(a, b, weight), exact(torch.lerp, x, y, weight=weight))
    close(a.t().lerp(b.t(), weight), exact(torch.lerp, x.t(), y.t(), weight=weight))
    weights = (z * weight).to("flagos")
    close(torch.lerp(a, b, weights), exact(torch.lerp, x, y, z * weight))
    close(torch.lerp(a, b[0], weights), exact(torch.lerp, x, y[0], z * weight))
    there = a.clone()
    close(there.lerp_(b, weight), exact(torch.lerp, x, y, weight=weight))
    if weight == 1:
        assert torch.equal(torch.lerp(a, b, 1.0), b)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_expm1_keeps_digits(dtype) -> None:
    x = torch.cat([torch.linspace(-9, 9, 99), torch.logspace(-30, 0, 60)]).to(dtype)
    close(torch.expm1(x.to("flagos")), exact(torch.expm1, x))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_powers(dtype) -> None:
    base = torch.arange(0, 12).to(dtype)
    if dtype.is_signed:
        base = base - 6
    for exponent in range(8):
        close(base.to("flagos") ** exponent, base**exponent)
    exponents = torch.arange(12).to(dtype)
    close(torch.pow(base.to("flagos"), exponents.to("flagos")), base.pow(exponents))
    close(torch.pow(3, exponents.to("flagos")), torch.pow(3, exponents))
    if dtype.is_signed:
        exponents = -exponents
        base[base == 0] = 2
        have = torch.pow(base.to("flagos"), exponents.to("flagos"))
        close(have, base.pow(exponents))


def test_integer_powers_beyond_doubles() -> None:
    base = torch.tensor([3, -3, 2, 7])
    close(base.to("flagos") ** 39, base**39)


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    x = torch.arange(5, device="flagos")
    torch.pow(x, x)
    torch.lerp(x.float(), x.float(), x.float())
    assert torch_fl.fallbacks() == {}
