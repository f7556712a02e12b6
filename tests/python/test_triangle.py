# SPDX-License-Identifier: Apache-2.0
"""Triangles of matrices and reversed dimensions: kernels of our own."""

from __future__ import annotations

import pytest
import torch
from marks import needs_kernels

import torch_fl

pytestmark = needs_kernels
TYPES = [
    torch.bool,
    torch.uint8,
    torch.int16,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
]
BOTH = [torch.tril, torch.triu]


def numbers(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.testing.make_tensor(shape, dtype=dtype, device="cpu", low=1, high=9)


def there(x: torch.Tensor) -> torch.Tensor:
    """The same view of the same memory on the device."""
    base = x if x._base is None else x._base
    return base.to("flagos").as_strided(x.shape, x.stride(), x.storage_offset())


def same(function, x: torch.Tensor) -> None:
    want, have = function(x), function(there(x))
    assert have.device.type == "flagos"
    assert have.stride() == want.stride()
    assert torch.equal(have.cpu(), want)


@pytest.mark.parametrize("keep", BOTH, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_triangles_of_every_type(keep, dtype) -> None:
    x = numbers(dtype, 2, 3, 5, 7)
    for diagonal in (-9, -1, 0, 2, 9):
        same(lambda t, k=diagonal: keep(t, k), x)


@pytest.mark.parametrize("keep", BOTH, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "shape", [(0, 3), (3, 0), (0, 0), (1, 1), (1, 8), (8, 1), (2, 0, 4, 4), (300, 200)]
)
def test_triangles_of_every_shape(keep, shape) -> None:
    x = numbers(torch.float32, *shape)
    for diagonal in range(-3, 4):
        same(lambda t, k=diagonal: keep(t, k), x)


@pytest.mark.parametrize("keep", BOTH, ids=lambda f: f.__name__)
def test_triangles_of_strided_matrices(keep) -> None:
    x = numbers(torch.float32, 4, 6, 10, 12)
    for view in (x.mT, x[:, ::2, 1:7, ::3], x.permute(3, 1, 0, 2), x.transpose(0, 2)):
        same(keep, view)
    same(keep, numbers(torch.float32, 5, 1, 6).expand(5, 6, 6))
    many = numbers(torch.int8, 2, 3, 2, 3, 2, 3, 2, 3)
    same(keep, many.permute(6, 4, 2, 0, 1, 3, 5, 7)[:, :, :, :, :2, :2])


@pytest.mark.parametrize("name", ["tril_", "triu_"])
def test_triangles_in_place(name) -> None:
    x = numbers(torch.float32, 3, 6, 8)
    for view in (x, x.mT, x[:, ::2, 1::3]):
        here, device = view.clone(), there(view)
        getattr(here, name)(1)
        assert getattr(device, name)(1) is device
        assert torch.equal(device.cpu(), here)


def test_triangles_into_a_given_tensor() -> None:
    x = numbers(torch.float64, 4, 5)
    out = torch.empty(5, 4, dtype=torch.float64, device="flagos").t()
    torch.tril(x.to("flagos"), -1, out=out)
    assert torch.equal(out.cpu(), x.tril(-1))
    grown = torch.empty(0, dtype=torch.float64, device="flagos")
    torch.triu(x.to("flagos"), out=grown)
    assert torch.equal(grown.cpu(), x.triu())
    with pytest.raises(RuntimeError, match="dtype"):
        torch.tril(x.to("flagos"), out=torch.empty(4, 5, device="flagos"))
    with pytest.raises(RuntimeError, match="2"):
        torch.tril(torch.ones(3, device="flagos"))


def test_not_a_number_is_left_out() -> None:
    x = torch.full((3, 3), float("nan"))
    assert torch.equal(
        torch.tril(x.to("flagos")).isnan().cpu(), torch.ones(3, 3).tril().bool()
    )


def test_gradients_of_triangles() -> None:
    x = torch.randn(3, 5, 5)
    grads = []
    for device in ("cpu", "flagos"):
        leaf = x.clone().to(device).detach().requires_grad_()
        (leaf.tril(1) * leaf.triu(-1)).sum().backward()
        grads.append(leaf.grad.cpu())
    torch.testing.assert_close(grads[1], grads[0])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_flip_of_every_type(dtype) -> None:
    x = numbers(dtype, 4, 5, 6)
    for dims in ((0,), (1,), (-1,), (0, 2), (0, 1, 2), ()):
        same(lambda t, d=dims: t.flip(d), x)


def test_flip_of_strided_tensors() -> None:
    x = numbers(torch.float32, 2, 3, 4, 6)
    for view in (x.mT, x[:, :, ::2, 1::2], x.to(memory_format=torch.channels_last)):
        for dims in ((0,), (1, 3), (2,), (0, 1, 2, 3)):
            same(lambda t, d=dims: t.flip(d), view)
    same(lambda t: t.flip(0), numbers(torch.float32, 1, 5).expand(4, 5))
    same(lambda t: t.flip(0), torch.empty(0, 3))
    same(lambda t: t.flip(()), torch.tensor(3.0))
    with pytest.raises(IndexError):
        x.to("flagos").flip(4)
    with pytest.raises(RuntimeError, match="appears multiple times"):
        x.to("flagos").flip((1, 1))


def test_flips_that_torch_composes() -> None:
    x = torch.arange(24.0).view(2, 3, 4)
    same(torch.fliplr, x)
    same(torch.flipud, x)
    same(lambda t: torch.rot90(t, 1, (1, 2)), x)


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    x = torch.ones(4, 4, device="flagos")
    x.tril().triu_().flip(0)
    assert torch_fl.fallbacks() == {}
