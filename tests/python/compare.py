# SPDX-License-Identifier: Apache-2.0
"""Runs one function on the CPU and on flagos and compares values and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

TOLERANCE = {
    torch.float16: {"rtol": 4e-3, "atol": 4e-3},
    torch.bfloat16: {"rtol": 3e-2, "atol": 3e-2},
    torch.float32: {"rtol": 2e-5, "atol": 2e-5},
    torch.float64: {"rtol": 1e-10, "atol": 1e-10},
}


def on(device: str, value: Any) -> Any:
    """A copy of a (nested) value with its tensors on a device, strides kept."""
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        if plain.numel() == 0:
            moved = plain.to(device).clone(memory_format=torch.preserve_format)
        else:
            # The memory from the first to the last element, then the same view of it.
            sizes = zip(plain.shape, plain.stride(), strict=True)
            span = 1 + sum((size - 1) * stride for size, stride in sizes)
            memory = plain.as_strided((span,), (1,)).clone().to(device)
            moved = memory.as_strided(plain.shape, plain.stride())
        return moved.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(on(device, item) for item in value)
    return value


def close(ours: Any, reference: Any, **tolerance: float) -> None:
    """Asserts equal structure, shapes, dtypes and nearly equal values."""
    if isinstance(reference, torch.Tensor):
        assert ours.device.type == "flagos", f"the result is on {ours.device}"
        limits = {**TOLERANCE.get(reference.dtype, {"rtol": 0, "atol": 0}), **tolerance}
        torch.testing.assert_close(
            ours.cpu(), reference, equal_nan=True, check_stride=False, **limits
        )
    elif isinstance(reference, (list, tuple)):
        assert len(ours) == len(reference)
        for a, b in zip(ours, reference, strict=True):
            close(a, b, **tolerance)
    else:
        assert ours == reference


def same(function: Callable[..., Any], *args: Any, **tolerance: float) -> Any:
    """Compares what a function returns on both devices; returns flagos' result."""
    reference = function(*on("cpu", args))
    ours = function(*on("flagos", args))
    close(ours, reference, **tolerance)
    return ours


def same_gradients(
    function: Callable[..., torch.Tensor], *args: Any, **tolerance: float
) -> None:
    """Compares the result and the gradients of all arguments that want one."""
    results = []
    for device in ("cpu", "flagos"):
        inputs = on(device, args)
        out = function(*inputs)
        weights = torch.linspace(-1, 1, out.numel(), dtype=torch.float64)
        out.backward(weights.view(out.shape).to(out.dtype).to(device))
        leaves = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
        assert leaves
        results.append((out.detach(), [leaf.grad for leaf in leaves]))
    close(results[1], results[0], **tolerance)
