# SPDX-License-Identifier: Apache-2.0
"""Streams and events: torch's own, with the conveniences of torch.cuda."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torch_fl import _C
from torch_fl._utils import DeviceLike, _get_device_index

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class Stream(torch.Stream):
    """A queue of work on a device. Streams come from a pool and are never destroyed.

    A lower number is a higher priority; 0 is the lowest.
    """

    def __new__(
        cls, device: DeviceLike = None, priority: int = 0, **numbers: int
    ) -> Self:
        if numbers:  # stream_id, device_index, device_type: an existing stream
            return super().__new__(cls, **numbers)
        index = _get_device_index(device, optional=True)
        return super().__new__(
            cls, device=torch.device("flagos", index), priority=priority
        )

    @property
    def priority(self) -> int:
        """0, or a negative number for a higher priority."""
        return _C.stream_priority(self.stream_id, self.device_index)

    @property
    def flagos_stream(self) -> int:
        """The stream's ``musaStream_t`` as a number; 0 for the default stream."""
        return _C.stream_handle(self.stream_id, self.device_index)

    musa_stream = flagos_stream
    native_handle = flagos_stream

    @property
    def _as_parameter_(self) -> int:
        return self.flagos_stream

    def __repr__(self) -> str:
        return f"<torch.flagos.Stream device={self.device} id={self.stream_id:#x}>"


class ExternalStream(Stream):
    """A stream made by another library, which keeps it alive while it is used."""

    def __new__(
        cls, stream_ptr: int, device: DeviceLike = None, **numbers: int
    ) -> Self:
        index = _get_device_index(device, optional=True)
        return super().__new__(cls, **_named(_C.external_stream(stream_ptr, index)))


class Event(torch.Event):
    """A point in a stream: to be asked for, waited for, and timed."""

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> Self:
        if interprocess:
            raise NotImplementedError(
                "flagos has no events that are shared between processes."
            )
        return super().__new__(
            cls, device="flagos", enable_timing=enable_timing, blocking=blocking
        )

    def elapsed_time(self, end_event: torch.Event) -> float:
        """Milliseconds on the device from this event to a later one."""
        return _C.elapsed_time(self.event_id, end_event.event_id)


def _named(numbers: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip(("stream_id", "device_index", "device_type"), numbers, strict=True))


def _check(value: Any) -> torch.Stream:
    if not isinstance(value, torch.Stream):
        raise TypeError(f"a flagos stream was expected, got {value!r}.")
    if value.device.type != "flagos":
        raise ValueError(f"a flagos stream was expected, got one of {value.device}.")
    return value


def current_stream(device: DeviceLike = None) -> Stream:
    """The calling thread's current stream of a device."""
    index = _get_device_index(device, optional=True)
    return Stream(**_named(_C.current_stream(index)))


def default_stream(device: DeviceLike = None) -> Stream:
    """The default stream of a device."""
    index = _get_device_index(device, optional=True)
    return Stream(**_named(_C.default_stream(index)))


def get_stream_from_external(data_ptr: int, device: DeviceLike = None) -> Stream:
    """A stream made by another library, by its ``musaStream_t``."""
    return ExternalStream(data_ptr, device)


def set_stream(stream: torch.Stream) -> None:
    """Make a stream and its device current for the calling thread; None does nothing.

    ``torch.flagos.stream`` does it for a block, and is to be preferred.
    """
    if stream is None:
        return
    checked = _check(stream)
    _C.set_device(checked.device_index)
    _C.set_stream(checked.stream_id, checked.device_index)


class StreamContext:
    """Makes a stream and its device current in a ``with`` block."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = None if stream is None else _check(stream)
        self._device = -1
        self._before: tuple[int, int, int] | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        index = self.stream.device_index
        self._before = _C.current_stream(index)
        self._device = _C.exchange_device(index)
        _C.set_stream(self.stream.stream_id, index)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            _C.set_stream(*self._before[:2])
            _C.exchange_device(self._device)
            self._before = None


def stream(stream: torch.Stream | None) -> StreamContext:
    """Make a stream current in a ``with`` block; None changes nothing."""
    return StreamContext(stream)
