# SPDX-License-Identifier: Apache-2.0
"""Pooling: windows, layouts, indices, gradients."""

import pytest
import torch
from compare import same, same_gradients
from torch.nn import functional as F

WINDOWS = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": (2, 3), "stride": (1, 2), "padding": (1, 1)},
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    {"kernel_size": 2, "stride": 3, "ceil_mode": True},
]


def images(*shape: int) -> torch.Tensor:
    """No ties, so that indices have one right answer."""
    numel = torch.Size(shape).numel()
    return torch.randperm(numel).view(shape).float() / numel - 0.5


@pytest.mark.parametrize(
    "options", [*WINDOWS, {"kernel_size": 2, "dilation": 2, "stride": 1}]
)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_max_pool2d(options: dict[str, object], layout: torch.memory_format) -> None:
    x = images(2, 3, 9, 8).contiguous(memory_format=layout).requires_grad_()
    same(lambda x: F.max_pool2d(x, return_indices=True, **options), x.detach())
    same_gradients(lambda x: F.max_pool2d(x, **options), x)


def test_max_pool2d_forms() -> None:
    same_gradients(
        lambda x: F.max_pool2d(x[..., ::2], 2), images(2, 3, 8, 16).requires_grad_()
    )
    same(lambda x: F.max_pool2d(x, 2, return_indices=True), images(3, 8, 8))
    same_gradients(lambda x: F.max_pool2d(x, 2), images(3, 8, 8).requires_grad_())
    same_gradients(lambda x: F.max_pool1d(x, 3, 2), images(2, 3, 9).requires_grad_())
    same(lambda x: F.max_pool2d(x, 2), torch.zeros(0, 3, 8, 8))
    nan = images(1, 1, 4, 4)
    nan[0, 0, 1, 1] = float("nan")
    same(lambda x: F.max_pool2d(x, 2), nan)
    same(lambda x: F.max_pool2d(x, 2), torch.full((1, 1, 4, 4), float("-inf")))


def test_max_pool2d_takes_the_first_of_equal_values() -> None:
    same(lambda x: F.max_pool2d(x, 3, 1, return_indices=True), torch.zeros(1, 2, 5, 5))


def test_max_pool2d_gradients_of_overlapping_windows_add_up() -> None:
    same_gradients(lambda x: F.max_pool2d(x, 3, 1), images(2, 2, 6, 6).requires_grad_())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_dtypes(dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 8, 8).to(dtype).requires_grad_()
    same_gradients(lambda x: F.max_pool2d(x, 2), x)
    same_gradients(lambda x: F.avg_pool2d(x, 2), x)
    same_gradients(lambda x: F.adaptive_avg_pool2d(x, (3, 2)), x)


@pytest.mark.parametrize("options", WINDOWS)
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("divisor", [None, 3])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_avg_pool2d(
    options: dict[str, object],
    include: bool,
    divisor: int | None,
    layout: torch.memory_format,
) -> None:
    x = torch.randn(2, 3, 9, 8).contiguous(memory_format=layout).requires_grad_()
    same_gradients(
        lambda x: F.avg_pool2d(
            x, count_include_pad=include, divisor_override=divisor, **options
        ),
        x,
    )


def test_avg_pool2d_forms() -> None:
    same_gradients(lambda x: F.avg_pool2d(x, 2), torch.randn(3, 8, 8).requires_grad_())
    same_gradients(lambda x: F.avg_pool1d(x, 3), torch.randn(2, 3, 9).requires_grad_())
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        F.avg_pool2d(torch.randn(1, 1, 4, 4, device="flagos"), 2, divisor_override=0)


@pytest.mark.parametrize("size", [1, 2, (3, 5), (7, 4), (9, 8)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_adaptive_avg_pool2d(size: object, layout: torch.memory_format) -> None:
    x = torch.randn(2, 3, 9, 8).contiguous(memory_format=layout).requires_grad_()
    same_gradients(lambda x: F.adaptive_avg_pool2d(x, size), x)
    same_gradients(
        lambda x: F.adaptive_avg_pool2d(x, size), torch.randn(3, 9, 8).requires_grad_()
    )


def test_out_forms() -> None:
    def adaptive(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.adaptive_avg_pool2d.out(x, [2, 2], out=out)

    same(adaptive, torch.randn(1, 2, 6, 6), torch.zeros(1, 2, 2, 2))

    def average(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.avg_pool2d.out(x, [2, 2], out=out)

    same(average, torch.randn(1, 2, 6, 6), torch.zeros(1, 2, 3, 6)[..., ::2])


def test_wrong_windows_are_refused() -> None:
    x = torch.randn(1, 1, 4, 4, device="flagos")
    with pytest.raises(RuntimeError, match="pad should be at most half"):
        F.max_pool2d(x, 2, padding=2)
    with pytest.raises(RuntimeError, match="too small"):
        F.max_pool2d(x, 5)
