# SPDX-License-Identifier: Apache-2.0
"""Optimizers, indexing, sorting, losses, attention: work of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from networks import gpt2_model
from pairs import Question, set_tf32, small
from torch.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[[str], Callable[[], object]]

VOCABULARY = small(50_257, 257)
WIDTH = small(768, 16)
TOKENS = small(8 * 1024, 32)
MANY = small(10_000_000, 1000)
HEADS = (small(8, 1), small(12, 2), small(1024, 16), 64)


def random(shape: tuple[int, ...], device: str, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(device)


def whole(high: int, count: int, device: str) -> torch.Tensor:
    """Indices, some of them repeated."""
    generator = torch.Generator().manual_seed(3)
    return torch.randint(high, (count,), generator=generator).to(device)


def adamw(**how: bool) -> Make:
    """A step over GPT-2's parameters, whose gradients stay as they are."""

    def make(device: str) -> Callable[[], object]:
        torch.manual_seed(0)
        parameters = list(gpt2_model().to(device).parameters())
        for parameter in parameters:
            parameter.grad = torch.full_like(parameter, 1e-3)
        optimizer = torch.optim.AdamW(parameters, lr=1e-4, **how)

        def step() -> torch.Tensor:
            optimizer.step()
            return parameters[0].detach()

        return step

    return make


def index_select(device: str) -> Callable[[], object]:
    table, at = random((VOCABULARY, WIDTH), device), whole(VOCABULARY, TOKENS, device)
    return lambda: table.index_select(0, at)


def index_add(device: str) -> Callable[[], object]:
    table, at = random((VOCABULARY, WIDTH), device), whole(VOCABULARY, TOKENS, device)
    rows = random((TOKENS, WIDTH), device, 1)
    return lambda: table.index_add(0, at, rows)


def embedding_backward(device: str) -> Callable[[], object]:
    grad, at = random((TOKENS, WIDTH), device), whole(VOCABULARY, TOKENS, device)
    backward = torch.ops.aten.embedding_dense_backward
    return lambda: backward(grad, at, VOCABULARY, -1, False)


def cross_entropy(backward: bool) -> Make:
    def make(device: str) -> Callable[[], object]:
        scores = random((TOKENS, VOCABULARY), device).requires_grad_(backward)
        labels = whole(VOCABULARY, TOKENS, device)

        def work() -> torch.Tensor | None:
            loss = F.cross_entropy(scores, labels)
            if not backward:
                return loss
            (gradient,) = torch.autograd.grad(loss, scores)
            return gradient

        return work

    return make


def of_many(call: Callable[[torch.Tensor], object]) -> Make:
    def make(device: str) -> Callable[[], object]:
        x = random((MANY,), device)
        return lambda: call(x)

    return make


def attention(backward: bool) -> Make:
    def make(device: str) -> Callable[[], object]:
        q, k, v = (
            random(HEADS, device, seed).bfloat16().requires_grad_(backward)
            for seed in range(3)
        )

        def work() -> torch.Tensor:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            if not backward:
                return out
            return torch.autograd.grad(out, q, torch.ones_like(out))[0]

        return work

    return make


def resized(device: str) -> Callable[[], object]:
    x = random((small(32, 1), 64, 56, 56), device)
    return lambda: F.interpolate(x, scale_factor=2, mode="bilinear")


def permutation(device: str) -> Callable[[], object]:
    # Two generators, two orders: only their length can be compared.
    return lambda: torch.randperm(MANY, device=device).shape[0]


CASES: list[tuple[str, Make, float | None]] = [
    ("AdamW fused, GPT-2's parameters", adamw(fused=True), 1e-5),
    ("AdamW foreach, GPT-2's parameters", adamw(foreach=True), 1e-5),
    ("index_select, 8192 rows of 768", index_select, 0.0),
    ("index_add, 8192 rows of 768", index_add, 1e-5),
    ("embedding backward, 50,257 x 768", embedding_backward, 1e-5),
    ("cross entropy over 50,257", cross_entropy(backward=False), 1e-4),
    ("cross entropy over 50,257, and backward", cross_entropy(backward=True), 1e-4),
    ("sort of 10 M", of_many(lambda x: x.sort()[0]), 0.0),
    ("topk 100 of 10 M", of_many(lambda x: x.topk(100)[0]), 0.0),
    ("cumsum of 10 M", of_many(lambda x: x.cumsum(0)), 1e-3),
    ("randperm of 10 M", permutation, None),
    ("bilinear, twice as large", resized, 1e-4),
    ("attention 8x12x1024x64, bf16, causal", attention(backward=False), 2e-2),
    ("the same and backward", attention(backward=True), 4e-2),
]


def main() -> None:
    question = Question("Operators with work of their own", "operators", seconds=90)
    set_tf32(False)
    for name, make, tolerance in CASES:
        question.device(name, make, tolerance=tolerance)
        question.end()


if __name__ == "__main__":
    main()
