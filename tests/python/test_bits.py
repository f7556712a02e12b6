# SPDX-License-Identifier: Apache-2.0
"""Bits of integers: kernels of our own."""

from __future__ import annotations

import operator

import pytest
import torch
from marks import needs_kernels

import torch_fl

pytestmark = needs_kernels
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
LOGIC = [operator.and_, operator.or_, operator.xor]
SHIFTS = [operator.lshift, operator.rshift]


def numbers(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    info = torch.iinfo(dtype)
    high = min(info.max, 2**62)
    return torch.randint(max(info.min, -high), high, shape, dtype=dtype)


def same(op, *operands: object) -> None:
    """The device's result equals the CPU's, dtype and strides included."""
    there = [
        x.to("flagos") if isinstance(x, torch.Tensor) and x.dim() else x
        for x in operands
    ]
    want, have = op(*operands), op(*there)
    assert have.device.type == "flagos"
    assert have.dtype == want.dtype
    assert have.stride() == want.stride()
    assert torch.equal(have.cpu(), want)


@pytest.mark.parametrize("op", LOGIC, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool], ids=str)
def test_logic_of_two_tensors(op, dtype) -> None:
    torch.manual_seed(1)
    if dtype == torch.bool:
        a, b = torch.rand(2, 33, 5) > 0.5
    else:
        a, b = numbers(dtype, 33, 5), numbers(dtype, 33, 5)
    same(op, a, b)
    same(op, a, b[:1])
    same(op, a.t(), numbers(torch.int64, 5, 33))
    same(op, a[::3, 1::2], b[::3, ::2][:, :2])


@pytest.mark.parametrize("op", [*LOGIC, *SHIFTS], ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_a_number_on_either_side(op, dtype) -> None:
    torch.manual_seed(2)
    a = numbers(dtype, 1000) % 9
    same(op, a, 3)
    same(op, 5, a)
    same(op, a, torch.tensor(2, dtype=torch.int64))


@pytest.mark.parametrize("op", SHIFTS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shifts_by_every_count(op, dtype) -> None:
    info = torch.iinfo(dtype)
    a = torch.tensor([info.min, info.max, 0, 1, 77, -77 if info.min else 78]).to(dtype)
    for count in (0, 1, info.bits - 2, info.bits - 1, info.bits, info.bits + 5):
        same(op, a, torch.full((6,), count, dtype=dtype))
    if info.min:
        same(op, a, torch.full((6,), -1, dtype=dtype))


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool], ids=str)
def test_not(dtype) -> None:
    a = torch.tensor([0, 1, 1, 0]).to(dtype)
    same(operator.invert, a)
    same(operator.invert, a[::2])


def test_in_place_and_out() -> None:
    a, b = numbers(torch.int32, 8, 9), numbers(torch.int32, 8, 9)
    x, y = a.to("flagos"), b.to("flagos")
    x &= y
    assert torch.equal(x.cpu(), a & b)
    out = torch.empty(9, 8, dtype=torch.int64, device="flagos").t()
    torch.bitwise_xor(x, y, out=out)
    assert torch.equal(out.cpu(), ((a & b) ^ b).long())
    x <<= 3
    assert torch.equal(x.cpu(), (a & b) << 3)


def test_more_dimensions_than_can_be_merged() -> None:
    a = numbers(torch.int16, 2, 3, 2, 3, 2, 3, 2)
    same(operator.or_, a.permute(6, 4, 2, 0, 5, 3, 1), numbers(torch.int16, 3, 3))


def test_large_strided_operands() -> None:
    torch.manual_seed(3)
    a, b = numbers(torch.int32, 1021, 509), numbers(torch.int32, 509, 1021)
    same(operator.xor, a, b.t())


def test_floats_and_bool_shifts_are_refused() -> None:
    x = torch.ones(3, device="flagos")
    with pytest.raises(RuntimeError, match="bitwise_and"):
        torch.bitwise_and(x, x)


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    x = torch.arange(10, device="flagos")
    _ = (x & 3) | (x << 2) ^ ~x
    assert torch_fl.fallbacks() == {}
