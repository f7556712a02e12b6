# SPDX-License-Identifier: Apache-2.0
"""Images sampled at the points of a grid: modes, paddings, gradients."""

import pytest
import torch
from compare import same, same_gradients
from torch.nn import functional as F

import torch_fl

pytestmark = pytest.mark.skipif(
    torch_fl.info()["device kernels"] != "ON", reason="built without device kernels"
)

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
def test_modes_and_the_gradient_of_points(
    rank: int, mode: str, padding: str, align: bool, dtype: torch.dtype
) -> None:
    image, points = operands(rank, dtype)
    tolerance = {"rtol": 2e-4, "atol": 2e-4} if dtype == torch.float32 else {}
    same_gradients(
        lambda x, p: F.grid_sample(x, p, mode, padding, align),
        image.detach(),
        points.requires_grad_(),
        **tolerance,
    )


@pytest.mark.parametrize(("rank", "mode"), CASES)
def test_layouts(rank: int, mode: str) -> None:
    image, points = operands(rank)
    last = image.detach().contiguous(memory_format=LAST[rank])
    strided = points.movedim(-1, 1).contiguous().movedim(1, -1).requires_grad_()
    same_gradients(
        lambda x, p: F.grid_sample(x, p, mode, align_corners=False),
        last,
        strided,
        rtol=2e-4,
        atol=2e-4,
    )
    wide = torch.randn(2, 3, *(4, 5, 12)[-rank:])
    same_gradients(
        lambda x, p: F.grid_sample(x[..., ::2], p, mode, align_corners=True),
        wide,
        points.requires_grad_(),
        rtol=2e-4,
        atol=2e-4,
    )


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
