# SPDX-License-Identifier: Apache-2.0
"""Images of more than 2^31 elements, where there is memory for them."""

import pytest
import torch
from marks import needs_kernels
from torch.nn import functional as F

import torch_fl

pytestmark = needs_kernels
SIDES = [
    200,
    pytest.param(
        23200,
        marks=pytest.mark.skipif(
            torch_fl.info()["engine"] == "cpu", reason="takes minutes on the host"
        ),
    ),
]


def board(side: int) -> torch.Tensor:
    """A square image of bytes in which neighbours differ."""
    at = torch.arange(side, device="flagos")
    return (
        (at[:, None] * 7 + at[None, :] * 3).remainder(251).to(torch.uint8)[None, None]
    )


def places(side: int) -> torch.Tensor:
    """The corners, the middle and some others."""
    some = [0, 1, side // 3, side // 2, side - 2, side - 1]
    return torch.cartesian_prod(torch.tensor(some), torch.tensor(some))


def values(image: torch.Tensor, at: torch.Tensor) -> list[int]:
    return [int(image[0, 0, int(y), int(x)]) for y, x in at]


@pytest.mark.parametrize("side", SIDES)
def test_nearest(side: int) -> None:
    x = board(side)
    out = F.interpolate(x, scale_factor=2)
    at = places(2 * side)
    assert values(out, at) == values(x, at // 2)


@pytest.mark.parametrize("side", SIDES)
def test_padding(side: int) -> None:
    x = F.interpolate(board(side), scale_factor=2)
    out = F.pad(x, (5, 3, 2, 4), mode="replicate")
    at = places(2 * side)
    assert values(out, at + torch.tensor([2, 5])) == values(x, at)
    assert int(out[0, 0, -1, -1]) == int(x[0, 0, -1, -1])


@pytest.mark.parametrize("side", SIDES)
def test_maxima_of_a_wide_input(side: int) -> None:
    x = F.interpolate(board(side), scale_factor=2)
    x[0, 0, -1, -1] = 255
    out, indices = F.max_pool2d(x, 4, return_indices=True)
    assert int(out[0, 0, -1, -1]) == 255
    assert int(indices[0, 0, -1, -1]) == x.numel() - 1
