# SPDX-License-Identifier: Apache-2.0
"""Matrix products: do both sides get the same out of the tensor cores?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from pairs import OPTIONS, Question, set_tf32, small

if TYPE_CHECKING:
    from collections.abc import Callable

# Title, element type, TF32 on, tolerance against torch.cuda's result.
KINDS = [
    ("bf16", torch.bfloat16, False, 1e-2),
    ("fp16", torch.float16, False, 2e-3),
    ("fp32", torch.float32, False, 1e-4),
    ("tf32", torch.float32, True, 2e-3),
]
BATCH, BATCHED = small(64, 2), small(512, 16)


def product(shape: tuple[int, ...], dtype: torch.dtype):
    """Random operands: on zeros a GPU clocks higher."""

    def make(device: str) -> Callable[[], object]:
        generator = torch.Generator().manual_seed(0)
        tile = torch.randn(2, min(256, shape[-2]), shape[-1], generator=generator)
        rows = shape[-2] // tile.shape[1]
        a, b = (t.repeat(rows, 1).to(device, dtype) for t in tile)
        if len(shape) == 2:
            return lambda: torch.mm(a, b)
        a, b = (t.expand(shape).contiguous() for t in (a, b))
        return lambda: torch.bmm(a, b)

    return make


def main() -> None:
    question = Question("Matrix products, random data", "products")
    speeds = question.more["TFLOP/s"] = {}
    sizes = [1024, 8192] if OPTIONS.quick else [1024, 4096, 8192]
    shapes = [(small(n, 32), small(n, 32)) for n in sizes]
    for shape in [*shapes, (BATCH, BATCHED, BATCHED)]:
        for title, dtype, tf32, tolerance in KINDS:
            set_tf32(tf32)
            name = f"{'x'.join(map(str, shape))} {title}"
            row = question.device(name, product(shape, dtype), tolerance=tolerance)
            if row:
                batch = shape[0] if len(shape) == 3 else 1
                work = 2e-6 * batch * shape[-1] ** 3
                speeds[name] = {
                    "ours": work / row.ours_us,
                    "torch.cuda": work / row.theirs_us,
                }
        question.end()
    set_tf32(False)
    for name, pair in speeds.items():
        print(f"{name:44}{pair['torch.cuda']:12.1f}{pair['ours']:12.1f} TFLOP/s")


if __name__ == "__main__":
    main()
