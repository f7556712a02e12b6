# SPDX-License-Identifier: Apache-2.0
"""The device ``flagos`` for PyTorch; importing this package makes it known to torch.

It may be imported before or after torch; installed, ``import torch`` alone is enough.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def _import_torch() -> ModuleType:
    """Import torch; if that is new, keep other backends from claiming the device slot.

    The switch is put back at once, or child processes would inherit it.
    """
    if "torch" in sys.modules:
        return sys.modules["torch"]
    name = "TORCH_DEVICE_BACKEND_AUTOLOAD"
    before = os.environ.get(name)
    os.environ[name] = "0"
    try:
        import torch
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
    return torch


def _name_device(torch: ModuleType, flagos: ModuleType) -> None:
    """Rename PrivateUse1 and give tensors, storages and modules their methods."""
    torch.utils.rename_privateuse1_backend("flagos")
    torch._register_device_module("flagos", flagos)
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )


def _start() -> dict[str, str]:
    """Everything that an import does, in order; returns what `info` shows."""
    torch = _import_torch()

    from torch_fl import _loader

    build, home = _loader.load(torch)  # checks, then opens the toolkit

    from torch_fl import _C  # opens the core, whose operators register themselves

    _loader.check_maps(home, build)
    _C.check_environment()

    from torch_fl import _patches, _sharing, flagos

    _name_device(torch, flagos)
    _patches.apply()
    _sharing.register()
    atexit.register(_C.stop)  # queued work ends before the process's memory does
    return {"torch": str(torch.__version__), **_loader.describe(build, home)}


_info = _start()


def info() -> dict[str, str]:
    """What is installed and loaded: versions, toolkit, engine, devices."""
    from torch_fl import _C

    return {**_info, "devices": str(_C.device_count())}


def fallbacks(raw: bool = False) -> dict[str, int]:
    """Operators that ran on the CPU since the start or reset_fallbacks, with calls.

    ``raw`` names the overload that reached the backend, such as ``aten::tril.out``.
    """
    from torch_fl import _C

    counts: dict[str, int] = {}
    for name, raw_name, calls in _C.fallbacks():
        key = raw_name if raw else name
        counts[key] = counts.get(key, 0) + calls
    return counts


def reset_fallbacks() -> None:
    """Forget the operators that ran on the CPU."""
    from torch_fl import _C

    _C.reset_fallbacks()


def is_strict() -> bool:
    """Whether an operator that would run on the CPU raises instead."""
    from torch_fl import _C

    return _C.is_strict()


def set_strict(on: bool = True) -> None:
    """Raise where an operator would run on the CPU; overrides FLAGOS_STRICT."""
    from torch_fl import _C

    _C.set_strict(on)


__all__ = [
    "fallbacks",
    "flagos",
    "info",
    "is_strict",
    "reset_fallbacks",
    "set_strict",
]
