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

PROMPT, LENGTH = small(128, 8), small(512, 16)


class Decoder:
    """GPT-2 behind a prompt; each step writes one token's keys and values."""

    def __init__(self, device: str) -> None:
        from transformers import StaticCache

        torch.manual_seed(0)
        self.model = gpt2_model().to(device, torch.bfloat16).eval()
        self.cache = StaticCache(config=self.model.config, max_cache_len=LENGTH)
        generator = torch.Generator().manual_seed(1)
        tokens = torch.randint(50257, (1, PROMPT), generator=generator).to(device)
        with torch.no_grad():
            self.model(tokens, past_key_values=self.cache, use_cache=True)
        self.token = tokens[:, -1:].clone()

    def step(self) -> torch.Tensor:
        with torch.no_grad():
            out = self.model(self.token, past_key_values=self.cache, use_cache=True)
        return out.logits

    def rewind(self) -> None:
        """Back to the end of the prompt: the cache keeps its length on the device."""
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(PROMPT)

    def endless(self, step: Callable[[], torch.Tensor]) -> Callable[[], torch.Tensor]:
        """Rewinds once the cache is full."""
        done = 0

        def work() -> torch.Tensor:
            nonlocal done
            if done % (LENGTH - PROMPT) == 0:
                self.rewind()
            done += 1
            return step()

        return work


def eager(device: str) -> Callable[[], torch.Tensor]:
    decoder = Decoder(device)
    return decoder.endless(decoder.step)


def replayed(device: str) -> Callable[[], torch.Tensor]:
    """The step captured once, and its replay."""
    own = module(device)
    decoder = Decoder(device)
    side = own.Stream()
    with own.stream(side):
        for _ in range(3):
            decoder.step()
    own.synchronize()
    graph = getattr(own, "FlagosGraph" if device == OURS else "CUDAGraph")()
    with own.graph(graph):
        out = decoder.step()

    def replay() -> torch.Tensor:
        graph.replay()
        return out

    return decoder.endless(replay)


def graph_against_eager(device: str) -> Callable[[], torch.Tensor]:
    return replayed(device) if device == OURS else eager(device)


# Twelve layers of bfloat16, whose attention is another kernel on either side: 0.011 of
# the largest logit was seen.
TOLERANCE = 2e-2


def main() -> None:
    question = Question("GPT-2 124 M, one token, static cache", "inference")
    try:
        import transformers
    except ImportError as error:
        question.without("GPT-2 decode, eager", reason(error))
        return
    question.more["transformers"] = transformers.__version__
    question.device("GPT-2 decode, eager", eager, 1.0, TOLERANCE)
    question.device(
        "GPT-2 decode, our graph, their eager", graph_against_eager, None, TOLERANCE
    )
    question.device("GPT-2 decode, both from a graph", replayed, 0.95, TOLERANCE)


if __name__ == "__main__":
    main()
