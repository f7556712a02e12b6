# SPDX-License-Identifier: Apache-2.0
"""Sequences and indices of triangles: kernels of our own."""

from __future__ import annotations

import pytest
import torch
from marks import needs_kernels

import torch_fl

pytestmark = needs_kernels
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


@pytest.mark.parametrize("steps", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_linspace_of_floats(dtype, steps) -> None:
    for start, end in ((0, 1), (-3.5, 2.25), (5, -5)):
        have = torch.linspace(start, end, steps, dtype=dtype, device="flagos")
        want = torch.linspace(start, end, steps, dtype=torch.float64).to(dtype)
        torch.testing.assert_close(have.cpu(), want)
        if steps > 1:  # both ends are exact
            assert have[0].item() == start
            assert have[-1].item() == end


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_linspace_of_integers_truncates(dtype) -> None:
    have = torch.linspace(1.9, 99.9, 34, dtype=dtype, device="flagos")
    assert torch.equal(have.cpu(), torch.linspace(1.9, 99.9, 34, dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_logspace(dtype) -> None:
    have = torch.logspace(-2, 2, 9, base=2.0, dtype=dtype, device="flagos")
    want = torch.logspace(-2, 2, 9, base=2.0, dtype=torch.float64).to(dtype)
    torch.testing.assert_close(have.cpu(), want)


def test_out_is_resized_and_may_be_strided() -> None:
    out = torch.empty(3, device="flagos")
    torch.linspace(0, 1, 5, out=out)
    assert out.shape == (5,)
    column = torch.zeros(5, 2, device="flagos")[:, 0]
    torch.linspace(0, 1, 5, out=column)
    assert torch.equal(column.cpu(), torch.linspace(0, 1, 5))


def test_negative_steps_are_refused() -> None:
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.linspace(0, 1, -1, device="flagos")


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_triangles_of_every_shape_and_offset(name, dtype) -> None:
    make = getattr(torch, name)
    for rows in (0, 1, 3, 7):
        for columns in (0, 1, 4, 6):
            for offset in range(-8, 9):
                have = make(rows, columns, offset, dtype=dtype, device="flagos")
                want = make(rows, columns, offset, dtype=dtype)
                assert have.dtype == dtype
                assert torch.equal(have.cpu(), want), (rows, columns, offset)


def test_a_large_triangle() -> None:
    have = torch.tril_indices(2000, 1500, 3, device="flagos")
    assert torch.equal(have.cpu(), torch.tril_indices(2000, 1500, 3))


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize("dtype", [*FLOATS[:2], *INTEGERS], ids=str)
def test_range_holds_both_ends(dtype) -> None:
    for start, end, step in ((0, 6, 2), (1, 8, 3), (5, 5, 1), (9, 2, -2)):
        if dtype == torch.uint8 and step < 0:
            continue
        have = torch.range(start, end, step, dtype=dtype, device="flagos")
        want = torch.range(start, end, step, dtype=dtype)
        torch.testing.assert_close(have.cpu(), want)
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        torch.range(1, 2, 0, device="flagos")
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        torch.range(3, 1, device="flagos")


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    torch.linspace(0, 1, 5, device="flagos")
    torch.logspace(0, 1, 5, device="flagos")
    torch.triu_indices(4, 4, device="flagos")
    assert torch_fl.fallbacks() == {}
