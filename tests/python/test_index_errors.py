# SPDX-License-Identifier: Apache-2.0
"""An index out of range: the device's error at the next wait, and no wild write."""

from __future__ import annotations

import pytest
from marks import needs_kernels
from subprocesses import output_of

pytestmark = needs_kernels
CALLS = {
    "index": "x[i]",
    "index_put_": "x.index_put_((i,), x[:2].clone())",
    "index_copy_": "x.index_copy_(0, i, x[:2].clone())",
    "index_add_": "x.index_add_(0, i, x[:2].clone())",
    "index_reduce_": "x.index_reduce_(0, i, x[:2].clone(), 'amax')",
    "index_fill_": "x.index_fill_(0, i, 1)",
    "take": "x.take(100 * i)",
    "put_": "x.put_(100 * i, x[0, :2].clone())",
    "masked_scatter_": "x.masked_scatter_(x == x, x[0, :2].clone())",
    "embedding_dense_backward":
        "torch.ops.aten.embedding_dense_backward(x[:2], i, 4, -1, False)",
    "embedding_renorm_": "torch.ops.aten.embedding_renorm_(x, i, 1.0, 2.0)",
    "_embedding_bag": "torch.nn.functional.embedding_bag(i, x, i[:1] * 0)",
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_error_names_the_operator(name: str) -> None:
    code = (
        "import torch, torch_fl\n"
        "x = torch.zeros(4, 3, device='flagos')\n"
        "i = torch.tensor([1, 4], device='flagos')\n"
        "try:\n"
        f"    {CALLS[name]}\n"
        "    torch.flagos.synchronize()\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
    )
    said = output_of(code, FLAGOS_STRICT="0")
    assert name in said, said
    assert "musaErrorAssert" in said, said


def test_negative_indices_where_torch_takes_none() -> None:
    code = (
        "import torch, torch_fl\n"
        "x = torch.zeros(4, 3, device='flagos')\n"
        "i = torch.tensor([1, -1], device='flagos')\n"
        "try:\n"
        "    x.index_add_(0, i, x[:2].clone())\n"
        "    torch.flagos.synchronize()\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
    )
    assert "index_add_" in output_of(code)
