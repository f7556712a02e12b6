# SPDX-License-Identifier: Apache-2.0
"""Embedding's gradient, renorm, and bags of embeddings."""

from __future__ import annotations

import pytest
import torch
from compare import on, same, same_gradients
from marks import needs_kernels
from torch.nn import functional

import torch_fl

pytestmark = needs_kernels
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INDICES = [torch.int64, torch.int32]
MODES = ["sum", "mean", "max"]


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("padding", [-1, 0, 3])
@pytest.mark.parametrize("index_dtype", INDICES, ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_dense_backward(dtype, index_dtype, padding, scale) -> None:
    index = torch.randint(9, (4, 50), dtype=index_dtype)
    grad = torch.randn(4, 50, 17, dtype=torch.float64).sign().to(dtype)
    same(
        lambda g, i: torch.ops.aten.embedding_dense_backward(g, i, 11, padding, scale),
        grad, index,
    )  # fmt: skip


def test_dense_backward_of_shapes_and_strides() -> None:
    backward = torch.ops.aten.embedding_dense_backward
    index = torch.randint(1000, (3000,))
    grad = torch.randn(3000, 130, dtype=torch.float64)
    same(lambda g, i: backward(g, i, 1000, -1, False), grad, index)
    same(lambda g, i: backward(g.t(), i, 1000, -1, False), grad.t().contiguous(), index)
    same(lambda g, i: backward(g[:, ::2], i, 1000, -1, True), grad, index)
    same(
        lambda g, i: backward(g.expand(3000, 4), i, 1000, -1, False), grad[:, :1], index
    )
    same(lambda g, i: backward(g, i, 5, -1, False), torch.randn(7), torch.tensor(3))
    same(lambda g, i: backward(g[:0], i[:0], 5, -1, False), grad, index)
    same(lambda g, i: backward(g[:, :0], i, 1000, -1, False), grad, index)


def test_one_frequent_index_in_half_precision() -> None:
    index = torch.zeros(4096, dtype=torch.int64, device="flagos")
    ones = torch.ones(4096, 3, dtype=torch.bfloat16, device="flagos")
    grad = torch.ops.aten.embedding_dense_backward(ones, index, 2, -1, False)
    assert grad.tolist() == [[4096.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("padding", [None, 2, -1])
@pytest.mark.parametrize("scale", [False, True])
def test_module_gradients(padding, scale) -> None:
    weight = torch.randn(10, 6, requires_grad=True)
    index = torch.randint(10, (3, 7))
    same_gradients(
        lambda w, i: functional.embedding(
            i, w, padding_idx=padding, scale_grad_by_freq=scale
        ),
        weight, index,
    )  # fmt: skip


def test_gradients_are_the_same_at_every_run() -> None:
    index = torch.randint(20, (5000,), device="flagos")
    grad = torch.randn(5000, 33, device="flagos")
    first = torch.ops.aten.embedding_dense_backward(grad, index, 20, -1, False)
    for _ in range(3):
        again = torch.ops.aten.embedding_dense_backward(grad, index, 20, -1, False)
        assert torch.equal(first, again)


@pytest.mark.parametrize("norm", [1.0, 2.0, 3.5, float("inf")])
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str
)
def test_renorm(dtype, norm) -> None:
    index = torch.tensor([[3, 0, 3], [1, 1, 4]])
    weight = torch.randn(6, 9, dtype=dtype) * torch.arange(6).view(6, 1)
    same(
        lambda w, i: torch.ops.aten.embedding_renorm_(w, i, 2.0, norm),
        weight, index, **({"rtol": 2e-2} if dtype == torch.bfloat16 else {}),
    )  # fmt: skip
    same(
        lambda w, i: functional.embedding(i, w, max_norm=1.0, norm_type=norm),
        weight,
        index,
    )
    same(
        lambda w, i: torch.ops.aten.embedding_renorm_(w.t(), i, 2.0, norm),
        weight.t().contiguous(), index,
    )  # fmt: skip
    same(
        lambda w, i: torch.ops.aten.embedding_renorm_(w, i[:0], 2.0, norm),
        weight,
        index,
    )


def bag(weight, index, offsets, **options):
    return functional.embedding_bag(index, weight, offsets, **options)


@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("index_dtype", INDICES, ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_bags(dtype, index_dtype, mode, padding) -> None:
    weight = torch.randn(10, 70, dtype=dtype)
    index = torch.randint(10, (40,), dtype=index_dtype)
    offsets = torch.tensor([0, 3, 3, 20, 40], dtype=index_dtype)
    for last in (False, True):
        same(
            lambda w, i, o, last=last: bag(
                w, i, o, mode=mode, padding_idx=padding, include_last_offset=last
            ),
            weight, index, offsets,
        )  # fmt: skip
    same(lambda w, i: bag(w, i, None, mode=mode), weight, index.view(8, 5))
    same(
        lambda w, i, o: bag(w.t(), i, o, mode=mode),
        weight.t().contiguous(),
        index,
        offsets,
    )


@pytest.mark.parametrize(
    ("mode", "padding"),
    [("sum", None), ("sum", 2), ("mean", None), ("mean", 2), ("max", None)],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_bag_gradients(dtype, mode, padding) -> None:
    weight = torch.randn(10, 7, dtype=dtype, requires_grad=True)
    index = torch.randint(10, (300,))
    offsets = torch.tensor([0, 3, 3, 20, 290])
    same_gradients(
        lambda w, i, o: bag(w, i, o, mode=mode, padding_idx=padding),
        weight, index, offsets,
    )  # fmt: skip


def test_bag_gradients_by_frequency() -> None:
    """Each row's sum by how often it occurs (torch's CPU takes another row's count)."""
    index = torch.randint(10, (300,))
    grads = []
    for scale in (False, True):
        weight = torch.randn(10, 7, dtype=torch.float64, device="flagos")
        weight.requires_grad_()
        bags = bag(
            weight, index.to("flagos").view(20, 15), None, mode="sum",
            scale_grad_by_freq=scale,
        )  # fmt: skip
        (bags * torch.arange(140, device="flagos").view(20, 7)).sum().backward()
        grads.append(weight.grad.cpu())
    counts = torch.bincount(index, minlength=10).view(10, 1)
    torch.testing.assert_close(grads[1], grads[0] / counts)


@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16], ids=str
)
def test_weights_of_samples(dtype, padding) -> None:
    weight = torch.randn(10, 7, dtype=dtype, requires_grad=True)
    index = torch.randint(10, (30,))
    offsets = torch.tensor([0, 3, 3, 20])
    samples = torch.rand(30, dtype=dtype, requires_grad=True)
    same_gradients(
        lambda w, s, i, o: bag(
            w, i, o, mode="sum", per_sample_weights=s, padding_idx=padding
        ),
        weight, samples, index, offsets,
    )  # fmt: skip


def test_bags_of_nothing() -> None:
    weight = torch.randn(10, 7)
    nothing = torch.zeros(0, dtype=torch.int64)
    for mode in MODES:
        same(
            lambda w, i, o, mode=mode: bag(w, i, o, mode=mode), weight, nothing, nothing
        )
        same(
            lambda w, i, o, mode=mode: bag(w, i, o, mode=mode),
            weight, nothing, torch.zeros(3, dtype=torch.int64),
        )  # fmt: skip


def test_refusals() -> None:
    w, i, o = on("flagos", (torch.randn(4, 3), torch.tensor([0, 1]), torch.tensor([0])))
    with pytest.raises(RuntimeError, match=r"expected scalar type|Expected tensor for"):
        torch.ops.aten._embedding_bag(w, i.float(), o)
    with pytest.raises((RuntimeError, NotImplementedError), match="mode='sum'"):
        bag(w, i, o, mode="mean", per_sample_weights=torch.ones(2, device="flagos"))
    with pytest.raises(RuntimeError, match="2"):
        torch.ops.aten.embedding_renorm_(w[0], i, 1.0, 2.0)


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    weight = torch.randn(10, 7, device="flagos", requires_grad=True)
    index = torch.tensor([1, 4, 4], device="flagos")
    functional.embedding(index, weight).sum().backward()
    for mode in MODES:
        bag(weight, index, index[:1] * 0, mode=mode).sum().backward()
    assert torch_fl.fallbacks() == {}
