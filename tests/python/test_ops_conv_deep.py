# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions in one to three dimensions, and conv3d."""

import pytest
import torch
from compare import same, same_gradients
from torch.nn import functional as F

TOLERANCE = {"rtol": 1e-4, "atol": 2e-4}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
EXTENTS = (7, 5, 6)
LAYOUTS = {2: torch.channels_last, 3: torch.channels_last_3d}
OPTIONS = [
    {},
    {"stride": 2, "padding": 1},
    {"stride": 3, "output_padding": 1},
    {"stride": 2, "groups": 2},
    {"dilation": 2, "padding": 2},
    {"stride": 2, "padding": 1, "output_padding": 1, "dilation": 2, "groups": 4},
    # what RunBwdData does not take: it runs on other sizes, and rows are moved
    {"padding": 3},
    {"stride": 3, "padding": 4},
    {"dilation": 3, "output_padding": 2},
    {"dilation": 4, "output_padding": 3, "padding": 2},
    {"dilation": 3, "output_padding": 2, "padding": 7, "stride": 2},
]
CONV3D = {
    "plain": ((2, 3, 6, 5, 7), (4, 3, 3, 2, 3), {}),
    "padding": ((2, 3, 4, 5, 4), (4, 3, 3, 3, 2), {"padding": (1, 2, 0)}),
    "stride": ((2, 3, 7, 8, 9), (4, 3, 3, 3, 3), {"stride": (2, 1, 3), "padding": 1}),
    "dilation": ((1, 3, 7, 8, 9), (4, 3, 2, 3, 2), {"dilation": (3, 2, 1)}),
    "groups": ((2, 6, 5, 5, 5), (4, 3, 3, 3, 3), {"groups": 2, "padding": 1}),
    "depthwise": ((2, 4, 5, 4, 5), (8, 1, 3, 3, 3), {"groups": 4, "padding": 1}),
    "pointwise": ((2, 5, 3, 4, 5), (3, 5, 1, 1, 1), {}),
    "wide padding": ((2, 3, 4, 5, 4), (4, 3, 1, 2, 3), {"padding": 3}),
    "one image": ((3, 6, 5, 7), (4, 3, 3, 2, 3), {}),
    "same": ((2, 3, 6, 5, 7), (4, 3, 3, 2, 3), {"padding": "same"}),
}


def leaves(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [torch.randn(s).requires_grad_() for s in shapes]


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("options", OPTIONS)
def test_transposed_and_gradients(rank: int, options: dict[str, int]) -> None:
    groups = options.get("groups", 1)
    args = leaves((2, 4, *EXTENTS[:rank]), (4, 8 // groups, *(3,) * rank), (8,))
    same_gradients(lambda *a: TRANSPOSED[rank](*a, **options), *args, **TOLERANCE)


def test_transposed_depthwise_and_unbatched() -> None:
    args = leaves((2, 4, 5, 6), (4, 1, 3, 3), (4,))
    same_gradients(
        lambda *a: F.conv_transpose2d(*a, stride=2, groups=4), *args, **TOLERANCE
    )
    for rank, function in TRANSPOSED.items():
        args = leaves((4, *EXTENTS[:rank]), (4, 3, *(2,) * rank))
        same_gradients(lambda *a, f=function: f(*a, stride=2), *args, **TOLERANCE)


def test_transposed_with_an_output_size() -> None:
    up = torch.nn.ConvTranspose3d(3, 2, 3, stride=2, padding=1)
    x = torch.randn(1, 3, 4, 4, 5)

    def run(x: torch.Tensor) -> torch.Tensor:
        return up.to(x.device)(x, output_size=(8, 7, 10))

    with torch.no_grad():
        same(run, x, **TOLERANCE)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("which", ["input", "weight"])
@pytest.mark.parametrize("options", [{}, {"stride": 2, "groups": 2}, {"padding": 3}])
def test_transposed_channels_last(
    rank: int, which: str, options: dict[str, int]
) -> None:
    groups = options.get("groups", 1)
    x, w, b = leaves((2, 4, *EXTENTS[:rank]), (4, 6 // groups, *(3,) * rank), (6,))
    last = LAYOUTS[rank]
    if which == "input":
        x = x.detach().contiguous(memory_format=last).requires_grad_()
    else:
        w = w.detach().contiguous(memory_format=last).requires_grad_()
    same_gradients(lambda *a: TRANSPOSED[rank](*a, **options), x, w, b, **TOLERANCE)
    out = TRANSPOSED[rank](x.to("flagos"), w.to("flagos"), **options)
    assert out.is_contiguous(memory_format=last)


@pytest.mark.parametrize("name", CONV3D)
@pytest.mark.parametrize("bias", [False, True])
def test_conv3d_and_gradients(name: str, bias: bool) -> None:
    image, filters, options = CONV3D[name]
    args = leaves(image, filters, *([filters[:1]] if bias else []))
    same_gradients(lambda *a: F.conv3d(*a, **options), *args, **TOLERANCE)


@pytest.mark.parametrize("name", ["plain", "stride", "groups", "depthwise"])
@pytest.mark.parametrize("which", ["input", "weight", "both"])
def test_conv3d_channels_last(name: str, which: str) -> None:
    image, filters, options = CONV3D[name]
    last = torch.channels_last_3d
    x, w, b = (a.detach() for a in leaves(image, filters, filters[:1]))
    if which != "weight":
        x = x.contiguous(memory_format=last)
    if which != "input":
        w = w.contiguous(memory_format=last)
    out = same(lambda x, w, b: F.conv3d(x, w, b, **options), x, w, b, **TOLERANCE)
    if which != "weight":  # a filter of one channel has both layouts
        assert out.is_contiguous(memory_format=last)
    args = [a.requires_grad_() for a in (x, w, b)]
    same_gradients(lambda *a: F.conv3d(*a, **options), *args, **TOLERANCE)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_dtypes(dtype: torch.dtype) -> None:
    shapes = ((2, 3, 4, 5, 4), (4, 3, 3, 3, 3), (4,))
    args = [torch.randn(s).mul(0.3).to(dtype).requires_grad_() for s in shapes]
    same_gradients(lambda *a: F.conv3d(*a, padding=1), *args, rtol=5e-2, atol=8e-2)
    shapes = ((2, 4, 5, 6), (4, 3, 3, 3), (3,))
    args = [torch.randn(s).mul(0.3).to(dtype).requires_grad_() for s in shapes]
    same_gradients(
        lambda *a: F.conv_transpose2d(*a, stride=2), *args, rtol=5e-2, atol=8e-2
    )


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2)])
def test_only_the_gradients_asked_for(wanted: tuple[int, ...]) -> None:
    shapes = ((2, 3, 4, 4, 4), (4, 3, 2, 2, 2), (4,))
    args = [torch.randn(s).requires_grad_(i in wanted) for i, s in enumerate(shapes)]
    same_gradients(lambda *a: F.conv3d(*a), *args, **TOLERANCE)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_second_derivative(rank: int, transposed: bool) -> None:
    plain = (F.conv1d, F.conv2d, F.conv3d)
    function = TRANSPOSED[rank] if transposed else plain[rank - 1]

    def run(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        y = function(x, w, b, padding=1, stride=2)
        first, second = torch.autograd.grad(y.pow(2).sum(), (x, w), create_graph=True)
        return torch.cat([first.flatten(), second.flatten()])

    args = leaves((2, 3, *EXTENTS[:rank]), (3, 3, *(3,) * rank), (3,))
    same_gradients(run, *args, rtol=1e-3, atol=1e-2)


def test_no_elements() -> None:
    same(F.conv3d, torch.zeros(0, 3, 4, 4, 4), torch.randn(4, 3, 3, 3, 3))
    same(F.conv_transpose3d, torch.zeros(0, 3, 4, 4, 4), torch.randn(3, 4, 3, 3, 3))
    args = [torch.zeros(0, 3, 4, 4, 4), torch.randn(4, 3, 3, 3, 3)]
    same_gradients(F.conv3d, *(a.requires_grad_() for a in args))


def test_strided_operands() -> None:
    x, w = torch.randn(2, 3, 5, 6, 10), torch.randn(3, 4, 3, 3, 3)
    same(lambda x, w: F.conv3d(x[..., ::2], w.transpose(0, 1)), x, w, **TOLERANCE)
    same(lambda x, w: F.conv_transpose3d(x[..., ::2], w), x, w, **TOLERANCE)


def test_in_a_graph() -> None:
    x, w = torch.randn(1, 3, 6, 6, 6), torch.randn(3, 2, 3, 3, 3)
    moved, filters = torch.zeros_like(x).to("flagos"), w.to("flagos")
    F.conv_transpose3d(moved, filters, padding=3)
    graph = torch.flagos.Graph()
    with torch.flagos.graph(graph):
        out = F.conv_transpose3d(moved, filters, padding=3)
    moved.copy_(x)
    graph.replay()
    torch.testing.assert_close(
        out.cpu(), F.conv_transpose3d(x, w, padding=3), **TOLERANCE
    )


def test_wrong_operands_are_refused() -> None:
    x = torch.randn(1, 3, 4, 4, 4, device="flagos")
    with pytest.raises(RuntimeError, match="channels"):
        F.conv3d(x, torch.randn(4, 2, 3, 3, 3, device="flagos"))
    with pytest.raises(RuntimeError, match="output padding must be smaller"):
        F.conv_transpose3d(
            x, torch.randn(3, 2, 3, 3, 3, device="flagos"), output_padding=1
        )
    with pytest.raises(RuntimeError, match="Output size is too small"):
        F.conv_transpose3d(x, torch.randn(3, 2, 1, 1, 1, device="flagos"), padding=2)
