# SPDX-License-Identifier: Apache-2.0
"""Graphs: work that is captured once and replayed with one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from torch_fl import _C
from torch_fl import _memory as memory
from torch_fl._device import current_device, synchronize
from torch_fl._stream import Stream, StreamContext

if TYPE_CHECKING:
    from types import TracebackType

    import torch

Pool = tuple[int, int]


def is_current_stream_capturing() -> bool:
    """Whether what the current stream is given is captured and not run."""
    return _C.is_current_stream_capturing()


def graph_pool_handle() -> Pool:
    """A pool of memory that several graphs may share.

    Graphs that share one must be replayed in the order of their captures, and never at
    the same time: a later one may use memory that an earlier one is done with.
    """
    return _C.graph_pool_handle()


class FlagosGraph:
    """Captured work of one device, with the memory that it uses.

    ``torch.flagos.graph`` is the usual way to capture. With ``keep_graph`` the graph is
    made runnable by ``instantiate`` or the first ``replay``, not by ``capture_end``.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._graph = _C._Graph(keep_graph)

    def capture_begin(
        self, pool: Pool | None = None, capture_error_mode: str = "global"
    ) -> None:
        """Begin to capture the current stream, which is not the default one.

        ``pool`` comes from ``graph_pool_handle`` or another graph's ``pool``. The mode
        says whose unsafe calls are errors meanwhile: those of all threads
        (``"global"``), of this one (``"thread_local"``), none (``"relaxed"``).
        """
        self._graph.capture_begin(pool, capture_error_mode)

    def capture_end(self) -> None:
        """End the capture that began on the current stream."""
        self._graph.capture_end()

    def instantiate(self) -> None:
        """Make the captured graph runnable."""
        self._graph.instantiate()

    def replay(self) -> None:
        """Run the captured work on the current stream, with new random numbers."""
        self._graph.replay()

    def reset(self) -> None:
        """Drop the graph, and give up its pool; the object may capture again."""
        self._graph.reset()

    def pool(self) -> Pool:
        """The pool of the graph's memory, for others to share."""
        return self._graph.pool()

    def enable_debug_mode(self) -> None:
        """Do nothing: every graph is kept, and can be dumped."""

    def debug_dump(self, debug_path: str) -> None:
        """Write the graph to a file for graphviz."""
        self._graph.debug_dump(debug_path)


Graph = FlagosGraph


class graph:
    """Captures what a ``with`` block does into a graph.

    Memory that the block allocates is the graph's own. Inputs are read where they lay
    during the capture: copy new values into the same tensors before a replay. The block
    runs on ``stream``, or on a stream that is kept for captures.
    """

    _streams: ClassVar[dict[int, Stream]] = {}

    def __init__(
        self,
        flagos_graph: FlagosGraph,
        pool: Pool | None = None,
        stream: torch.Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        self.flagos_graph = flagos_graph
        self.pool = pool
        self.capture_stream = stream if stream is not None else self._stream()
        self.capture_error_mode = capture_error_mode
        self._context = StreamContext(self.capture_stream)

    @classmethod
    def _stream(cls) -> Stream:
        device = current_device()
        if device not in cls._streams:
            cls._streams[device] = Stream(device)
        return cls._streams[device]

    def __enter__(self) -> None:
        synchronize(self.capture_stream.device_index)
        # The graph gets memory of its own: what lies in the caches would be missing.
        memory.empty_cache()
        self._context.__enter__()
        try:
            self.flagos_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self._context.__exit__(None, None, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.flagos_graph.capture_end()
            else:
                # What went wrong is the block's error, not the end's.
                self.flagos_graph.reset()
        finally:
            self._context.__exit__(kind, value, trace)
