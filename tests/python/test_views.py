# SPDX-License-Identifier: Apache-2.0
"""Views share memory, as on the CPU; storage and shape changes in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from compare import close, on

if TYPE_CHECKING:
    from collections.abc import Callable

VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "view": lambda x: x.view(6, 4),
    "view inferred": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(4, 6),
    "flatten": lambda x: x.flatten(1),
    "t": lambda x: x[0].t(),
    "transpose": lambda x: x.transpose(0, 2),
    "permute": lambda x: x.permute(2, 0, 1),
    "select": lambda x: x.select(1, 2),
    "index": lambda x: x[1, 2],
    "slice": lambda x: x[:, 1:3, ::2],
    "narrow": lambda x: x.narrow(2, 1, 2),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "expand": lambda x: x[:, :1].expand(2, 5, 4),
    "as_strided": lambda x: x.as_strided((3, 2), (4, 1), 2),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "diagonal": lambda x: x.diagonal(0, 0, 1),
    "split": lambda x: x.split(2, 2)[1],
    "chunk": lambda x: x.chunk(2, 1)[0],
    "unbind": lambda x: x.unbind(0)[1],
    "movedim": lambda x: x.movedim(0, 2),
    "detach": lambda x: x.detach(),
    "alias": lambda x: torch.ops.aten.alias(x),
    "view dtype": lambda x: x.view(torch.int32),
    "view wider dtype": lambda x: x.view(torch.float64),
    "view narrower dtype": lambda x: x.view(torch.int16),
    "real of complex": lambda x: x.view(torch.complex64).real,
    "as real": lambda x: torch.view_as_real(torch.view_as_complex(x.view(2, 3, 2, 2))),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "hsplit": lambda x: x.hsplit(3)[2],
    "view_as": lambda x: x.view_as(x),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    x = torch.arange(24, dtype=torch.float32).view(2, 3, 4)
    X = x.to("flagos")
    ours, reference = VIEWS[name](X), VIEWS[name](x)
    assert ours.shape == reference.shape
    assert ours.stride() == reference.stride()
    assert ours.storage_offset() == reference.storage_offset()
    assert ours.untyped_storage().data_ptr() == X.untyped_storage().data_ptr()
    assert torch.equal(ours.cpu(), reference)


@pytest.mark.parametrize(
    "name", [n for n in VIEWS if "dtype" not in n and n != "expand"]
)
def test_writing_through_a_view(name: str) -> None:
    if name in ("unfold", "as real", "real of complex"):
        pytest.skip("overlapping or complex: covered by test_views")
    x = torch.arange(24, dtype=torch.float32).view(2, 3, 4)
    X = x.to("flagos")
    VIEWS[name](X).fill_(-1)
    VIEWS[name](x).fill_(-1)
    assert torch.equal(X.cpu(), x)
    VIEWS[name](X).add_(3)
    VIEWS[name](x).add_(3)
    assert torch.equal(X.cpu(), x)


def test_view_errors() -> None:
    X = torch.zeros(2, 3, 4, device="flagos")
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        X.transpose(0, 2).view(-1)
    with pytest.raises(RuntimeError, match="is invalid for input of size"):
        X.view(5)
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        X.as_strided((100,), (1,))
    with pytest.raises(RuntimeError, match="maximum size for tensor"):
        X.unfold(2, 9, 1)


def test_gradients_through_views() -> None:
    for f in (
        lambda x: x.view(6, 4).t() * 2,
        lambda x: x[:, 1:] * x[:, :1],
        lambda x: x.unsqueeze(0).expand(2, 2, 3, 4) * 3,
        lambda x: x.permute(2, 0, 1)[1:] * 2,
    ):
        x = torch.randn(2, 3, 4)
        grads = []
        for device in ("cpu", "flagos"):
            leaf = on(device, x).requires_grad_()
            f(leaf).sum().backward()
            grads.append(leaf.grad)
        close(grads[1], grads[0])


def test_resize() -> None:
    x = torch.arange(6.0, device="flagos")
    x.resize_(2, 3)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    pointer = x.data_ptr()
    x.resize_(2, 2)
    assert x.tolist() == [[0, 1], [2, 3]]
    assert x.data_ptr() == pointer
    x.resize_(4, 5)
    assert x.view(-1)[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert x.untyped_storage().nbytes() >= 80
    y = torch.empty(0, device="flagos")
    y.resize_(2, 3, 4, 5, memory_format=torch.channels_last)
    assert y.stride() == (60, 1, 15, 3)
    y.resize_as_(x)
    assert y.shape == x.shape
    z = torch.arange(4.0, device="flagos")[2:]
    z.resize_(3)
    assert z[:2].tolist() == [2, 3]
    x.resize_(0)
    assert x.numel() == 0


def test_set() -> None:
    x = torch.arange(6.0, device="flagos")
    y = torch.empty(0, device="flagos")
    y.set_(x)
    assert y.data_ptr() == x.data_ptr()
    assert y.tolist() == x.tolist()
    assert y.is_set_to(x)
    y.set_(x.untyped_storage(), 2, (2, 2), (2, 1))
    assert y.tolist() == [[2, 3], [4, 5]]
    assert not y.is_set_to(x)
    y.set_(x.untyped_storage())
    assert y.shape == (6,)
    y.set_()
    assert y.numel() == 0
    assert y.device.type == "flagos"
    with pytest.raises(RuntimeError):
        y.set_(torch.arange(3.0))
    with pytest.raises(RuntimeError):
        y.set_(torch.arange(3, device="flagos"))
    y.data = x
    assert y.data_ptr() == x.data_ptr()


def test_empty_forms() -> None:
    for dtype in (
        torch.float32,
        torch.float16,
        torch.int64,
        torch.bool,
        torch.complex64,
    ):
        x = torch.empty(2, 3, dtype=dtype, device="flagos")
        assert (x.shape, x.dtype, x.device.type) == ((2, 3), dtype, "flagos")
    x = torch.empty(2, 3, 4, 5, device="flagos", memory_format=torch.channels_last)
    assert x.is_contiguous(memory_format=torch.channels_last)
    assert torch.empty_strided((2, 3), (1, 2), device="flagos").stride() == (1, 2)
    assert torch.empty_permuted((2, 3), (1, 0), device="flagos").stride() == (1, 2)
    assert torch.empty(0, 3, device="flagos").shape == (0, 3)
    assert torch.empty((), device="flagos").dim() == 0
    assert torch.empty_like(x, dtype=torch.int8).dtype == torch.int8
    assert x.new_zeros(3).device == x.device
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(-1, device="flagos")
    with pytest.raises(RuntimeError, match="pinned"):
        torch.empty(2, device="flagos", pin_memory=True)
    with pytest.raises(RuntimeError):
        torch.empty(2, device="flagos:9")


def test_default_dtype_and_device() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.empty(2, device="flagos").dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.device("flagos"):
        assert torch.zeros(2).device.type == "flagos"


def test_deterministic_fill() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(4, device="flagos").isnan().all()
        assert torch.empty(4, device="flagos", dtype=torch.int64).eq(2**63 - 1).all()
        x = torch.zeros(2, device="flagos")
        x.resize_(4)
        assert x[2:].isnan().all()
        assert x[:2].eq(0).all()
    finally:
        torch.use_deterministic_algorithms(False)


def test_forward_mode_zeros() -> None:
    import torch.autograd.forward_ad as fwad

    with fwad.dual_level():
        x = fwad.make_dual(
            torch.ones(3, device="flagos"), torch.ones(3, device="flagos")
        )
        y = x * torch.full((3,), 2.0, device="flagos")
        assert fwad.unpack_dual(y).tangent.tolist() == [2, 2, 2]
    zero = torch._efficientzerotensor((2, 3), device="flagos")
    assert zero._is_zerotensor()
    assert zero.device.type == "flagos"
