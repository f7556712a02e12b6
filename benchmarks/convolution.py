# SPDX-License-Identifier: Apache-2.0
"""Convolution of ResNet-18's shapes, forward and backward, against torch CPU.

The portable toolkit computes with oneDNN 3.2, torch carries a newer one. Both use all
cores, or the number in MUSA_CPU_THREADS.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torch
from harness import compare, show

import torch_fl  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable

# (batch, channels in, size, channels out, kernel, stride): ResNet-18's distinct layers
SHAPES = [
    (4, 3, 224, 64, 7, 2),
    (4, 64, 56, 64, 3, 1),
    (4, 64, 56, 128, 3, 2),
    (4, 64, 56, 128, 1, 2),
    (4, 128, 28, 128, 3, 1),
    (4, 128, 28, 256, 3, 2),
    (4, 256, 14, 256, 3, 1),
    (4, 256, 14, 512, 3, 2),
    (4, 512, 7, 512, 3, 1),
]


def work(device: str, shape: tuple[int, ...], backward: bool) -> Callable[[], object]:
    batch, channels, size, out, kernel, stride = shape
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(batch, channels, size, size, generator=generator).to(device)
    w = torch.randn(out, channels, kernel, kernel, generator=generator).to(device)
    x.requires_grad_(backward)
    w.requires_grad_(backward)
    grad = None

    def run() -> None:
        nonlocal grad
        y = torch.nn.functional.conv2d(x, w, stride=stride, padding=kernel // 2)
        if backward:
            if grad is None:
                grad = torch.ones_like(y)
            torch.autograd.grad(y, (x, w), grad)
        if device != "cpu":
            torch.accelerator.synchronize()

    return run


def main() -> None:
    threads = int(os.environ.get("MUSA_CPU_THREADS", str(os.cpu_count())))
    torch.set_num_threads(threads)
    rows = []
    for shape in SHAPES:
        label = "x".join(str(n) for n in shape)
        for backward in (False, True):
            name = f"{label} {'fwd+bwd' if backward else 'fwd'}"
            pair = [work(device, shape, backward) for device in ("flagos", "cpu")]
            rows.append(compare(name, *pair, calls=2, rounds=7))
    show(f"Convolution, {threads} threads", rows, "convolution", threads=threads)


if __name__ == "__main__":
    main()
