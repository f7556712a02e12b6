# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators against the CPU: dtypes, forms, layouts, numbers, errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from compare import close, same, same_gradients

if TYPE_CHECKING:
    from collections.abc import Callable

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
NAN, INF = math.nan, math.inf


def values(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Small numbers of both signs; no zeros, so that they can be divisors."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if dtype.is_floating_point:
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        return (x + 0.05 * torch.sign(x)).to(dtype)
    low = 1 if dtype == torch.uint8 else -7
    x = torch.randint(low, 8, shape, generator=generator)
    return torch.where(x == 0, 3, x).to(dtype)


def layouts(dtype: torch.dtype, seed: int = 0) -> dict[str, torch.Tensor]:
    big = values((6, 4, 10), dtype, seed)
    return {
        "dense": values((3, 4, 5), dtype, seed),
        "transposed": values((5, 4, 3), dtype, seed).transpose(0, 2),
        "strided": big[::2, :, ::2],
        "offset": values((4, 4, 5), dtype, seed)[1:],
        "expanded": values((3, 1, 5), dtype, seed).expand(3, 4, 5),
        "channels_last": values((2, 3, 4, 5), dtype, seed).to(
            memory_format=torch.channels_last
        ),
        "scalar": values((), dtype, seed),
        "empty": values((0, 3), dtype, seed),
    }


LAYOUTS = list(layouts(torch.float32))

UNARY_FLOAT = [
    "sqrt",
    "rsqrt",
    "exp",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "acos",
    "atan",
    "tanh",
    "sigmoid",
    "erf",
    "expm1",
    "reciprocal",
]
UNARY_SAME = ["abs", "neg", "sign", "sgn", "floor", "ceil", "round", "trunc"]
POSITIVE = {"sqrt", "rsqrt", "log", "log2", "log10", "log1p"}


def fit(name: str, x: torch.Tensor) -> torch.Tensor:
    if name in POSITIVE:
        return x.abs()
    return torch.tanh(x) if name == "acos" and x.is_floating_point() else x


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY_FLOAT + UNARY_SAME)
def test_unary(name: str, dtype: torch.dtype) -> None:
    function = getattr(torch, name)
    for x in layouts(dtype).values():
        same(function, fit(name, x))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", UNARY_SAME)
def test_unary_on_integers(name: str, dtype: torch.dtype) -> None:
    same(getattr(torch, name), values((3, 4), dtype))
    same(getattr(torch, name), values((4, 3), dtype).t())


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool], ids=str)
@pytest.mark.parametrize("name", [n for n in UNARY_FLOAT if n != "acos"])
def test_unary_promotes_integers(name: str, dtype: torch.dtype) -> None:
    x = values((3, 4), dtype)
    x = x if dtype in (torch.uint8, torch.bool) or name not in POSITIVE else x.abs()
    same(getattr(torch, name), x)


@pytest.mark.parametrize("name", UNARY_FLOAT + UNARY_SAME)
def test_unary_forms(name: str) -> None:
    function = getattr(torch, name)
    x = fit(name, values((4, 6), torch.float32))
    X = x.to("flagos")
    expected = function(x)
    out = torch.empty(4, 6, device="flagos")
    assert function(X, out=out) is out
    close(out, expected)
    resized = torch.empty(0, device="flagos")
    close(function(X, out=resized), expected)
    strided = torch.empty(6, 4, device="flagos").t()
    close(function(X, out=strided), expected)
    assert strided.stride() == (1, 4)
    double = torch.empty(4, 6, device="flagos", dtype=torch.float64)
    if name not in ("abs", "neg", "sign", "sgn", "floor", "ceil", "round", "trunc"):
        close(function(X, out=double), expected.double(), rtol=1e-5, atol=1e-5)
    y = X.clone()
    assert getattr(y, name + "_")() is y
    close(y, expected)
    z = X.t().clone().t()
    getattr(z, name + "_")()
    close(z, expected)


def test_expm1_keeps_its_digits_near_zero() -> None:
    x = torch.tensor([1e-8, -1e-8, 1e-4, 0.3, -0.4, 2.0, 30.0, -30.0, 0.0, INF, -INF])
    for dtype in (torch.float32, torch.float64):
        same(torch.expm1, x.to(dtype), rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(dtype: torch.dtype, approximate: str) -> None:
    for x in layouts(dtype).values():
        same(torch.nn.functional.gelu, x)
        same(lambda t: torch.nn.functional.gelu(t, approximate=approximate), x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["relu", "silu", "leaky_relu", "sigmoid", "tanh"])
def test_activations(name: str, dtype: torch.dtype) -> None:
    function = getattr(torch.nn.functional, name, None) or getattr(torch, name)
    for x in layouts(dtype).values():
        same(function, x)


def test_relu_forms() -> None:
    x = torch.tensor([[-1.0, 2.0, NAN], [0.0, -0.0, INF]])
    same(torch.relu, x)
    same(lambda t: t.clone().relu_(), x)
    same(torch.relu, x.to(torch.int64).clamp(-3, 3))
    with pytest.raises(RuntimeError, match="Boolean inputs not supported for relu"):
        torch.relu(torch.ones(2, dtype=torch.bool, device="flagos"))


@pytest.mark.parametrize(
    "function",
    [
        torch.sigmoid,
        torch.tanh,
        torch.relu,
        torch.nn.functional.silu,
        torch.nn.functional.gelu,
        lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        torch.nn.functional.leaky_relu,
        torch.exp,
        lambda x: x.abs().sqrt(),
        torch.expm1,
        lambda x: x * x + x / 3 - x.pow(3),
        lambda x: torch.where(x > 0, x, x * 2),
        lambda x: x.clamp(-0.5, 0.5),
        lambda x: torch.maximum(x, torch.full_like(x, 0.1)),
        lambda x: torch.lerp(x, x * 2, 0.3),
        lambda x: torch.addcmul(x, x, x, value=0.5),
        lambda x: torch.addcdiv(x, x, x.abs() + 1, value=0.5),
    ],
)
def test_gradients(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    for shape in ((4, 5), (3, 4, 5)):
        x = values(shape, torch.float32).requires_grad_()
        same_gradients(function, x)
        same_gradients(function, values(shape, torch.float64).requires_grad_())


BINARY: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "add alpha": lambda a, b: torch.add(a, b, alpha=3),
    "sub": torch.sub,
    "sub alpha": lambda a, b: torch.sub(a, b, alpha=2),
    "rsub": torch.rsub,
    "mul": torch.mul,
    "div": torch.div,
    "div floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "div trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "floor_divide": torch.floor_divide,
    "fmod": torch.fmod,
    "remainder": torch.remainder,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, dtype: torch.dtype) -> None:
    left, right = layouts(dtype), layouts(dtype, 1)
    for a, b in (
        ("dense", "dense"),
        ("dense", "transposed"),
        ("strided", "offset"),
        ("expanded", "dense"),
        ("dense", "expanded"),
        ("channels_last", "channels_last"),
        ("dense", "scalar"),
        ("scalar", "strided"),
        ("scalar", "scalar"),
        ("empty", "empty"),
    ):
        ours = same(BINARY[name], left[a], right[b])
        reference = BINARY[name](left[a], right[b])
        if reference.numel() > 0:
            assert ours.stride() == reference.stride()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_pow(dtype: torch.dtype) -> None:
    x, y = values((3, 4), dtype).abs(), values((3, 4), dtype, 1)
    same(torch.pow, x, y)
    same(torch.pow, x, values((4,), dtype, 1))
    for e in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.7):
        same(lambda t, e=e: torch.pow(t, e), x)
    same(lambda t: torch.pow(2.5, t), y)
    same(lambda t: torch.pow(1, t), y)
    same(lambda t: t.clone().pow_(2), y)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("number", [2, 2.5, -3, True])
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.int64, torch.int32]
)
def test_binary_with_a_number(name: str, number: float, dtype: torch.dtype) -> None:
    x = values((3, 4), dtype)
    n = torch.tensor(number)
    if name in ("sub", "sub alpha", "rsub") and number is True:
        pytest.skip("sub of bool: an error on the CPU too")
    if "alpha" in name and number is True:
        pytest.skip("integer alpha of bool: an error on the CPU too")
    same(lambda t: BINARY[name](t, n), x)  # a CPU scalar tensor
    same(lambda t: BINARY[name](n, t), x)
    same(lambda t: BINARY[name](t, n), values((4, 3), dtype).t())


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
def test_python_operators(dtype: torch.dtype) -> None:
    x = values((3, 4), dtype)
    numbers = (2, 2.5) if dtype.is_floating_point else (2, 3)
    for n in numbers:
        for f in (
            lambda t, n=n: t + n,
            lambda t, n=n: n + t,
            lambda t, n=n: t - n,
            lambda t, n=n: n - t,
            lambda t, n=n: t * n,
            lambda t, n=n: t / n,
            lambda t, n=n: n / t,
            lambda t, n=n: t // n,
            lambda t, n=n: t % n,
            lambda t, n=n: n % t,
            lambda t, n=n: t == n,
            lambda t, n=n: t > n,
            lambda t, n=n: n > t,
            lambda t, n=n: -t if dtype != torch.uint8 else t,
            lambda t, n=n: abs(t),
        ):
            same(f, x)
            same(f, x.t())


MIXED = [
    (torch.float32, torch.int64),
    (torch.int64, torch.float32),
    (torch.float32, torch.float64),
    (torch.float16, torch.float32),
    (torch.bfloat16, torch.float16),
    (torch.int32, torch.int64),
    (torch.uint8, torch.int8),
    (torch.bool, torch.int64),
    (torch.bool, torch.float32),
    (torch.float32, torch.bool),
]


@pytest.mark.parametrize("pair", MIXED, ids=str)
@pytest.mark.parametrize(
    "name", ["add", "mul", "div", "maximum", "eq", "lt", "logical_and"]
)
def test_binary_promotes(name: str, pair: tuple[torch.dtype, torch.dtype]) -> None:
    a, b = values((3, 4), pair[0]), values((3, 4), pair[1], 1)
    same(BINARY[name], a, b)
    same(BINARY[name], a, b[:1])
    same(BINARY[name], a[:, :1], b)
    same(BINARY[name], a, values((), pair[1], 1))
    same(BINARY[name], values((4, 3), pair[0]).t(), b)


def test_integers_are_exact() -> None:
    big = torch.tensor([2**53 + 1, -(2**62) + 3, 7, 2**63 - 1])
    for f in (
        lambda t: t + 1,
        lambda t: t - (2**53 + 1),
        lambda t: t * 3,
        lambda t: t + t,
        lambda t: torch.add(t, t, alpha=-(2**40) + 1),
        lambda t: torch.add(t, 5, alpha=2**40 + 1),
        lambda t: t // 7,
        lambda t: t % 1000003,
        lambda t: t == 2**53 + 1,
        lambda t: t > 2**53,
        lambda t: t.clamp(-(2**61) - 1, 2**53 + 1),
        lambda t: torch.maximum(t, torch.full_like(t, 2**53)),
        lambda t: t.sum(),
    ):
        same(f, big)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_binary_forms(name: str) -> None:
    function = getattr(torch, name)
    x, y = values((4, 6), torch.float32), values((4, 6), torch.float32, 1)
    X, Y = x.to("flagos"), y.to("flagos")
    expected = function(x, y)
    for out in (
        torch.empty(4, 6, device="flagos"),
        torch.empty(0, device="flagos"),
        torch.empty(6, 4, device="flagos").t(),
        torch.empty(4, 12, device="flagos")[:, ::2],
    ):
        assert function(X, Y, out=out) is out
        close(out, expected)
    double = torch.empty(4, 6, device="flagos", dtype=torch.float64)
    close(function(X, Y, out=double), expected.double(), rtol=1e-5, atol=1e-5)
    z = X.clone()
    assert getattr(z, name + "_")(Y) is z
    close(z, expected)
    z = X.clone()
    getattr(z, name + "_")(Y[:1])
    close(z, function(x, y[:1]))
    z = X.clone()
    getattr(z, name + "_")(2.5)
    close(z, function(x, 2.5))
    z = X.t().clone().t()
    getattr(z, name + "_")(Y)
    close(z, expected)
    half = X.half()
    getattr(half, name + "_")(Y)
    close(half, function(x.half().clone(), y).half(), rtol=1e-2, atol=1e-2)


def test_in_place_of_itself() -> None:
    x = values((4, 4), torch.float32)
    for f in (
        lambda t: t.add_(t),
        lambda t: t.mul_(t),
        lambda t: t.addcmul_(t, t, value=2),
        lambda t: t.addcdiv_(t, t, value=2),
        lambda t: t.lerp_(t * 2, 0.3),
        lambda t: t.lerp_(t * 2, 0.7),
        lambda t: t.sub_(t, alpha=2),
        lambda t: torch.addcmul(t, t, t, out=t),
    ):
        same(lambda t, f=f: f(t.clone()), x)
        same(lambda t, f=f: f(t.clone().t()), x)


def test_nan_and_infinity() -> None:
    a = torch.tensor([NAN, 1.0, NAN, INF, -INF, 0.0, -0.0])
    b = torch.tensor([1.0, NAN, NAN, 2.0, 3.0, -0.0, 0.0])
    for dtype in FLOATS:
        x, y = a.to(dtype), b.to(dtype)
        for f in (torch.maximum, torch.minimum, torch.eq, torch.ne, torch.lt, torch.ge):
            same(f, x, y)
        for g in (
            torch.relu,
            torch.isnan,
            torch.isinf,
            torch.isfinite,
            torch.isneginf,
            torch.isposinf,
            torch.sign,
            torch.logical_not,
            lambda t: t.clamp(-1, 1),
            lambda t: t.clamp(min=0.5),
            lambda t: t.clamp(max=0.5),
            lambda t: t.clamp(NAN, 1.0),
            lambda t: t.clamp(2.0, 1.0),
            lambda t: torch.nn.functional.leaky_relu(t),
        ):
            same(g, x)
    same(lambda x, y: torch.clamp(x, y, y + 1), a, b)
    grad = torch.ones(7)
    same(lambda x, g: torch.ops.aten.threshold_backward(g, x, 0), a, grad)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
def test_clamp(dtype: torch.dtype) -> None:
    for x in layouts(dtype).values():
        same(lambda t: t.clamp(1, 3), x)
        same(lambda t: t.clamp(min=2), x)
        same(lambda t: t.clamp(max=2), x)
        same(lambda t: torch.clamp_min(t, 2), x)
        same(lambda t: torch.clamp_max(t, 2), x)
        same(lambda t: t.clone().clamp_(1, 2), x)
    low, high = values((3, 4), dtype), values((4,), dtype, 1)
    x = values((3, 4), dtype, 2)
    same(torch.clamp, x, low, high)
    same(lambda t, a: torch.clamp(t, min=a), x, low)
    same(lambda t, a: torch.clamp(t, max=a), x, high)
    same(torch.clamp_min, x, low)
    same(torch.clamp_max, x, high)
    if not dtype.is_floating_point:
        same(lambda t: t.clamp(0.5, 2.5), x)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
def test_where(dtype: torch.dtype) -> None:
    c = values((3, 4), torch.bool)
    a, b = values((3, 4), dtype), values((3, 4), dtype, 1)
    same(torch.where, c, a, b)
    same(torch.where, c[:1], a, b[:, :1])
    same(torch.where, c, a, values((4, 3), dtype, 1).t())
    same(torch.where, c[0, 0], a, b)
    same(lambda c, a: torch.where(c, a, 2), c, a)
    same(lambda c, a: torch.where(c, 2.5, a), c, a)
    same(lambda c: torch.where(c, 1.0, 0.0), c)
    same(lambda c, a, b: torch.where(c, a, b, out=torch.empty_like(a)), c, a, b)
    same(torch.where, c, a, b.float())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_ternary(dtype: torch.dtype) -> None:
    x, y, z = (values((3, 4), dtype, i) for i in range(3))
    same(lambda a, b, c: torch.addcmul(a, b, c, value=0.5), x, y, z)
    same(lambda a, b, c: torch.addcdiv(a, b, c.abs() + 1, value=-0.5), x, y, z)
    same(lambda a, b, c: torch.addcmul(a, b[:1], c[:, :1]), x, y, z)
    same(lambda a, b, c: a.clone().addcmul_(b, c, value=2), x, y, z)
    same(lambda a, b, c: a.clone().addcdiv_(b, c.abs() + 1, value=2), x, y, z)
    for w in (0.1, 0.5, 0.9, 0, 1):
        same(lambda a, b, w=w: torch.lerp(a, b, w), x, y)
        same(lambda a, b, w=w: a.clone().lerp_(b, w), x, y)
    same(torch.lerp, x, y, torch.rand(3, 4).to(dtype))
    same(lambda a, b: torch.lerp(a, b[:1], 0.3), x, y)


def test_bool_arithmetic() -> None:
    a, b = values((3, 4), torch.bool), values((3, 4), torch.bool, 1)
    for f in (
        torch.add,
        torch.mul,
        torch.logical_and,
        torch.logical_or,
        torch.logical_xor,
        torch.bitwise_and,
        torch.bitwise_or,
        torch.bitwise_xor,
        torch.maximum,
        torch.minimum,
        torch.eq,
        torch.ne,
        torch.lt,
        torch.div,
        lambda x, y: x & y,
        lambda x, y: x | ~y,
    ):
        same(f, a, b)
        same(f, a, b[:1])
    same(torch.logical_not, a)
    same(torch.bitwise_not, a)
    same(lambda x: x.clone().logical_not_(), a)
    for dtype in FLOATS + INTEGERS:
        same(torch.logical_not, values((3, 4), dtype))
        same(lambda x: x.clone().logical_and_(x), values((3, 4), dtype))
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator"):
        a.to("flagos") - b.to("flagos")


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
def test_masked_fill(dtype: torch.dtype) -> None:
    x, mask = values((3, 4), dtype), values((3, 4), torch.bool)
    same(lambda t, m: t.masked_fill(m, 1), x, mask)
    same(lambda t, m: t.masked_fill(m[:1], 1), x, mask)
    same(lambda t, m: t.clone().t().masked_fill_(m.t(), 0), x, mask)
    same(lambda t, m: t.masked_fill(m, torch.tensor(1, dtype=t.dtype)), x, mask)
    same(
        lambda t, m: t.masked_fill(m, torch.ones((), dtype=t.dtype, device=t.device)),
        x,
        mask,
    )


def test_more_than_eight_dimensions() -> None:
    x = torch.randn([2] * 10)
    same(lambda t: t + t, x)
    same(lambda t: t.transpose(0, 9) + t.transpose(0, 9), x)
    X = x.to("flagos")
    with pytest.raises(RuntimeError, match="FLAGOS_STRICT=1 forbids the CPU fallback"):
        X.permute(9, 1, 7, 3, 5, 4, 6, 2, 8, 0) + X


def test_foreach_runs_on_these() -> None:
    xs = [values((3, 4), torch.float32, i) for i in range(3)]
    ys = [values((3, 4), torch.float32, i + 5).abs() for i in range(3)]
    for f in (
        lambda a, b: torch._foreach_add(a, b),
        lambda a, b: torch._foreach_mul(a, 2.0),
        lambda a, b: torch._foreach_sqrt(b),
        lambda a, b: torch._foreach_addcmul(a, b, b, 0.5),
        lambda a, b: torch._foreach_addcdiv(a, b, b, 0.5),
        lambda a, b: torch._foreach_lerp(a, b, 0.1),
        lambda a, b: torch._foreach_div(a, b),
        lambda a, b: torch._foreach_norm(a),
    ):
        same(lambda a, b, f=f: list(f(a, b)), xs, ys)


def test_errors_read_like_torchs() -> None:
    x = torch.randn(3, 4, device="flagos")
    with pytest.raises(
        RuntimeError, match="Expected all tensors to be on the same device"
    ):
        x + torch.randn(3, 4)
    with pytest.raises(RuntimeError, match="must match the size of tensor"):
        x + torch.randn(5, device="flagos")
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.add(x, x, out=torch.empty(3, 4, dtype=torch.long, device="flagos"))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.add_(torch.randn(2, 3, 4, device="flagos"))
    with pytest.raises(
        RuntimeError, match="For integral input tensors, argument alpha"
    ):
        torch.add(x.long(), x.long(), alpha=1.5)
    flat = x.view(-1)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        flat[1:].add_(flat[:-1])
    with pytest.raises(RuntimeError, match="unsupported operation"):
        torch.ones(1, device="flagos").expand(3).add_(1)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        torch.exp(flat[:-1], out=flat[1:])
    with pytest.raises(RuntimeError, match="on a bool tensor is not supported"):
        torch.neg(x > 0)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x.long() // 0


def test_operands_on_two_devices_are_refused(two_devices: None) -> None:
    a, b = torch.ones(3, device="flagos:0"), torch.ones(3, device="flagos:1")
    with pytest.raises(
        RuntimeError, match="Expected all tensors to be on the same device"
    ):
        a + b


def test_work_follows_the_tensors_device(two_devices: None) -> None:
    a = torch.ones(3, device="flagos:1")
    torch.flagos.set_device(0)
    b = torch.relu(a * 2 + a)
    assert b.device == torch.device("flagos", 1)
    assert torch.flagos.current_device() == 0
    assert b.tolist() == [3, 3, 3]


def test_alpha_and_zero_dim_results() -> None:
    counter = torch.zeros((), dtype=torch.int64, device="flagos")
    counter.add_(1)
    counter += 2
    assert counter.item() == 3
    assert counter.dim() == 0
    assert (counter * 2.5).item() == 7.5
