# SPDX-License-Identifier: Apache-2.0
"""Complex numbers: elementwise, copies and sums on the device."""

from __future__ import annotations

import pytest
import torch
from marks import needs_kernels

import torch_fl

pytestmark = needs_kernels
TYPES = [torch.complex64, torch.complex128]
INF, NAN = float("inf"), float("nan")


def close(have: torch.Tensor, want: torch.Tensor) -> None:
    assert have.device.type == "flagos"
    torch.testing.assert_close(have.cpu(), want, equal_nan=True)


def numbers(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype) * 3


ARITHMETIC = [torch.add, torch.sub, torch.mul, torch.div]


@pytest.mark.parametrize("function", ARITHMETIC, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_arithmetic(function, dtype) -> None:
    x, y = numbers(dtype, 17, 23), numbers(dtype, 17, 23)
    a, b = x.to("flagos"), y.to("flagos")
    close(function(a, b), function(x, y))
    close(function(a.t()[::2], b[:, 3:4].t()), function(x.t()[::2], y[:, 3:4].t()))
    close(function(a.conj(), b), function(x.conj(), y))
    close(function(a, 1.5 - 2j), function(x, 1.5 - 2j))
    close(function(3, a), function(torch.tensor(3), x))
    close(function(a, b.real), function(x, y.real))
    close(function(a.real, b), function(x.real, y))
    close(function(a[:0], b[:0]), function(x[:0], y[:0]))
    other = numbers(TYPES[dtype == TYPES[0]], 17, 23)
    close(function(a, other.to("flagos")), function(x, other))
    out = torch.empty(23, 17, dtype=torch.complex128, device="flagos").t()
    function(a, b, out=out)
    close(out.to(dtype), function(x, y))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_factors_and_in_place(dtype) -> None:
    x, y = numbers(dtype, 40), numbers(dtype, 40)
    close(torch.add(x.to("flagos"), y.to("flagos"), alpha=2 - 1j), x + (2 - 1j) * y)
    close(torch.sub(x.to("flagos"), y.to("flagos"), alpha=3), x - 3 * y)
    there = x.to("flagos")
    there += y.to("flagos")
    there *= 0.5j
    close(there, (x + y) * 0.5j)
    close(there.neg_(), -(x + y) * 0.5j)


def test_infinite_parts_stay_apart() -> None:
    x = torch.tensor([complex(INF, 1), complex(1, -INF), complex(NAN, 0)])
    # The CPU multiplies by alpha, which is 1 + 0j, and has NaN beside infinity.
    want = torch.view_as_complex(torch.view_as_real(x) * 2)
    close(x.to("flagos") + x.to("flagos"), want)


def test_quotients_of_large_and_small_numbers() -> None:
    x = torch.tensor([1e200 + 1e200j, 1e-200 - 1e-200j, 1 + 1j])
    y = torch.tensor([1e200 - 1e200j, 1e-200 + 3e-200j, 1e-300 + 0j])
    x, y = x.to(torch.complex128), y.to(torch.complex128)
    close(x.to("flagos") / y.to("flagos"), x / y)


@pytest.mark.parametrize("name", ["neg", "abs", "angle", "reciprocal", "sgn", "conj"])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_one_operand(name, dtype) -> None:
    function = getattr(torch, name)
    x = numbers(dtype, 19, 6)
    close(function(x.to("flagos")), function(x))
    close(function(x.to("flagos").t()[1:]), function(x.t()[1:]))
    zero = torch.zeros(3, dtype=dtype)
    if name != "reciprocal":
        close(function(zero.to("flagos")), function(zero))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_comparisons(dtype) -> None:
    x = numbers(dtype, 30)
    y = x.clone()
    y[::2] += 1j
    close(x.to("flagos") == y.to("flagos"), x == y)
    close(x.to("flagos") != y.to("flagos"), x != y)
    close(x.to("flagos") == x[0].item(), x == x[0].item())


def test_not_a_number_in_either_part() -> None:
    x = torch.tensor([complex(NAN, 1), complex(1, NAN), 1 + 1j])
    close(x.to("flagos").isnan(), x.isnan())
    close(torch.isclose(x.to("flagos"), x.to("flagos")), torch.isclose(x, x))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_choices(dtype) -> None:
    x, y = numbers(dtype, 6, 5), numbers(dtype, 5)
    kept = torch.rand(6, 5) > 0.5
    a, b, c = x.to("flagos"), y.to("flagos"), kept.to("flagos")
    close(torch.where(c, a, b), torch.where(kept, x, y))
    close(torch.where(c.t(), a.t(), 2 - 1j), torch.where(kept.t(), x.t(), 2 - 1j))
    close(torch.where(c, a.real, b), torch.where(kept, x.real, y))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_sums(dtype) -> None:
    x = numbers(dtype, 5, 6, 7)
    there = x.to("flagos")
    for dims in ((), (0,), (1, 2), (2,), (0, 2)):
        close(there.sum(dims), x.sum(dims))
        close(there.mean(dims, keepdim=True), x.mean(dims, keepdim=True))
    close(there.sum(), x.sum())
    close(there[0, 0, 0].sum(0), x[0, 0, 0].sum(0))
    close(there[0, 0, 0].mean(0, keepdim=True), x[0, 0, 0].mean(0, keepdim=True))
    close(there.permute(2, 0, 1).sum(1), x.permute(2, 0, 1).sum(1))
    close(there[:0].sum(), x[:0].sum())
    close(there.conj().sum(), x.conj().sum())


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_copies_from_and_to_real(dtype) -> None:
    x = numbers(dtype, 8, 5)
    there = x.to("flagos")
    for other in (torch.complex64, torch.complex128):
        close(there.to(other), x.to(other))
        close(there.t().to(other), x.t().to(other))
    for real in (torch.float32, torch.int64, torch.bfloat16):
        close(there.real.to(real).to(dtype), x.real.to(real).to(dtype))
    close(there.conj().clone(), x.conj().clone())
    close(there.imag, x.imag)
    close(there.conj().imag.resolve_neg(), x.conj().imag.resolve_neg())
    close(there.conj().resolve_conj(), x.conj().resolve_conj())
    close(torch.conj_physical(there), torch.conj_physical(x))


@pytest.mark.filterwarnings("ignore:Casting complex")
def test_the_imaginary_part_is_dropped() -> None:
    x = numbers(torch.complex64, 9)
    close(x.to("flagos").to(torch.float32), x.to(torch.float32))
    close(x.to("flagos").to(torch.int32), x.to(torch.int32))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_complex_from_parts(dtype) -> None:
    x, y = torch.rand(7, 3, dtype=dtype) + 0.1, torch.randn(7, 3, dtype=dtype)
    a, b = x.to("flagos"), y.to("flagos")
    close(torch.complex(a, b), torch.complex(x, y))
    close(torch.complex(a.t(), b.t()), torch.complex(x.t(), y.t()))
    close(torch.polar(a, b), torch.polar(x, y))
    with pytest.raises(RuntimeError, match="scalar type"):
        torch.complex(a, b.to(torch.float16))


def test_gradients() -> None:
    x, y = numbers(torch.complex128, 6), numbers(torch.complex128, 6)
    grads = []
    for device in ("cpu", "flagos"):
        a, b = (t.clone().to(device).detach().requires_grad_() for t in (x, y))
        ((a * b.conj() + a / b).abs() + (a - b).angle()).sum().backward()
        grads.append([a.grad.cpu(), b.grad.cpu()])
    torch.testing.assert_close(grads[1], grads[0])


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    x = torch.ones(4, dtype=torch.complex64, device="flagos")
    (x * x.conj() + 1).sum().abs()
    assert torch_fl.fallbacks() == {}
