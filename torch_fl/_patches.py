# SPDX-License-Identifier: Apache-2.0
"""What of torch itself is changed, why, and until which version."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_CROSSING = {"cpu", "flagos"}


def _must_swap(
    module: torch.nn.Module, fn: Callable[[Any], Any], recurse: bool
) -> bool:
    """Whether a conversion moves parameters between CPU and flagos."""
    for where in {parameter.device for parameter in module.parameters(recurse)}:
        if where.type not in _CROSSING:
            continue
        probe = torch.empty(0, device=where)
        with torch.no_grad():
            moved = fn(probe)
        if {where.type, moved.device.type} == _CROSSING:
            return not torch._has_compatible_shallow_copy_type(probe, moved)
    return False


def _keep_parameters() -> None:
    """Let ``module.to("flagos")`` keep its Parameter objects, as with torch.cuda.

    Up to torch 2.14 C++ names the devices between which ``parameter.data = moved``
    works, and PrivateUse1 is not among them: each parameter becomes a new one, tied
    weights come apart and an optimizer goes on with the old ones, in silence. Torch's
    own way out, swapping the contents, is switched on for such conversions only.
    Later versions ask a hook of the backend (pytorch 022e153b), which
    ``_has_compatible_shallow_copy_type`` shows.
    """
    original: Any = torch.nn.Module._apply
    future: Any = torch.__future__

    @functools.wraps(original)
    def _apply(
        self: torch.nn.Module, fn: Callable[[Any], Any], recurse: bool = True
    ) -> Any:
        if future.get_swap_module_params_on_conversion() or not _must_swap(
            self, fn, recurse
        ):
            return original(self, fn, recurse)
        future.set_swap_module_params_on_conversion(True)
        try:
            return original(self, fn, recurse)
        except RuntimeError as error:
            # A parameter that something else refers to: new objects for the rest.
            if "Couldn't swap" not in str(error):
                raise
        finally:
            future.set_swap_module_params_on_conversion(False)
        return original(self, fn, recurse)

    torch.nn.Module._apply = _apply  # type: ignore[method-assign]


def apply() -> None:
    """Apply every change, once."""
    _keep_parameters()
