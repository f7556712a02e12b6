# SPDX-License-Identifier: Apache-2.0
"""Training steps of whole networks, for the questions that time them."""

from __future__ import annotations

import copy
import pathlib
import sys
from typing import TYPE_CHECKING

import torch
from pairs import small
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))

if TYPE_CHECKING:
    from collections.abc import Callable

Step = "Callable[[], torch.Tensor]"


def _twin(build: Callable[[], nn.Module], device: str) -> nn.Module:
    """The same weights on either device."""
    torch.manual_seed(0)
    return copy.deepcopy(build()).to(device)


def resnet50(
    device: str,
    layout: torch.memory_format = torch.contiguous_format,
    autocast: torch.dtype | None = None,
):
    """timm's ResNet-50, batch 64, SGD with momentum; autocast to a dtype if given."""
    import timm

    batch, size = small(64, 2), small(224, 64)
    model = _twin(lambda: timm.create_model("resnet50", pretrained=False), device)
    model = model.to(memory_format=layout).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(batch, 3, size, size, generator=generator).to(device)
    x = x.contiguous(memory_format=layout)
    y = torch.randint(1000, (batch,), generator=generator).to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast(device, autocast, enabled=autocast is not None):
            loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def digits(device: str):
    """The CNN of examples/digits.py, batch 64, AdamW."""
    from digits_model import BATCH, make_data, make_model

    model = _twin(make_model, device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    images, labels, _, _ = make_data()
    x, y = images[:BATCH].to(device), labels[:BATCH].to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def gpt2_model() -> nn.Module:
    """GPT-2 with 124 M parameters and random weights, without dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    if small(1, 0) == 0:
        config.n_layer = 2
    return GPT2LMHeadModel(config)


def gpt2(device: str):
    """GPT-2 124 M, 8 x 1024 tokens, bf16 weights, AdamW."""
    model = _twin(gpt2_model, device).to(torch.bfloat16).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    shape = (small(8, 1), small(1024, 32))
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(50257, shape, generator=generator).to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def bert(device: str):
    """BERT-base, 32 x 128 tokens, classification into two, AdamW."""
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    if small(1, 0) == 0:
        config.num_hidden_layers = 2
    model = _twin(lambda: BertForSequenceClassification(config), device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    shape = (small(32, 2), small(128, 16))
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(30522, shape, generator=generator).to(device)
    labels = torch.randint(2, shape[:1], generator=generator).to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=labels).loss
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step
