# SPDX-License-Identifier: Apache-2.0
"""Padding in all modes, images as patches and back, shuffles of pixels."""

import pytest
import torch
from compare import same, same_gradients
from marks import needs_kernels
from torch.nn import functional as F

pytestmark = needs_kernels

EXTENTS = (5, 4, 6)
PADS = {
    1: [(2, 3), (0, 1), (3, 0), (-1, 2), (2, -2), (0, 0), (-1, -1)],
    2: [(2, 3, 1, 2), (3, 0, 0, 2), (-1, 2, 3, -2), (1, 1, 1, 1), (-1, 0, -2, 0)],
    3: [(2, 3, 1, 2, 4, 3), (0, 1, 2, 0, 1, 1), (-1, 2, 3, -1, -2, 4)],
}
CASES = [(rank, pads) for rank, all_pads in PADS.items() for pads in all_pads]
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def leaf(rank: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    # the last extents are the ones that the first pads belong to
    return torch.randn(2, 3, *EXTENTS[-rank:]).to(dtype).requires_grad_()


@pytest.mark.parametrize("mode", ["reflect", "replicate", "constant"])
@pytest.mark.parametrize(("rank", "pads"), CASES)
def test_modes(mode: str, rank: int, pads: tuple[int, ...]) -> None:
    same_gradients(lambda x: F.pad(x, pads, mode=mode), leaf(rank))
    same_gradients(lambda x: F.pad(x[0], pads, mode=mode), leaf(rank))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_circular(rank: int) -> None:
    pads = (2, 1, 3, 2, 1, 4)[: 2 * rank]
    same_gradients(lambda x: F.pad(x, pads, mode="circular"), leaf(rank))
    same_gradients(lambda x: F.pad(x, pads, value=2.5), leaf(rank))


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("rank", [2, 3])
def test_channels_last(mode: str, rank: int) -> None:
    pads = (2, 1, 3, 2, 1, 4)[: 2 * rank]
    x = leaf(rank).detach().contiguous(memory_format=LAST[rank]).requires_grad_()
    same_gradients(lambda x: F.pad(x, pads, mode=mode), x)
    wide = torch.randn(2, 3, *EXTENTS[:rank], 2)[..., 0].requires_grad_()
    same_gradients(lambda x: F.pad(x, pads, mode=mode), wide)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize(
    "dtype",
    [torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.complex128],
)
def test_dtypes(mode: str, dtype: torch.dtype) -> None:
    for rank in (1, 2, 3):
        pads = (2, 1, 3, 2, 1, 4)[: 2 * rank]
        x = leaf(rank).detach().to(dtype)
        if dtype.is_complex:
            x = x * (1 - 2j)
        x.requires_grad_()
        if rank == 3 and not dtype.is_complex and dtype != torch.float64:
            same(lambda x, p=pads: F.pad(x, p, mode=mode), x.detach())
        else:
            limits = {"rtol": 1e-5, "atol": 1e-5} if dtype.is_complex else {}
            same_gradients(lambda x, p=pads: F.pad(x, p, mode=mode), x, **limits)


def test_second_derivative() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = F.pad(x, (2, 1, 1, 2), mode="reflect")
        (g,) = torch.autograd.grad(y.pow(3).sum(), x, create_graph=True)
        return g

    same_gradients(run, leaf(2))


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_out_forms_and_empty(mode: str) -> None:
    op = torch.ops.aten.reflection_pad2d if mode == "reflect" else None
    op = op or torch.ops.aten.replication_pad2d
    x = torch.randn(2, 3, 4, 5)
    same(lambda x, out: op.out(x, [1, 2, 3, 1], out=out), x, torch.zeros(0))
    same(lambda x: F.pad(x, (1, 2, 3, 1), mode=mode), torch.zeros(0, 3, 4, 5))
    strided = torch.zeros(2, 3, 8, 16, device="flagos")[..., ::2]
    op.out(x.to("flagos"), [1, 2, 3, 1], out=strided)
    torch.testing.assert_close(strided.cpu(), F.pad(x, (1, 2, 3, 1), mode=mode))


def test_wrong_pads_are_refused() -> None:
    x = torch.randn(1, 1, 4, 4, device="flagos")
    with pytest.raises(RuntimeError, match="Padding size should be less"):
        F.pad(x, (4, 0, 0, 0), mode="reflect")
    with pytest.raises(RuntimeError, match="Padding size should be less"):
        F.pad(x[0], (4, 0), mode="reflect")
    with pytest.raises(RuntimeError, match="Expected"):
        F.pad(x[:, :0], (1, 1, 1, 1), mode="replicate")


PATCHES = [
    {"kernel_size": 2},
    {"kernel_size": (3, 2), "padding": (1, 2), "stride": (2, 1)},
    {"kernel_size": 3, "dilation": (1, 2), "padding": 2, "stride": 3},
    {"kernel_size": 1},
]


@pytest.mark.parametrize("options", PATCHES)
def test_unfold_and_fold(options: dict[str, object]) -> None:
    x = torch.randn(2, 3, 7, 8).requires_grad_()
    same_gradients(lambda x: F.unfold(x, **options), x)
    same_gradients(lambda x: F.unfold(x[0].transpose(1, 2), **options), x)
    columns = F.unfold(x.detach(), **options).requires_grad_()
    same_gradients(lambda c: F.fold(c, (7, 8), **options), columns)
    same_gradients(lambda c: F.fold(c[1], (7, 8), **options), columns)
    last = x.detach().contiguous(memory_format=torch.channels_last)
    same_gradients(lambda x: F.unfold(x, **options), last.requires_grad_())


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float64, torch.complex64]
)
def test_unfold_dtypes(dtype: torch.dtype) -> None:
    x = torch.randn(1, 2, 5, 6).to(dtype).requires_grad_()
    limits = {"rtol": 1e-5, "atol": 1e-5} if dtype.is_complex else {}
    same_gradients(lambda x: F.unfold(x, 3, padding=1), x, **limits)
    columns = torch.randn(1, 18, 30).to(dtype)
    same(lambda c: F.fold(c, (5, 6), 3, padding=1), columns)


def test_unfold_out_and_empty() -> None:
    op = torch.ops.aten.im2col.out
    x = torch.randn(2, 3, 5, 5)
    same(
        lambda x, out: op(x, [2, 2], [1, 1], [0, 0], [1, 1], out=out),
        x,
        torch.zeros(0),
    )
    same(lambda x: F.unfold(x, 2), torch.zeros(0, 3, 5, 5))
    same(lambda c: F.fold(c, (5, 5), 2), torch.zeros(0, 12, 16))
    with pytest.raises(RuntimeError, match="divisible by the product"):
        F.fold(torch.zeros(1, 5, 16, device="flagos"), (5, 5), 2)
    with pytest.raises(RuntimeError, match="sliding"):
        F.fold(torch.zeros(1, 8, 15, device="flagos"), (5, 5), 2)


def test_shuffles() -> None:
    x = torch.randn(2, 12, 4, 6).requires_grad_()
    same_gradients(lambda x: F.pixel_shuffle(x, 2), x)
    same_gradients(lambda x: F.pixel_unshuffle(x, 2), x)
    same_gradients(lambda x: F.channel_shuffle(x, 3), x)
    last = x.detach().contiguous(memory_format=torch.channels_last)
    same(lambda x: F.channel_shuffle(x, 4), last)
    same(lambda x: F.pixel_shuffle(x, 2), last)
    same(lambda x: F.channel_shuffle(x, 3), torch.zeros(0, 12, 4, 6))
    with pytest.raises(RuntimeError, match="divisible by groups"):
        F.channel_shuffle(x.detach().to("flagos"), 5)
