# SPDX-License-Identifier: Apache-2.0
"""The inverse of pooling by maxima."""

import pytest
import torch
from compare import same, same_gradients
from subprocesses import run_python
from torch.nn import functional as F


def pooled(
    rank: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor]:
    function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[rank - 1]
    shape = (2, 3, *(6, 4, 8)[:rank])
    numel = torch.Size(shape).numel()
    x = torch.randperm(numel).view(shape).to(dtype)
    return function(x, 2, return_indices=True)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_unpool(rank: int, dtype: torch.dtype) -> None:
    function = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[rank - 1]
    x, indices = pooled(rank, dtype)
    same_gradients(lambda x, i: function(x, i, 2), x.requires_grad_(), indices)
    same(lambda x, i: function(x[0], i[0], 2), x.detach(), indices)


def test_unpool_layouts_and_sizes() -> None:
    x, indices = pooled(2)
    last = torch.channels_last
    moved = x.contiguous(memory_format=last), indices.contiguous(memory_format=last)
    same(lambda x, i: F.max_unpool2d(x, i, 2), *moved)
    same(lambda x, i: F.max_unpool2d(x, i, 2, output_size=(7, 4)), x, indices)
    same(lambda x, i: F.max_unpool2d(x[:0], i[:0], 2), x, indices)
    half = x.to(torch.bfloat16)
    same(lambda x, i: F.max_unpool2d(x, i, 2), half, indices)

    def into(x: torch.Tensor, i: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.max_unpool2d.out(x, i, [6, 4], out=out)

    same(into, x, indices, torch.zeros(0))


def test_wrong_operands_are_refused() -> None:
    x, indices = (t.to("flagos") for t in pooled(2))
    with pytest.raises(RuntimeError, match="type int64"):
        torch.ops.aten.max_unpool2d(x, indices.int(), [6, 4])
    with pytest.raises(RuntimeError, match="Expected shape of indices"):
        torch.ops.aten.max_unpool2d(x, indices[:1], [6, 4])
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="max_unpooling2d_forward_out"):
            F.max_unpool2d(x, indices, 2)
    finally:
        torch.use_deterministic_algorithms(False)


OUTSIDE = """
import torch, torch_fl
x = torch.ones(1, 1, 2, 2, device="flagos")
i = torch.tensor([[[[0, 3], [5, 99]]]], device="flagos")
try:
    torch.ops.aten.max_unpool2d(x, i, [4, 4])
    torch.flagos.synchronize()
except RuntimeError as error:
    print("refused")
"""


def test_a_position_outside_of_the_image_is_an_error_of_the_device() -> None:
    assert "refused" in run_python(OUTSIDE).stdout
