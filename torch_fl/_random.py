# SPDX-License-Identifier: Apache-2.0
"""Seeds and states of the devices' generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_fl import _C
from torch_fl._utils import DeviceLike, _get_device_index

if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch

_SEED_MASK = (1 << 64) - 1


def _generator(device: DeviceLike) -> torch.Generator:
    return _C.default_generator(_get_device_index(device, optional=True))


def default_generators() -> tuple[torch.Generator, ...]:
    """The default generators of all devices."""
    return tuple(_C.default_generator(i) for i in range(_C.device_count()))


def get_rng_state(device: DeviceLike = "flagos") -> torch.Tensor:
    """State of a device's generator: 16 bytes, seed and offset."""
    return _generator(device).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """States of all devices' generators."""
    return [generator.get_state() for generator in default_generators()]


def set_rng_state(new_state: torch.Tensor, device: DeviceLike = "flagos") -> None:
    """Set the state of a device's generator."""
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Set the states of all devices' generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seed the current device's generator; without a device, what later ones get."""
    if _C.device_count() == 0:
        _C.manual_seed_all(int(seed) & _SEED_MASK)
    else:
        _generator(None).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    _C.manual_seed_all(int(seed) & _SEED_MASK)


def seed() -> int:
    """Seed the current device's generator with a random number, and return it."""
    return _generator(None).seed()


def seed_all() -> int:
    """Seed the generators of all devices with one random number, and return it."""
    number = _generator(None).seed()
    _C.manual_seed_all(number & _SEED_MASK)
    return number


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return _generator(None).initial_seed()
