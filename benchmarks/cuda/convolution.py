# SPDX-License-Identifier: Apache-2.0
"""Convolution of ResNet-50's shapes, forward and backward, in both layouts.

Two parts, each in a process of its own, since a process keeps the algorithms that it
chose: ``heuristic`` sets torch.backends.cudnn.benchmark = False on both sides,
``trial`` True, where both time the candidates before they settle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from pairs import OPTIONS, Question, parts, set_tf32, small

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = small(64, 1)
# Channels in, size, channels out, kernel, stride: ResNet-50's distinct layers.
SHAPES = [
    (3, 224, 64, 7, 2),
    (64, 56, 64, 1, 1),
    (64, 56, 64, 3, 1),
    (64, 56, 256, 1, 1),
    (256, 56, 64, 1, 1),
    (256, 56, 128, 1, 1),
    (128, 56, 128, 3, 2),
    (128, 28, 512, 1, 1),
    (256, 56, 512, 1, 2),
    (512, 28, 128, 1, 1),
    (128, 28, 128, 3, 1),
    (512, 28, 256, 1, 1),
    (256, 28, 256, 3, 2),
    (256, 14, 1024, 1, 1),
    (512, 28, 1024, 1, 2),
    (1024, 14, 256, 1, 1),
    (256, 14, 256, 3, 1),
    (1024, 14, 512, 1, 1),
    (512, 14, 512, 3, 2),
    (512, 7, 2048, 1, 1),
    (1024, 14, 2048, 1, 2),
    (2048, 7, 512, 1, 1),
    (512, 7, 512, 3, 1),
]
QUICK = SHAPES[:1] + SHAPES[2:4] + SHAPES[16:17]
aten = torch.ops.aten


def operands(
    device: str, shape: tuple[int, ...], layout: torch.memory_format
) -> tuple[torch.Tensor, ...]:
    channels, size, out, kernel, stride = shape
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, channels, size, size, generator=generator)
    weight = torch.randn(out, channels, kernel, kernel, generator=generator)
    after = (size + 2 * (kernel // 2) - kernel) // stride + 1
    grad = torch.randn(1, out, after, after, generator=generator)
    x, weight, grad = (t.to(device) for t in (x, weight, grad))
    made = (x.expand(BATCH, -1, -1, -1), weight, grad.expand(BATCH, -1, -1, -1))
    return tuple(t.contiguous(memory_format=layout) for t in made)


def forward(shape: tuple[int, ...], layout: torch.memory_format):
    def make(device: str) -> Callable[[], object]:
        x, weight, _ = operands(device, shape, layout)
        kernel, stride = shape[3:]
        return lambda: torch.conv2d(x, weight, None, stride, kernel // 2)

    return make


def backward(shape: tuple[int, ...], layout: torch.memory_format):
    """Gradients of image and filter; the first layer's image has none."""
    mask = [shape[0] != 3, True, False]

    def make(device: str) -> Callable[[], object]:
        x, weight, grad = operands(device, shape, layout)
        kernel, stride = shape[3:]
        x.requires_grad_(mask[0])
        weight.requires_grad_()
        y = torch.conv2d(x, weight, None, stride, kernel // 2)
        inputs = [t for t in (x, weight) if t.requires_grad]
        return lambda: torch.autograd.grad(y, inputs, grad, retain_graph=True)[-1]

    return make


def measure(mode: str) -> None:
    torch.backends.cudnn.benchmark = mode == "trial"
    set_tf32(True)  # torch's default for convolutions
    report = f"convolution-{mode}"
    title = f"Convolution, batch {BATCH}, TF32 on, {mode}"
    question = Question(title, report, seconds=50)
    layouts = {"NCHW": torch.contiguous_format, "NHWC": torch.channels_last}
    for shape in QUICK if OPTIONS.quick or OPTIONS.rehearse else SHAPES:
        label = "x".join(map(str, shape))
        for title, layout in layouts.items():
            for way, make in (("forward", forward), ("backward", backward)):
                name = f"{label} {title} {way}, {mode}"
                question.device(name, make(shape, layout), tolerance=1e-2, rounds=5)
        question.end()


def main() -> None:
    for part in parts("heuristic", "trial"):
        measure(part)


if __name__ == "__main__":
    main()
