# SPDX-License-Identifier: Apache-2.0
"""Looks at the toolkit that torch_fl loaded: its counters, and a latch on a stream.

The counters belong to the portable toolkit's own API layer, so they see every wait
whoever asked for it. A vendor toolkit has none.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from types import TracebackType

_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _musart() -> ctypes.CDLL:
    import torch_fl

    home = torch_fl.info()["toolkit"]
    mode = os.RTLD_NOW | os.RTLD_NOLOAD
    return ctypes.CDLL(os.path.join(home, "lib", "libmusart.so.5"), mode=mode)


def counter(name: str) -> int | None:
    """The portable toolkit's counter of that name since the process started.

    Names: ``waits`` (calls that made the host wait for the device: stream, event and
    device synchronise, blocking copies, musaFree), ``tasks``, ``wakes``,
    ``full_queue``. ``None`` with a vendor toolkit, which counts nothing.
    """
    library = _musart()
    try:
        function = library.musaPortableCounter
    except AttributeError:
        return None
    function.restype = ctypes.c_ulonglong
    function.argtypes = [ctypes.c_char_p]
    return int(function(name.encode()))


def waits() -> int | None:
    """How often the host has waited for the device, see :func:`counter`."""
    return counter("waits")


class Latch:
    """Holds a stream: nothing queued behind it runs until the latch is opened.

    A host function that waits is queued on the current stream of ``device``::

        with Latch():
            train_one_step()  # returns only if nothing in it waits for the device

    The latch opens when the block ends, also by an exception, or after ``timeout``
    seconds, so that a step that does wait fails the test instead of hanging it;
    ``expired`` tells.
    """

    def __init__(self, device: int = 0, timeout: float = 60.0) -> None:
        self.expired = False
        self._open = threading.Event()
        self._device = device
        self._timeout = timeout
        self._callback = _HOST_FUNCTION(self._wait)

    def _wait(self, _: object) -> None:
        if not self._open.wait(self._timeout):
            self.expired = True

    def __enter__(self) -> Latch:
        stream: Any = torch.accelerator.current_stream(self._device)
        launch = _musart().musaLaunchHostFunc
        launch.argtypes = [ctypes.c_void_p, _HOST_FUNCTION, ctypes.c_void_p]
        status = launch(stream.native_handle, self._callback, None)
        if status != 0:
            raise RuntimeError(f"musaLaunchHostFunc failed with code {status}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.set()
        torch.accelerator.synchronize(self._device)
