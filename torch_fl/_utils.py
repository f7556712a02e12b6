# SPDX-License-Identifier: Apache-2.0
"""Device arguments, in every form that torch accepts."""

from __future__ import annotations

from typing import TypeAlias

import torch

from torch_fl import _C

DeviceLike: TypeAlias = "torch.device | str | int | None"


def _get_device_index(
    device: DeviceLike, optional: bool = False, allow_cpu: bool = False
) -> int:
    """The index meant by a device, a string, a number or, if optional, None.

    Without an index the current device is meant. ``torch.serialization`` calls this by
    its name.
    """
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = torch.device(device)
    if device is None:
        if not optional:
            raise ValueError("a flagos device was expected, got None.")
        return _C.current_device()
    if allow_cpu and device.type == "cpu":
        return -1
    if device.type != "flagos":
        raise ValueError(f"a flagos device was expected, got {device}.")
    if device.index is None:
        return _C.current_device()
    return device.index
