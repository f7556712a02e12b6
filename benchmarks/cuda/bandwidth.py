# SPDX-License-Identifier: Apache-2.0
"""How near to the memory's speed do the operators run that only move data?

64 M floats, contiguous and strided. Bytes a second, read and written once, stand beside
the rows in the report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from pairs import Question, small

if TYPE_CHECKING:
    from collections.abc import Callable

SIDE = small(8192, 64)
WIDTH = small(1024, 32)  # of a layer norm's rows
aten = torch.ops.aten


def square(device: str, seed: int = 0) -> torch.Tensor:
    """SIDE x SIDE floats; a tile repeated, so that making them takes no time."""
    tile = torch.randn(64, SIDE, generator=torch.Generator().manual_seed(seed))
    return tile.repeat(SIDE // 64, 1).to(device)


def halves(device: str, seed: int = 0) -> torch.Tensor:
    """Every other column of twice as many: a stride that no vector load reads."""
    wide = torch.cat([square(device, seed), square(device, seed + 1)], 1)
    return wide[:, ::2]


def unary(call: Callable[[torch.Tensor], object], of: Callable[[str], torch.Tensor]):
    def make(device: str) -> Callable[[], object]:
        x = of(device)
        return lambda: call(x)

    return make


def add(of: Callable[..., torch.Tensor], transposed: bool = False):
    def make(device: str) -> Callable[[], object]:
        x, y = of(device, 0), of(device, 2)
        if transposed:
            y = y.t()
        return lambda: torch.add(x, y)

    return make


def layer_norm(device: str) -> tuple[torch.Tensor, ...]:
    x = square(device).view(-1, WIDTH)
    weight = torch.linspace(0.5, 1.5, WIDTH).to(device)
    return x, weight, weight * 0.1


def norm_forward(device: str) -> Callable[[], object]:
    x, weight, bias = layer_norm(device)
    return lambda: aten.native_layer_norm(x, [WIDTH], weight, bias, 1e-5)[0]


def norm_backward(device: str) -> Callable[[], object]:
    x, weight, bias = layer_norm(device)
    grad = square(device, 4).view(-1, WIDTH)
    _, mean, rstd = aten.native_layer_norm(x, [WIDTH], weight, bias, 1e-5)
    mask = [True, True, True]
    return lambda: aten.native_layer_norm_backward(
        grad, x, [WIDTH], mean, rstd, weight, bias, mask
    )[0]


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, 1)


def transpose_copy(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous()


# Name, work, passes over 64 M floats (each read or write counts as one).
CASES = [
    ("add", add(square), 3),
    ("copy", unary(torch.clone, square), 2),
    ("cast to bfloat16", unary(torch.Tensor.bfloat16, square), 1.5),
    ("sum", unary(torch.sum, square), 1),
    ("sum over rows", unary(lambda x: x.sum(1), square), 1),
    ("sum over columns", unary(lambda x: x.sum(0), square), 1),
    ("softmax", unary(softmax, square), 2),
    ("layer norm", norm_forward, 2),
    ("layer norm backward", norm_backward, 3),
    ("add, every other column", add(halves), 5),
    ("add, transposed operand", add(square, transposed=True), 3),
    ("copy, every other column", unary(torch.Tensor.contiguous, halves), 3),
    ("copy, transposed", unary(transpose_copy, square), 2),
    ("cast to bfloat16, every other column", unary(torch.Tensor.bfloat16, halves), 2.5),
    ("sum, every other column", unary(torch.sum, halves), 2),
    ("softmax over columns", unary(lambda x: torch.softmax(x, 0), square), 2),
    ("softmax, every other column", unary(softmax, halves), 3),
]


def main() -> None:
    question = Question(f"Memory-bound operators, {SIDE} x {SIDE} floats", "bandwidth")
    speeds = question.more["GB/s"] = {}
    for name, make, passes in CASES:
        row = question.device(name, make)
        if row:
            data = passes * SIDE * SIDE * 4 / 1e3
            speeds[name] = {
                "ours": data / row.ours_us,
                "torch.cuda": data / row.theirs_us,
            }
        question.end()
    for name, pair in speeds.items():
        print(f"{name:44}{pair['torch.cuda']:12.0f}{pair['ours']:12.0f} GB/s")


if __name__ == "__main__":
    main()
