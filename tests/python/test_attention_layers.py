# SPDX-License-Identifier: Apache-2.0
"""Softmax under masks, and the layers of attention, in training and inference."""

import copy
import itertools

import pytest
import torch
from compare import close, same, same_gradients
from torch import nn

import torch_fl

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_safe_softmax(dtype: torch.dtype, dim: int) -> None:
    x = torch.randn(5, 5, 6).to(dtype)
    x[1] = float("-inf")
    x[:, 2] = float("-inf")
    x[:, :, 3] = float("-inf")
    x[2, 3, 4] = float("nan")
    same(lambda x: torch._safe_softmax(x, dim), x)
    clean = torch.randn(4, 5, 6).to(dtype).requires_grad_()
    same_gradients(lambda x: torch._safe_softmax(x, dim), clean)


def test_safe_softmax_corners() -> None:
    low = float("-inf")
    same(lambda x: torch._safe_softmax(x, 0), torch.tensor(low))
    same(lambda x: torch._safe_softmax(x, 0), torch.tensor(2.0))
    same(lambda x: torch._safe_softmax(x, 1), torch.zeros(0, 5))
    same(lambda x: torch._safe_softmax(x, 1), torch.zeros(5, 0))
    same(lambda x: torch._safe_softmax(x, 1), torch.tensor([[low, low], [1, low]]))
    same(
        lambda x: torch._safe_softmax(x.t(), 1, torch.float32),
        torch.tensor([[low, low], [1, low]], dtype=torch.float16),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_masked_softmax(dtype: torch.dtype, kind: int, dim: int) -> None:
    masks = [torch.rand(6, 6), torch.rand(2, 6), torch.rand(2, 3, 6, 6)]
    mask = masks[kind] > 0.5
    mask[0] = True
    x = torch.randn(2, 3, 6, 6).to(dtype)
    same(lambda x, m: torch._masked_softmax(x, m, dim, kind), x, mask)


def test_masked_softmax_gradient() -> None:
    mask = torch.rand(2, 3, 6, 6) > 0.5
    x = torch.randn(2, 3, 6, 6, requires_grad=True)
    same_gradients(lambda x, m: torch._masked_softmax(x, m, 3, 2), x, mask)


def test_masked_softmax_errors() -> None:
    x = torch.randn(2, 3, 6, 6, device="flagos")
    with pytest.raises(RuntimeError, match="boolean"):
        torch._masked_softmax(x, x, 3, 2)
    with pytest.raises(RuntimeError, match="match input shape"):
        torch._masked_softmax(x, x[0] > 0, 3, 2)
    with pytest.raises(RuntimeError, match="should be \\(B, L\\)"):
        torch._masked_softmax(x, x[0, 0] > 0, 3, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_transform_bias_rescale_qkv(dtype: torch.dtype) -> None:
    qkv, bias = torch.randn(2, 5, 48).to(dtype), torch.randn(48).to(dtype)
    same(lambda x, b: torch._transform_bias_rescale_qkv(x, b, 4), qkv, bias)


def both(module: nn.Module) -> tuple[nn.Module, nn.Module]:
    return module, copy.deepcopy(module).to("flagos")


ENCODERS = list(itertools.product(["relu", "gelu"], [False, True]))


@pytest.mark.parametrize(("activation", "first"), ENCODERS)
@pytest.mark.parametrize("mask", ["none", "rows", "keys", "both"])
def test_encoder_layer_in_inference(activation: str, first: bool, mask: str) -> None:
    layer = nn.TransformerEncoderLayer(
        32, 4, 64, activation=activation, norm_first=first, batch_first=True
    ).eval()
    cpu, ours = both(layer)
    x = torch.randn(3, 7, 32)
    words = {}
    if mask in ("rows", "both"):
        words["src_mask"] = torch.ones(7, 7).triu(1).bool()
    if mask in ("keys", "both"):
        words["src_key_padding_mask"] = torch.arange(7).expand(3, 7) > 4
    moved = {name: value.to("flagos") for name, value in words.items()}
    with torch.inference_mode():
        # The fused operator itself, not the road of training.
        close(ours(x.to("flagos"), **moved), cpu(x, **words))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_encoder_layer_in_training(dtype: torch.dtype) -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0, batch_first=True)
    grads = []
    x = torch.randn(3, 7, 32).to(dtype)
    for module in both(layer.to(dtype).train()):
        device = next(module.parameters()).device
        module(x.to(device)).square().mean().backward()
        grads.append([p.grad for p in module.parameters()])
    close(grads[1], grads[0])


@pytest.mark.parametrize("need", [False, True])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_multi_head_attention_in_inference(
    need: bool, average: bool, padded: bool
) -> None:
    cpu, ours = both(nn.MultiheadAttention(32, 4, batch_first=True).eval())
    x = torch.randn(3, 7, 32)
    mask = torch.arange(7).expand(3, 7) > 4 if padded else None
    words = {"need_weights": need, "average_attn_weights": average}
    moved = mask.to("flagos") if padded else None
    y = x.to("flagos")
    with torch.inference_mode():
        reference = cpu(x, x, x, mask, **words)
        result = ours(y, y, y, moved, **words)
    close(result[0], reference[0])
    assert (result[1] is None) == (reference[1] is None)
    if need:
        close(result[1], reference[1])


def test_multi_head_attention_of_other_keys() -> None:
    layer = nn.MultiheadAttention(32, 4, kdim=16, vdim=24)
    grads = []
    q, k, v = torch.randn(5, 2, 32), torch.randn(6, 2, 16), torch.randn(6, 2, 24)
    for module in both(layer):
        device = next(module.parameters()).device
        out, weights = module(q.to(device), k.to(device), v.to(device))
        (out.sum() + weights.square().sum()).backward()
        grads.append([p.grad for p in module.parameters()])
    close(grads[1], grads[0])


def test_encoder_calls_one_operator() -> None:
    """The fast path is taken: torch asks for the fused layer, and it is native."""
    calls = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(func.name())
            return func(*args, **(kwargs or {}))

    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval().to("flagos")
    x = torch.randn(3, 7, 32, device="flagos")
    before = dict(torch_fl.fallbacks())
    with torch.no_grad(), Watch():
        layer(x)
    assert calls == ["aten::_transformer_encoder_layer_fwd"]
    assert torch_fl.fallbacks() == before
