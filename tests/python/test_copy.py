# SPDX-License-Identifier: Apache-2.0
"""Copies: strides, dtypes, host and devices, pinned and pageable memory, bits."""

from __future__ import annotations

import itertools

import pytest
import torch
from compare import close, same
from test_ops_elementwise import FLOATS, INTEGERS, LAYOUTS, layouts, values

COMPLEX = [torch.complex64, torch.complex128]
PLAIN = [*FLOATS, *INTEGERS, torch.bool]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", PLAIN, ids=str)
def test_there_and_back(dtype: torch.dtype, layout: str) -> None:
    x = layouts(dtype)[layout]
    X = x.to("flagos")
    assert torch.equal(X.cpu(), x)
    close(X.clone(), x)
    close(X.contiguous(), x)
    assert X.contiguous().is_contiguous()
    host = torch.empty_like(x).copy_(X)
    assert torch.equal(host, x)


@pytest.mark.parametrize("where", ["up", "down", "within"])
@pytest.mark.parametrize("pair", itertools.product(PLAIN, PLAIN), ids=str)
def test_every_conversion(pair: tuple[torch.dtype, torch.dtype], where: str) -> None:
    source, target = pair
    x = values((4, 6), source)
    if source.is_floating_point and not target.is_floating_point:
        x = x.abs()  # negative to unsigned is undefined
    for view in (x, x.t(), x[:, ::2], x[:1].expand(4, 6)):
        expected = view.to(target)
        if where == "up":
            ours = torch.empty(view.shape, dtype=target, device="flagos").copy_(view)
        elif where == "down":
            ours = torch.empty(view.shape, dtype=target).copy_(view.to("flagos"))
            assert torch.equal(ours, expected)
            continue
        else:
            ours = view.to("flagos").to(target)
        assert torch.equal(ours.cpu(), expected)


@pytest.mark.parametrize("dtype", [*PLAIN, *COMPLEX], ids=str)
def test_into_any_strides(dtype: torch.dtype) -> None:
    x = values((4, 6), torch.float32).to(dtype)
    X = x.to("flagos")
    for make in (
        lambda d: torch.zeros(6, 4, dtype=dtype, device=d).t(),
        lambda d: torch.zeros(4, 12, dtype=dtype, device=d)[:, ::2],
        lambda d: torch.zeros(8, 6, dtype=dtype, device=d)[::2],
        lambda d: torch.zeros(9, 6, dtype=dtype, device=d)[5:],
    ):
        for source in (x, X, x.t().contiguous().t(), X.t().contiguous().t()):
            ours, reference = make("flagos"), make("cpu").copy_(x)
            ours.copy_(source)
            assert torch.equal(ours.cpu(), reference)
            host = make("cpu")
            host.copy_(X)
            assert torch.equal(host, reference)


def test_copy_writes_nothing_beside_its_elements() -> None:
    base = torch.zeros(4, 12, device="flagos")
    base[:, ::2].copy_(torch.ones(4, 6))
    expected = torch.zeros(4, 12)
    expected[:, ::2] = 1
    assert torch.equal(base.cpu(), expected)
    base[1:3].copy_(torch.full((2, 12), 7.0, dtype=torch.float64))
    expected[1:3] = 7
    assert torch.equal(base.cpu(), expected)


def test_copy_broadcasts() -> None:
    x = torch.randn(1, 4)
    X = torch.empty(3, 4, device="flagos").copy_(x)
    assert torch.equal(X.cpu(), x.expand(3, 4))
    assert torch.equal(X.clone().copy_(x.to("flagos").double()).cpu(), x.expand(3, 4))
    assert torch.equal(torch.empty(3, 4).copy_(x.to("flagos")), x.expand(3, 4))
    with pytest.raises(RuntimeError):
        X.copy_(torch.ones(5))


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex(dtype: torch.dtype) -> None:
    x = torch.randn(3, 4, dtype=dtype)
    X = x.to("flagos")
    assert torch.equal(X.cpu(), x)
    assert torch.equal(X.t().contiguous().cpu(), x.t().contiguous())
    assert torch.equal(X.conj().cpu(), x.conj().resolve_conj())
    assert torch.equal(X.conj().clone().cpu(), x.conj().clone())
    assert torch.equal(X.conj().resolve_conj().cpu(), x.conj().resolve_conj())
    assert torch.equal(X.imag.cpu(), x.imag)
    assert torch.equal(X.conj().imag.cpu(), x.conj().imag)
    assert torch.equal(X.conj().imag.clone().cpu(), x.conj().imag.clone())
    other = COMPLEX[1] if dtype == COMPLEX[0] else COMPLEX[0]
    assert torch.equal(X.to(other).cpu(), x.to(other))
    real = torch.randn(3, 4)
    assert torch.equal(real.to("flagos").to(dtype).cpu(), real.to(dtype))
    into = torch.zeros(3, 4, dtype=dtype, device="flagos")
    into.conj().copy_(X)
    reference = torch.zeros(3, 4, dtype=dtype)
    reference.conj().copy_(x)
    assert torch.equal(into.cpu(), reference)
    into.conj().copy_(x)
    assert torch.equal(into.cpu(), reference)
    host = torch.zeros(3, 4, dtype=dtype)
    host.conj().copy_(X)
    assert torch.equal(host, reference)


@pytest.mark.parametrize(
    "dtype",
    [torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32, torch.uint64],
    ids=str,
)
def test_types_without_arithmetic_still_move(dtype: torch.dtype) -> None:
    x = torch.arange(12).to(torch.float32).view(3, 4).to(dtype)
    X = x.to("flagos")
    back = X.t().contiguous().cpu()
    assert torch.equal(back.view(torch.uint8), x.t().contiguous().view(torch.uint8))


def test_other_conversions_are_counted() -> None:
    import torch_fl

    x = torch.arange(4, device="flagos", dtype=torch.float32)
    with pytest.raises(RuntimeError, match="FLAGOS_STRICT=1 forbids the CPU fallback"):
        x.to(torch.float8_e5m2)
    torch_fl.set_strict(False)
    try:
        torch_fl.reset_fallbacks()
        y = x.to(torch.float8_e5m2)
        assert torch_fl.fallbacks() == {"aten::_copy_from": 1}
    finally:
        torch_fl.set_strict(True)
    expected = x.cpu().to(torch.float8_e5m2)
    assert torch.equal(y.cpu().view(torch.uint8), expected.view(torch.uint8))


def test_overlap_is_refused() -> None:
    x = torch.arange(10, device="flagos")
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:].copy_(x[:-1])
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.ones(1, device="flagos").expand(4).copy_(torch.ones(4, device="flagos"))
    x.copy_(x)
    assert x.tolist() == list(range(10))


def test_pinned_memory() -> None:
    x = torch.randn(1000, 100).pin_memory()
    X = x.to("flagos", non_blocking=True)
    back = torch.empty_like(x).pin_memory()
    back.copy_(X, non_blocking=True)
    torch.flagos.synchronize()
    assert torch.equal(back, x)
    # Pinned memory given back while its copy is queued is not handed out again.
    expected = []
    moved = []
    for i in range(20):
        block = torch.full((1 << 16,), float(i)).pin_memory()
        moved.append(block.to("flagos", non_blocking=True))
        expected.append(float(i))
        del block
    assert [m[0].item() for m in moved] == expected
    assert [m[-1].item() for m in moved] == expected


def test_pageable_memory_may_change_right_after_the_call() -> None:
    for non_blocking in (False, True):
        x = torch.zeros(1 << 18)
        kept = []
        for i in range(8):
            x.fill_(i)
            kept.append(x.to("flagos", non_blocking=non_blocking))
        for i, y in enumerate(kept):
            assert y.min().item() == i
            assert y.max().item() == i
    pinned = torch.zeros(1 << 18).pin_memory()
    kept = []
    for i in range(8):
        pinned.fill_(i)
        kept.append(pinned.to("flagos"))
    assert [y.sum().item() for y in kept] == [i * (1 << 18) for i in range(8)]


def test_reading_back_waits() -> None:
    x = torch.ones(512, 512, device="flagos")
    for _ in range(8):
        x = x + 1
    assert x.cpu().eq(9).all()
    # Memory that is not pinned is complete when the call returns...
    host = torch.empty(512, 512)
    assert host.copy_(x + 1, non_blocking=True).eq(10).all()
    # ...what torch pins for a non-blocking read is complete after a wait.
    pinned = x.to("cpu", non_blocking=True)
    torch.flagos.synchronize()
    assert pinned.eq(9).all()


def test_between_devices(two_devices: None) -> None:
    x = torch.randn(64, 64)
    a = x.to("flagos:0")
    b = a.to("flagos:1")
    assert b.device.index == 1
    assert torch.equal(b.cpu(), x)
    assert torch.equal(a.t().to("flagos:1").cpu(), x.t())
    assert torch.equal(a.to("flagos:1", torch.float64).cpu(), x.double())
    into = torch.zeros(64, 128, device="flagos:1")[:, ::2]
    into.copy_(a)
    assert torch.equal(into.cpu(), x)
    into.copy_(a.half())
    assert torch.equal(into.cpu(), x.half().float())
    for i in range(50):
        a.fill_(i)
        b.copy_(a)
        a.fill_(-1)
        assert b.sum().item() == i * 64 * 64


@pytest.mark.parametrize("dtype", [*PLAIN, *COMPLEX], ids=str)
def test_reading_one_value(dtype: torch.dtype) -> None:
    x = values((3,), torch.float32).to(dtype)
    X = x.to("flagos")
    assert [v.item() for v in X] == [v.item() for v in x]
    assert X.tolist() == x.tolist()
    with pytest.raises(RuntimeError):
        X.item()


def test_channels_last() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    X = x.to("flagos")
    assert X.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(X.cpu(), x)
    same(
        lambda t: t.contiguous(memory_format=torch.channels_last),
        torch.randn(2, 3, 4, 5),
    )
    assert X.clone().stride() == x.stride()
    assert torch.empty_like(X).stride() == x.stride()


def test_many_dimensions() -> None:
    x = torch.randn([2] * 12)
    X = x.to("flagos")
    assert torch.equal(X.cpu(), x)
    assert torch.equal(X.transpose(0, 11).contiguous().cpu(), x.transpose(0, 11))


def test_unsupported_devices_are_named() -> None:
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.ones(3, device="flagos").copy_(torch.ones(3, device="meta"))
