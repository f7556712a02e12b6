# SPDX-License-Identifier: Apache-2.0
"""GPT-2's decoding, a token at a time with a static cache: eager, and from a graph.

Three rows: eager against eager, our graph against torch.cuda's eager, and our graph
against torch.cuda's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from networks import gpt2_model
from pairs import OURS, Question, module, reason, small

if TYPE_CHECKING:
    from collections.abc import Callable

PROMPT, LENGTH = small(128, 8), small(512, 32)


def decoder(device: str) -> Callable[[], torch.Tensor]:
    """One step behind a prompt that fills the cache; it writes the same place anew."""
    from transformers import StaticCache

    torch.manual_seed(0)
    model = gpt2_model().to(device, torch.bfloat16).eval()
    cache = StaticCache(config=model.config, max_cache_len=LENGTH)
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(50257, (1, PROMPT), generator=generator).to(device)
    position = torch.arange(PROMPT).to(device)
    with torch.no_grad():
        model(tokens, past_key_values=cache, cache_position=position, use_cache=True)
    token = tokens[:, -1:].clone()
    behind = torch.full((1,), PROMPT).to(device)

    def step() -> torch.Tensor:
        with torch.no_grad():
            out = model(
                token, past_key_values=cache, cache_position=behind, use_cache=True
            )
        return out.logits

    return step


def replayed(device: str) -> Callable[[], torch.Tensor]:
    """The step captured once, and its replay."""
    own = module(device)
    kind = "FlagosGraph" if device == OURS else "CUDAGraph"
    step = decoder(device)
    side = own.Stream()
    with own.stream(side):
        for _ in range(3):
            step()
    own.synchronize()
    graph = getattr(own, kind)()
    with own.graph(graph):
        out = step()

    def replay() -> torch.Tensor:
        graph.replay()
        return out

    return replay


def graph_against_eager(device: str) -> Callable[[], torch.Tensor]:
    return replayed(device) if device == OURS else decoder(device)


def main() -> None:
    question = Question("GPT-2 124 M, one token, static cache", "inference")
    try:
        import transformers
    except ImportError as error:
        question.without("GPT-2 decode, eager", reason(error))
        return
    question.more["transformers"] = transformers.__version__
    question.device("GPT-2 decode, eager", decoder, 1.0, 1e-2)
    question.device(
        "GPT-2 decode, our graph, their eager", graph_against_eager, None, 1e-2
    )
    question.device("GPT-2 decode, both from a graph", replayed, 0.95, 1e-2)


if __name__ == "__main__":
    main()
