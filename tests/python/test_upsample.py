# SPDX-License-Identifier: Apache-2.0
"""Images resized: modes, sizes and scales, layouts, gradients."""

import pytest
import torch
from compare import same, same_gradients
from marks import needs_kernels
from torch.nn import functional as F

pytestmark = needs_kernels

EXTENTS = (5, 7, 6)
MODES = {
    1: ["nearest", "nearest-exact", "linear"],
    2: ["nearest", "nearest-exact", "bilinear", "bicubic"],
    3: ["nearest", "nearest-exact", "trilinear"],
}
CASES = [(rank, mode) for rank, modes in MODES.items() for mode in modes]
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}
# sizes: up, down, mixed, one element, the same, twice
SIZES = [(9, 11, 13), (3, 2, 4), (8, 3, 17), (1, 1, 1), EXTENTS, (10, 14, 12)]
SCALES = [2.0, 0.6, 1.7, (1.3, 0.7, 2.4)]
SMOOTH = ("linear", "bilinear", "bicubic", "trilinear")


def leaf(rank: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    x = torch.randn(2, 3, *EXTENTS[:rank], dtype=torch.float64)
    return x.to(dtype).requires_grad_()


@pytest.mark.parametrize(("rank", "mode"), CASES)
@pytest.mark.parametrize("size", SIZES)
def test_sizes(rank: int, mode: str, size: tuple[int, ...]) -> None:
    same_gradients(lambda x: F.interpolate(x, size[:rank], mode=mode), leaf(rank))
    if mode in SMOOTH:
        same_gradients(
            lambda x: F.interpolate(x, size[:rank], mode=mode, align_corners=True),
            leaf(rank),
        )


@pytest.mark.parametrize(("rank", "mode"), CASES)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("recompute", [True, False])
def test_scales(rank: int, mode: str, scale: object, recompute: bool) -> None:
    factor = scale[:rank] if isinstance(scale, tuple) else scale
    same_gradients(
        lambda x: F.interpolate(
            x, scale_factor=factor, mode=mode, recompute_scale_factor=recompute
        ),
        leaf(rank),
    )


@pytest.mark.parametrize(("rank", "mode"), [c for c in CASES if c[0] > 1])
def test_channels_last(rank: int, mode: str) -> None:
    x = leaf(rank).detach().contiguous(memory_format=LAST[rank]).requires_grad_()
    same_gradients(lambda x: F.interpolate(x, scale_factor=2, mode=mode), x)
    same_gradients(lambda x: F.interpolate(x, scale_factor=0.5, mode=mode), x)
    out = F.interpolate(x.detach().to("flagos"), scale_factor=2, mode=mode)
    assert out.is_contiguous(memory_format=LAST[rank])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(("rank", "mode"), CASES)
def test_dtypes(rank: int, mode: str, dtype: torch.dtype) -> None:
    x = leaf(rank, dtype)
    same(lambda x: F.interpolate(x, scale_factor=1.5, mode=mode), x.detach())
    if dtype == torch.float64:
        same_gradients(lambda x: F.interpolate(x, scale_factor=1.5, mode=mode), x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_narrow_dtypes(dtype: torch.dtype) -> None:
    # against sums of float32, which the CPU's own kernels do not all keep
    x = leaf(2).detach()
    for mode in MODES[2]:
        grads = []
        for moved in (x.to(dtype).float(), x.to(dtype).to("flagos")):
            moved.requires_grad_()
            F.interpolate(moved, scale_factor=3, mode=mode).sum().backward()
            grads.append(moved.grad.cpu().float())
        torch.testing.assert_close(grads[1], grads[0], rtol=2e-2, atol=2e-2)


def test_bytes_are_copied_by_nearest() -> None:
    x = torch.randint(0, 256, (2, 3, 5, 7), dtype=torch.uint8)
    same(lambda x: F.interpolate(x, scale_factor=1.7), x)
    same(lambda x: F.interpolate(x, scale_factor=0.6, mode="nearest-exact"), x)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(
    "size", [(3, 2), (20, 15), (4, 30), (7, 6), (1, 1), (2, 6), (50, 3)]
)
@pytest.mark.parametrize("align", [False, True])
def test_antialias(mode: str, size: tuple[int, int], align: bool) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(x, size, mode=mode, antialias=True, align_corners=align)

    for shape in ((2, 3, 7, 6), (1, 2, 23, 31)):
        same_gradients(run, torch.randn(shape).requires_grad_())
        same_gradients(run, torch.randn(shape).double().requires_grad_())
    last = torch.randn(2, 3, 7, 6).contiguous(memory_format=torch.channels_last)
    same_gradients(run, last.requires_grad_())


@pytest.mark.parametrize("recompute", [True, False])
def test_antialias_with_scales(recompute: bool) -> None:
    for mode in ("bilinear", "bicubic"):
        for scale in (0.3, 0.55, 1.9, (0.4, 1.6)):
            same_gradients(
                lambda x, m=mode, s=scale: F.interpolate(
                    x,
                    scale_factor=s,
                    mode=m,
                    antialias=True,
                    recompute_scale_factor=recompute,
                ),
                torch.randn(1, 2, 17, 21).requires_grad_(),
            )


def test_lanczos() -> None:
    op = getattr(torch.ops.aten, "_upsample_lanczos2d_aa", None)
    if op is None:
        pytest.skip("this torch has no _upsample_lanczos2d_aa")
    for size in ([5, 4], [30, 40], [9, 8]):
        same_gradients(
            lambda x, s=size: op(x, s, False),
            torch.randn(1, 2, 17, 21).requires_grad_(),
        )


@pytest.mark.parametrize(("rank", "mode"), CASES)
def test_second_derivative(rank: int, mode: str) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = F.interpolate(x, scale_factor=2, mode=mode)
        (g,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
        return g

    same_gradients(run, leaf(rank), rtol=1e-4, atol=1e-4)


def test_forms() -> None:
    wide = torch.randn(2, 3, 5, 14).requires_grad_()
    same_gradients(lambda x: F.interpolate(x[..., ::2], scale_factor=2), wide)
    same_gradients(
        lambda x: F.interpolate(x.transpose(2, 3), scale_factor=2, mode="bilinear"),
        wide,
    )
    same(lambda x: F.interpolate(x, (4, 4)), torch.zeros(0, 3, 5, 7))
    up = torch.nn.Upsample(scale_factor=2, mode="bilinear")
    same(lambda x: up(x), wide.detach())

    def into(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.upsample_nearest2d.out(x, [8, 6], out=out)

    same(into, torch.randn(2, 3, 5, 7), torch.zeros(0))
    strided = torch.zeros(2, 3, 8, 12, device="flagos")
    x = torch.randn(2, 3, 5, 7)
    torch.ops.aten.upsample_bilinear2d.out(
        x.to("flagos"), [8, 6], False, out=strided[..., ::2]
    )
    torch.testing.assert_close(
        strided[..., ::2].cpu(), F.interpolate(x, (8, 6), mode="bilinear")
    )


def test_nan_stays_where_it_is_read() -> None:
    x = torch.randn(1, 1, 6, 6)
    x[0, 0, 2, 3] = float("nan")
    x[0, 0, 5, 0] = float("inf")
    same(lambda x: F.interpolate(x, scale_factor=2), x)
    same(lambda x: F.interpolate(x, (9, 11), mode="bilinear"), x)


def test_wrong_sizes_are_refused() -> None:
    x = torch.randn(1, 1, 4, 4, device="flagos")
    with pytest.raises(RuntimeError, match="greater than 0"):
        torch.ops.aten.upsample_nearest2d(x, [0, 4])
    with pytest.raises(RuntimeError, match="equals to 2"):
        torch.ops.aten.upsample_bilinear2d(x, [4], False)
