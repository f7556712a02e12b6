# SPDX-License-Identifier: Apache-2.0
"""Graph capture does not exist yet; whoever asks for it is told so."""

from __future__ import annotations

from typing import Any, NoReturn

_SENTENCE = "flagos cannot capture graphs yet: run the code without a graph."


class Graph:
    """Cannot be made."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise NotImplementedError(_SENTENCE)


def graph(*arguments: Any, **options: Any) -> NoReturn:
    """Raise: graphs cannot be captured yet."""
    raise NotImplementedError(_SENTENCE)


def graph_pool_handle() -> NoReturn:
    """Raise: graphs cannot be captured yet."""
    raise NotImplementedError(_SENTENCE)


def make_graphed_callables(*arguments: Any, **options: Any) -> NoReturn:
    """Raise: graphs cannot be captured yet."""
    raise NotImplementedError(_SENTENCE)


def is_current_stream_capturing() -> bool:
    """False: nothing is ever captured."""
    return False
