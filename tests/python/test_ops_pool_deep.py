# SPDX-License-Identifier: Apache-2.0
"""Pooling in three dimensions, over adaptive and over random windows."""

import pytest
import torch
from compare import same, same_gradients
from marks import needs_kernels
from torch.nn import functional as F

pytestmark = needs_kernels

WINDOWS = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": (2, 3, 1), "stride": (1, 2, 3), "padding": (1, 1, 0)},
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    {"kernel_size": 2, "stride": 3, "ceil_mode": True, "padding": 1},
]
LAYOUTS = [torch.contiguous_format, torch.channels_last_3d]
FLOATS = [torch.float16, torch.bfloat16, torch.float64]


def images(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """No ties, so that indices have one right answer."""
    numel = torch.Size(shape).numel()
    return (torch.randperm(numel).view(shape).double() - numel / 2).to(dtype)


def leaf(x: torch.Tensor, layout: torch.memory_format) -> torch.Tensor:
    return x.contiguous(memory_format=layout).requires_grad_()


@pytest.mark.parametrize(
    "options", [*WINDOWS, {"kernel_size": 2, "dilation": (2, 1, 3), "stride": 1}]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_max_pool3d(options: dict[str, object], layout: torch.memory_format) -> None:
    x = leaf(images(2, 3, 6, 7, 8), layout)
    out = same(lambda x: F.max_pool3d(x, return_indices=True, **options), x.detach())
    assert out[0].is_contiguous(memory_format=layout)
    same_gradients(lambda x: F.max_pool3d(x, **options), x)


@pytest.mark.parametrize("options", WINDOWS)
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("divisor", [None, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_avg_pool3d(
    options: dict[str, object],
    include: bool,
    divisor: int | None,
    layout: torch.memory_format,
) -> None:
    same_gradients(
        lambda x: F.avg_pool3d(
            x, count_include_pad=include, divisor_override=divisor, **options
        ),
        leaf(torch.randn(2, 3, 6, 7, 8), layout),
    )


@pytest.mark.parametrize("size", [1, 2, (3, 5, 4), (7, 4, None), (6, 7, 8)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_adaptive_3d(size: object, layout: torch.memory_format) -> None:
    x = torch.randn(2, 3, 6, 7, 8)
    same_gradients(lambda x: F.adaptive_avg_pool3d(x, size), leaf(x, layout))
    y = images(2, 3, 6, 7, 8)
    same(lambda x: F.adaptive_max_pool3d(x, size, return_indices=True), y)
    same_gradients(lambda x: F.adaptive_max_pool3d(x, size), leaf(y, layout))


@pytest.mark.parametrize("size", [1, 2, (3, 5), (9, None), (9, 8)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_adaptive_max_pool2d(
    size: object, layout: torch.memory_format, dtype: torch.dtype
) -> None:
    x = leaf(images(2, 3, 9, 8, dtype=torch.float32).mul(0.25).to(dtype), layout)
    same(lambda x: F.adaptive_max_pool2d(x, size, return_indices=True), x.detach())
    same_gradients(lambda x: F.adaptive_max_pool2d(x, size), x)


def test_one_dimension() -> None:
    x = images(2, 3, 11).requires_grad_()
    same_gradients(lambda x: F.adaptive_max_pool1d(x, 4), x)
    same_gradients(lambda x: F.adaptive_avg_pool1d(x, 4), x)
    same_gradients(lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True), x)
    same(lambda x: F.max_pool1d(x, 3, 2, 1, 2, return_indices=True), x.detach())


@pytest.mark.parametrize("dtype", FLOATS)
def test_floating_dtypes(dtype: torch.dtype) -> None:
    deep = torch.randn(2, 3, 4, 6, 5).to(dtype).requires_grad_()
    flat = torch.randn(2, 3, 6, 5).to(dtype).requires_grad_()
    same_gradients(lambda x: F.max_pool3d(x, 2), deep)
    same_gradients(lambda x: F.adaptive_avg_pool3d(x, (3, 2, 4)), deep)

    def average(x: torch.Tensor) -> torch.Tensor:
        # the CPU has no avg_pool3d of 16 bits
        if x.device.type == "cpu":
            return F.avg_pool3d(x.double(), 3, 1, 1).to(dtype)
        return F.avg_pool3d(x, 3, 1, 1)

    same_gradients(average, deep)
    same_gradients(lambda x: F.max_pool2d(x, 3, 2, 1), flat)
    same_gradients(lambda x: F.avg_pool2d(x, 3, 2, 1), flat)
    same_gradients(lambda x: F.adaptive_avg_pool2d(x, (4, 3)), flat)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.int64])
def test_integers(dtype: torch.dtype) -> None:
    x = torch.randint(0, 100, (2, 3, 4, 6, 5)).to(dtype)
    if dtype == torch.int64:
        x = x + (1 << 60)
    same(lambda x: F.max_pool2d(x[:, 0], 2, return_indices=True), x)
    if dtype == torch.int64:
        same(lambda x: F.avg_pool3d(x - (1 << 60), 2), x)


def test_nan_and_infinities() -> None:
    x = images(1, 2, 4, 4, 4)
    x[0, 0, 1, 1, 1] = float("nan")
    x[0, 0, 1, 0, 1] = float("nan")
    x[0, 1, 2] = float("-inf")
    same(lambda x: F.max_pool3d(x, 2, return_indices=True), x)
    same(lambda x: F.adaptive_max_pool3d(x, 3, return_indices=True), x)
    same(lambda x: F.adaptive_max_pool2d(x[0], 3, return_indices=True), x)
    same(lambda x: F.avg_pool3d(x, 2), x)
    low = torch.full((1, 1, 4, 4, 4), float("-inf"))
    same(lambda x: F.max_pool3d(x, 3, 1, 1, return_indices=True), low)


def test_first_of_equal_values() -> None:
    zeros = torch.zeros(1, 2, 5, 5, 5)
    same(lambda x: F.max_pool3d(x, 3, 1, return_indices=True), zeros)
    same(lambda x: F.adaptive_max_pool3d(x, 3, return_indices=True), zeros)


def test_forms() -> None:
    one = images(3, 4, 5, 6).requires_grad_()
    same_gradients(lambda x: F.max_pool3d(x, 2), one)
    same_gradients(lambda x: F.avg_pool3d(x, 2), one)
    same_gradients(lambda x: F.adaptive_avg_pool3d(x, 2), one)
    wide = images(2, 3, 4, 5, 12).requires_grad_()
    same_gradients(lambda x: F.max_pool3d(x[..., ::2], 2), wide)
    same_gradients(lambda x: F.max_pool3d(x.transpose(2, 4), 2), wide)
    none = torch.zeros(0, 3, 4, 4, 4)
    same(lambda x: F.max_pool3d(x, 2), none)
    same(lambda x: F.avg_pool3d(x, 2), none)
    same(lambda x: F.adaptive_avg_pool3d(x, 2), none)


def test_out_forms() -> None:
    ops = torch.ops.aten

    # into strided memory, which the CPU's kernel takes for dense
    x = torch.randn(1, 2, 4, 4, 4)
    out = torch.zeros(1, 2, 2, 2, 4, device="flagos")
    ops.avg_pool3d.out(x.to("flagos"), [2, 2, 2], out=out[..., ::2])
    torch.testing.assert_close(out[..., ::2].cpu(), F.avg_pool3d(x, 2))
    assert not out[..., 1::2].any()

    def adaptive(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return ops.adaptive_avg_pool3d.out(x, [2, 2, 2], out=out)

    same(adaptive, torch.randn(1, 2, 4, 4, 4), torch.zeros(0))

    def maximum(x: torch.Tensor, out: torch.Tensor, at: torch.Tensor) -> object:
        return ops.max_pool3d_with_indices.out(x, [2, 2, 2], out=out, indices=at)

    same(
        maximum,
        images(1, 2, 4, 4, 4),
        torch.zeros(0),
        torch.zeros(0, dtype=torch.int64),
    )


def test_wrong_windows_are_refused() -> None:
    x = torch.randn(1, 1, 4, 4, 4, device="flagos")
    with pytest.raises(RuntimeError, match="pad should be at most half"):
        F.max_pool3d(x, 2, padding=2)
    with pytest.raises(RuntimeError, match="too small"):
        F.max_pool3d(x, 5)
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        F.avg_pool3d(x, 2, divisor_override=0)
    with pytest.raises(RuntimeError, match="non-zero size"):
        F.adaptive_avg_pool3d(x[..., :0], 2)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("kernel", "out"), [(2, 4), (3, 3), (3, 1), (2, 6), (1, 7)])
def test_fractional(rank: int, dtype: torch.dtype, kernel: int, out: int) -> None:
    function = F.fractional_max_pool3d if rank == 3 else F.fractional_max_pool2d
    x = images(2, 3, *(8, 9, 10)[:rank], dtype=dtype).requires_grad_()
    samples = torch.rand(2, 3, rank, dtype=dtype)
    kernels, sizes = (kernel,) * rank, (out,) * rank

    def run(x: torch.Tensor, samples: torch.Tensor) -> object:
        return function(x, kernels, sizes, return_indices=True, _random_samples=samples)

    same(run, x.detach(), samples)
    same_gradients(lambda x, s: run(x, s)[0], x, samples)
    same(run, x.detach()[0], samples[:1])


def test_gradients_repeat() -> None:
    x = torch.randn(2, 4, 8, 8, 8, device="flagos", requires_grad=True)
    grads = []
    for _ in range(2):
        x.grad = None
        F.max_pool3d(x, 3, 1, 1).pow(2).sum().backward()
        grads.append(x.grad.cpu())
    assert torch.equal(*grads)
