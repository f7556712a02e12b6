# SPDX-License-Identifier: Apache-2.0
"""Images sampled at the points of a grid: modes, paddings, both gradients."""

import pytest
import torch
from compare import same, same_gradients
from marks import needs_kernels
from torch.nn import functional as F

pytestmark = needs_kernels

PADDINGS = ["zeros", "border", "reflection"]
MODES = {2: ["bilinear", "nearest", "bicubic"], 3: ["bilinear", "nearest"]}
CASES = [(rank, mode) for rank, modes in MODES.items() for mode in modes]
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def operands(
    rank: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor]:
    """An image, and points within it and well outside of it."""
    image = torch.randn(2, 3, *(4, 5, 6)[-rank:], dtype=torch.float64)
    points = torch.rand(2, *(3, 7, 4)[-rank:], rank, dtype=torch.float64)
    return image.to(dtype).requires_grad_(), (points * 5 - 2.5).to(dtype)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize(("rank", "mode"), CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_modes_and_gradients(
    rank: int, mode: str, padding: str, align: bool, dtype: torch.dtype
) -> None:
    image, points = operands(rank, dtype)
    tolerance = {"rtol": 2e-4, "atol": 2e-4} if dtype == torch.float32 else {}
    same_gradients(
        lambda x, p: F.grid_sample(x, p, mode, padding, align),
        image,
        points.requires_grad_(),
        **tolerance,
    )


@pytest.mark.parametrize("wanted", [0, 1])
def test_only_the_gradient_asked_for(wanted: int) -> None:
    image, points = operands(2)
    same_gradients(
        lambda x, p: F.grid_sample(x, p, align_corners=False),
        image.detach().requires_grad_(wanted == 0),
        points.requires_grad_(wanted == 1),
        rtol=2e-4,
        atol=2e-4,
    )


@pytest.mark.parametrize(("rank", "mode"), CASES)
def test_layouts(rank: int, mode: str) -> None:
    image, points = operands(rank)
    last = image.detach().contiguous(memory_format=LAST[rank]).requires_grad_()
    strided = points.movedim(-1, 1).contiguous().movedim(1, -1).requires_grad_()
    same_gradients(
        lambda x, p: F.grid_sample(x, p, mode, align_corners=False),
        last,
        strided,
        rtol=2e-4,
        atol=2e-4,
    )
    wide = torch.randn(2, 3, *(4, 5, 12)[-rank:]).requires_grad_()
    same_gradients(
        lambda x, p: F.grid_sample(x[..., ::2], p, mode, align_corners=True),
        wide,
        points,
        rtol=2e-4,
        atol=2e-4,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_narrow_dtypes(dtype: torch.dtype, mode: str) -> None:
    image, points = operands(2, dtype)
    results = []
    for x, p in (
        (image.detach().float(), points.float()),
        (image.detach().to("flagos"), points.to("flagos")),
    ):
        x.requires_grad_()
        p.requires_grad_()
        out = F.grid_sample(x, p, mode, align_corners=False)
        out.sum().backward()
        results.append([t.detach().cpu().float() for t in (out, x.grad, p.grad)])
    for ours, reference in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(ours, reference, rtol=2e-2, atol=3e-2)


def test_affine_grid_turns_an_image() -> None:
    theta = torch.tensor([[[0.6, -0.8, 0.1], [0.8, 0.6, -0.2]]]).requires_grad_()

    def run(x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        grid = F.affine_grid(theta, [1, 3, 8, 9], align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    same_gradients(
        run, torch.randn(1, 3, 7, 6).requires_grad_(), theta, rtol=2e-4, atol=2e-4
    )


def test_many_points_on_one_pixel_and_repeats() -> None:
    x = torch.randn(1, 2, 3, 3, device="flagos", requires_grad=True)
    points = torch.rand(1, 200, 50, 2, device="flagos") - 0.5
    grads = []
    for _ in range(2):
        x.grad = None
        F.grid_sample(x, points, align_corners=False).pow(2).sum().backward()
        grads.append(x.grad.cpu())
    assert torch.equal(*grads)
    y = x.detach().cpu().double().requires_grad_()
    F.grid_sample(y, points.cpu().double(), align_corners=False).pow(2).sum().backward()
    torch.testing.assert_close(grads[0].double(), y.grad, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("padding", PADDINGS)
def test_points_that_are_no_numbers_or_far_away(padding: str) -> None:
    image = torch.randn(1, 2, 5, 6)
    points = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e10, -1e10, 0.3])
    points = torch.cartesian_prod(points, points).view(1, 6, 6, 2)

    def run(x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, p, "bilinear", padding, False)

    if padding == "reflection":  # infinities have no reflection
        points = points.nan_to_num(0.5, 3.0, -3.0).clamp(-9, 9)
    if padding == "zeros":
        # As torch.cuda: a point that is nowhere is outside. The CPU has NaN there.
        ours = run(image.to("flagos"), points.to("flagos")).cpu()
        nowhere = ~points.isfinite().all(-1)
        assert (ours[0, :, nowhere[0]] == 0).all()
        points = points.nan_to_num(2e10, 2e10, -2e10)
    same(run, image, points)


def test_no_elements_and_wrong_operands() -> None:
    def run(x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, p, align_corners=False)

    same(run, torch.zeros(0, 3, 4, 4), torch.zeros(0, 2, 2, 2))
    args = torch.zeros(2, 0, 4, 4), torch.rand(2, 3, 3, 2).requires_grad_()
    same_gradients(run, *args)
    x = torch.randn(1, 1, 4, 4, device="flagos")
    with pytest.raises(RuntimeError, match="same batch size"):
        run(x, torch.zeros(2, 3, 3, 2, device="flagos"))
    with pytest.raises(RuntimeError, match="last dimension"):
        run(x, torch.zeros(1, 3, 3, 3, device="flagos"))
    with pytest.raises(RuntimeError, match="bicubic"):
        F.grid_sample(
            x[None],
            torch.zeros(1, 2, 2, 2, 3, device="flagos"),
            "bicubic",
            align_corners=False,
        )
