# SPDX-License-Identifier: Apache-2.0
"""scaled_dot_product_attention: values and gradients against the CPU's composition."""

import pytest
import torch
from compare import close, on, same, same_gradients
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attention

import torch_fl

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
MASKS = {
    "none": lambda b, h, rows, keys: None,
    "rows": lambda b, h, rows, keys: torch.randn(rows, keys),
    "batch": lambda b, h, rows, keys: torch.randn(b, 1, rows, keys),
    "heads": lambda b, h, rows, keys: torch.randn(1, h, rows, keys),
    "keys": lambda b, h, rows, keys: torch.randn(b, 1, 1, keys),
    "full": lambda b, h, rows, keys: torch.randn(b, h, rows, keys),
    "number": lambda b, h, rows, keys: torch.randn(1, 1, 1, 1),
    "bool": lambda b, h, rows, keys: torch.rand(b, 1, rows, keys) > 0.3,
    "bool keys": lambda b, h, rows, keys: torch.arange(keys).expand(b, 1, 1, keys) < 5,
}


def reference(*args, **words):
    """Torch's own composition, also where the CPU has a fused operator."""
    with sdpa_kernel(SDPBackend.MATH):
        return attention(*args, **words)


def run(query: torch.Tensor, *args, **words) -> torch.Tensor:
    form = attention if query.device.type == "flagos" else reference
    return form(query, *args, **words)


def operands(
    dtype: torch.dtype = torch.float32,
    sizes: tuple[int, ...] = (2, 4, 7, 9, 16, 16),
    groups: int = 0,
) -> list[torch.Tensor]:
    b, h, rows, keys, width, depth = sizes
    shapes = [
        (b, h, rows, width),
        (b, groups or h, keys, width),
        (b, groups or h, keys, depth),
    ]
    return [torch.randn(s).to(dtype).requires_grad_() for s in shapes]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", [(2, 4, 7, 9, 16, 16), (1, 3, 9, 5, 8, 12)])
def test_dtypes_and_lengths(dtype, causal: bool, sizes: tuple[int, ...]) -> None:
    same_gradients(
        lambda q, k, v: run(q, k, v, is_causal=causal), *operands(dtype, sizes)
    )


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_masks(name: str, dtype: torch.dtype) -> None:
    mask = MASKS[name](2, 4, 7, 9)
    if mask is not None and mask.is_floating_point():
        mask = mask.to(dtype)
    same_gradients(lambda q, k, v, m: run(q, k, v, m), *operands(dtype), mask)


@pytest.mark.parametrize("name", ["rows", "batch", "keys", "full", "number"])
def test_gradient_of_a_mask(name: str) -> None:
    mask = MASKS[name](2, 4, 7, 9).requires_grad_()
    same_gradients(lambda q, k, v, m: run(q, k, v, m), *operands(), mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_rows_that_see_nothing(dtype: torch.dtype) -> None:
    mask = torch.ones(7, 9, dtype=torch.bool)
    mask[2] = False
    same_gradients(lambda q, k, v, m: run(q, k, v, m), *operands(dtype), mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("groups", [1, 2])
def test_grouped_queries(dtype: torch.dtype, groups: int) -> None:
    args = operands(dtype, groups=groups)
    same_gradients(lambda q, k, v: run(q, k, v, enable_gqa=True), *args)
    same_gradients(
        lambda q, k, v: run(q, k, v, is_causal=True, enable_gqa=True, scale=0.3), *args
    )


def test_scale() -> None:
    same_gradients(lambda q, k, v: run(q, k, v, scale=0.7), *operands())
    same_gradients(lambda q, k, v: run(q, k, v, scale=0.0), *operands())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("width", [1, 5, 64, 128, 160, 192, 256])
def test_head_sizes(dtype: torch.dtype, width: int) -> None:
    args = operands(dtype, (1, 2, 5, 6, width, width))
    same_gradients(lambda q, k, v: run(q, k, v, is_causal=True), *args)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_strided_operands(dtype: torch.dtype) -> None:
    together = torch.randn(2, 9, 3, 4, 16).to(dtype).requires_grad_()

    def packed(x: torch.Tensor) -> torch.Tensor:
        q, k, v = x.permute(2, 0, 3, 1, 4)
        return run(q, k, v, is_causal=True)

    same_gradients(packed, together)
    key = torch.randn(2, 1, 9, 16).to(dtype).requires_grad_()
    query = torch.randn(2, 4, 7, 32).to(dtype).requires_grad_()
    same_gradients(
        lambda q, k: run(q[..., ::2], k.expand(2, 4, 9, 16), k.expand(2, 4, 9, 16)),
        query,
        key,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_expanded_gradient(dtype: torch.dtype) -> None:
    results = []
    args = operands(dtype)
    for device in ("cpu", "flagos"):
        leaves = on(device, args)
        run(*leaves).sum().backward()
        results.append([leaf.grad for leaf in leaves])
    close(results[1], results[0])


def test_some_gradients_only() -> None:
    query, key, value = operands()
    same_gradients(lambda q, k, v: run(q, k, v), query, key.detach(), value.detach())
    same_gradients(lambda q, k, v: run(q, k, v), query.detach(), key, value.detach())
    same_gradients(lambda q, k, v: run(q, k, v), query.detach(), key.detach(), value)


@pytest.mark.parametrize("sizes", [(0, 2, 3, 4, 8, 8), (2, 2, 0, 4, 8, 8)])
def test_empty(sizes: tuple[int, ...]) -> None:
    same_gradients(lambda q, k, v: run(q, k, v), *operands(sizes=sizes))


def test_no_keys_give_zeros() -> None:
    query, key, value = on("flagos", operands(sizes=(2, 2, 3, 0, 8, 8)))
    out = attention(query, key, value)
    assert out.shape == (2, 2, 3, 8)
    assert not out.any()


@pytest.mark.parametrize("shape", [(5, 16), (4, 5, 16), (2, 3, 4, 5, 16)])
def test_other_ranks(shape: tuple[int, ...]) -> None:
    args = [torch.randn(shape).requires_grad_() for _ in range(3)]
    same_gradients(lambda q, k, v: run(q, k, v), *args)


def test_broadcast_batches() -> None:
    args = (torch.randn(2, 4, 7, 16), torch.randn(1, 4, 9, 16), torch.randn(4, 9, 16))
    same(lambda q, k, v: run(q, k, v), *args)


def test_nan_and_infinity() -> None:
    query, key, value = (x.detach() for x in operands())
    query[0, 0, 0, 0] = float("nan")
    value[1, 1, 0, 0] = float("inf")
    same(lambda q, k, v: run(q, k, v), query, key, value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout(dtype: torch.dtype) -> None:
    """With equal weights, an element of out counts what was kept."""
    p, keys = 0.25, 512
    query = torch.zeros(2, 2, 64, 16, dtype=dtype, device="flagos", requires_grad=True)
    key = torch.randn(2, 2, keys, 16, device="flagos").to(dtype).requires_grad_()
    value = torch.eye(keys, device="flagos").to(dtype).expand(2, 2, keys, keys)
    value = value.contiguous().requires_grad_()
    torch.manual_seed(3)
    out = attention(query, key, value, dropout_p=p)
    kept = out.detach().cpu() != 0
    assert abs(kept.float().mean().item() - (1 - p)) < 0.01
    expected = kept.to(dtype) / (keys * (1 - p))
    torch.testing.assert_close(out.detach().cpu(), expected, rtol=1e-2, atol=1e-6)
    torch.manual_seed(3)
    assert torch.equal(out.cpu(), attention(query, key, value, dropout_p=p).cpu())
    assert not torch.equal(out.cpu(), attention(query, key, value, dropout_p=p).cpu())
    out.sum().backward()
    wanted = expected.sum(-2).unsqueeze(-1).expand(value.shape)
    torch.testing.assert_close(value.grad.cpu(), wanted.to(dtype), rtol=2e-2, atol=1e-4)


def test_gradient_under_dropout() -> None:
    """The backward pass drops what the forward pass has dropped."""
    query, key, value = (
        x.detach().to("flagos").requires_grad_() for x in operands(torch.float64)
    )

    def loss(q: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(11)
        return attention(q, key, value, dropout_p=0.4).square().sum()

    loss(query).backward()
    step = torch.randn(query.shape, dtype=torch.float64).to("flagos")
    with torch.no_grad():
        slope = (loss(query + 1e-6 * step) - loss(query - 1e-6 * step)) / 2e-6
    torch.testing.assert_close((query.grad * step).sum(), slope, rtol=1e-5, atol=1e-6)


def test_everything_dropped() -> None:
    query, key, value = on("flagos", operands())
    out = attention(query, key, value, dropout_p=1.0)
    assert not out.any()
    out.sum().backward()
    assert not query.grad.any()
    assert not value.grad.any()


def test_kernel_context() -> None:
    query, key, value = on("flagos", operands())
    choice = torch._fused_sdp_choice
    assert choice(query, key, value) == SDPBackend.OVERRIDEABLE.value
    with sdpa_kernel(SDPBackend.MATH):
        assert choice(query, key, value) == SDPBackend.MATH.value
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.OVERRIDEABLE], set_priority=True):
        assert choice(query, key, value) == SDPBackend.MATH.value
    with (
        sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION),
        pytest.raises(RuntimeError, match="No available kernel"),
    ):
        attention(query, key, value)


def test_flash_by_context() -> None:
    wide = on("flagos", operands())
    half = on("flagos", operands(torch.bfloat16))
    fused = torch.ops.aten._scaled_dot_product_fused_attention_overrideable
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        assert torch._fused_sdp_choice(*half) == SDPBackend.OVERRIDEABLE.value
        assert fused(*half)[1].shape == (2, 4, 7)
        with pytest.raises(RuntimeError, match="No available kernel"):
            attention(*wide)
        with pytest.raises(RuntimeError, match="No available kernel"):
            attention(*half, dropout_p=0.5)
    with sdpa_kernel(SDPBackend.OVERRIDEABLE):
        assert torch._fused_sdp_choice(*wide) == SDPBackend.OVERRIDEABLE.value
        assert fused(*half)[1].numel() == 0


def test_flash_leaves_the_sums_of_rows() -> None:
    query, key, value = operands(torch.float16, (2, 4, 70, 150, 16, 16))
    fused = torch.ops.aten._scaled_dot_product_fused_attention_overrideable
    with torch.no_grad():
        sums = fused(*on("flagos", [query, key, value]))[1]
        scores = query.float() @ key.float().transpose(-2, -1) / 4
    close(sums, scores.logsumexp(-1), rtol=1e-3, atol=1e-3)


def test_memory_order_follows_the_query() -> None:
    def heads(length: int) -> torch.Tensor:
        dense = torch.randn(2, length, 4, 16, dtype=torch.bfloat16, device="flagos")
        return dense.transpose(1, 2).requires_grad_()

    query, key, value = heads(7), heads(9), heads(9)
    out = attention(query, key, value)
    assert out.transpose(1, 2).is_contiguous()
    out.sum().backward()
    for leaf in (query, key, value):
        assert leaf.grad.transpose(1, 2).is_contiguous()


@pytest.mark.parametrize("dtype", FLOATS)
def test_composition_by_context(dtype: torch.dtype) -> None:
    def composed(q, k, v, m):
        with sdpa_kernel(SDPBackend.MATH):
            return attention(q, k, v, m)

    same_gradients(composed, *operands(dtype), torch.rand(7, 9) > 0.2)


def test_deterministic_algorithms() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        args = operands(torch.bfloat16, (2, 4, 130, 130, 64, 64))
        grads = []
        for _ in range(2):
            leaves = on("flagos", args)
            attention(*leaves, is_causal=True).sum().backward()
            grads.append([leaf.grad.cpu() for leaf in leaves])
        for a, b in zip(*grads, strict=True):
            assert torch.equal(a, b)
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_longer_than_a_block(dtype: torch.dtype) -> None:
    args = operands(dtype, (1, 2, 300, 421, 64, 64))
    same_gradients(lambda q, k, v: run(q, k, v), *args)
    same_gradients(lambda q, k, v: run(q, k, v, is_causal=True), *args)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("words", [{"is_causal": True}, {"dropout_p": 0.5}])
def test_replay(dtype: torch.dtype, words: dict) -> None:
    """Nothing is read by the host: both roads can be captured."""
    leaves = on("flagos", operands(dtype, (1, 2, 9, 9, 16, 16)))

    def step() -> list[torch.Tensor]:
        out = attention(*leaves, **words)
        return [out, *torch.autograd.grad(out.float().square().sum(), leaves)]

    graph = torch.flagos.Graph()
    with torch.flagos.graph(graph):
        replayed = step()
    with torch.no_grad():
        for leaf in leaves:
            leaf.copy_(torch.randn(leaf.shape))
    graph.replay()
    if "dropout_p" in words:
        assert (replayed[0].detach().cpu() != 0).any()
        return
    for ours, again in zip(replayed, step(), strict=True):
        assert torch.equal(ours.detach().cpu(), again.detach().cpu())


def test_autocast() -> None:
    query, key, value = (x.detach().to("flagos") for x in operands())
    with torch.autocast("flagos", dtype=torch.bfloat16):
        out = attention(query, key, value)
    assert out.dtype == torch.bfloat16
    assert torch_fl.fallbacks() == {} or all(
        "attention" not in name for name in torch_fl.fallbacks()
    )


def test_errors() -> None:
    query, key, value = (x.detach().to("flagos") for x in operands())
    with pytest.raises(RuntimeError, match="same dtype"):
        attention(query, key.half(), value)
    with pytest.raises(RuntimeError, match="xplicit attn_mask should not"):
        attention(query, key, value, torch.ones(7, 9, device="flagos"), is_causal=True)
    with pytest.raises(RuntimeError):
        attention(query, key, value, torch.ones(7, 5, device="flagos"))
    with pytest.raises(RuntimeError, match=r"same device|two devices"):
        attention(query, key.cpu(), value)
