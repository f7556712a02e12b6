# SPDX-License-Identifier: Apache-2.0
"""Devices: how many, which one, what they are."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import torch

from torch_fl import _C
from torch_fl._utils import DeviceLike, _get_device_index

if TYPE_CHECKING:
    from types import TracebackType


@functools.lru_cache(maxsize=1)
def _warn_once(text: str) -> None:
    warnings.warn(text, stacklevel=3)


def device_count() -> int:
    """Number of flagos devices; 0 where there is none. Starts nothing on a device."""
    count = _C.device_count()
    if count == 0:
        why = _C.device_count_error()
        if why:
            _warn_once(f"no flagos device can be used, musaGetDeviceCount says: {why}")
    return count


def is_available() -> bool:
    """Whether a flagos device can be used. Starts nothing on a device."""
    return device_count() > 0


def is_initialized() -> bool:
    """Whether this process has used a flagos device."""
    return _C.is_initialized()


def init() -> None:
    """Start the current device now instead of at its first use."""
    _C.initialize()


def _lazy_init() -> None:
    _C.initialize()


def _is_in_bad_fork() -> bool:
    return _C.is_in_bad_fork()


def current_device() -> int:
    """Index of the calling thread's current device."""
    return _C.current_device()


def set_device(device: DeviceLike) -> None:
    """Make a device current for the calling thread; a negative index does nothing."""
    index = _get_device_index(device)
    if index >= 0:
        _C.set_device(index)


def _exchange_device(index: int) -> int:
    return _C.exchange_device(index)


def _maybe_exchange_device(index: int) -> int:
    return _C.exchange_device(index)


class device:
    """Makes a device current in a ``with`` block; -1 or None changes nothing."""

    def __init__(self, device: DeviceLike) -> None:
        self.idx = _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _C.exchange_device(self.idx)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _C.exchange_device(self.prev_idx)


class device_of(device):
    """Makes the device of a tensor or storage current in a ``with`` block.

    An object that is not on flagos changes nothing.
    """

    def __init__(self, obj: Any) -> None:
        where = torch.device(obj.device)
        super().__init__(where if where.type == "flagos" else -1)


def synchronize(device: DeviceLike = None) -> None:
    """Wait until everything submitted to a device is done."""
    _C.synchronize(_get_device_index(device, optional=True))


def get_device_properties(device: DeviceLike = None) -> _C._FlagosDeviceProperties:
    """Name, memory, processors and limits of a device."""
    return _C.device_properties(_get_device_index(device, optional=True))


def get_device_name(device: DeviceLike = None) -> str:
    """Name of a device."""
    return get_device_properties(device).name


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """Major and minor compute capability of a device."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def get_amp_supported_dtype() -> list[torch.dtype]:
    """What ``torch.autocast("flagos", dtype=...)`` may be given."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether tensors and operators of bfloat16 work."""
    return is_available()


def ipc_collect() -> None:
    """Do nothing: flagos shares no device memory between processes."""
