# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors in one launch, against the CPU's loop."""

from __future__ import annotations

import pytest
import torch

import torch_fl

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INF, NAN = float("inf"), float("nan")
# More tensors than one launch takes; one empty, one that packs do not divide.
SHAPES = [
    (3, 5),
    (),
    (0,),
    (64, 64),
    (1,),
    (7, 1, 3),
    (130,),
    *[(9, k) for k in range(14)],
]


def lists(dtype: torch.dtype, count: int, low: float = 0.2) -> list[list[torch.Tensor]]:
    made = []
    for _ in range(count):
        tensors = [torch.rand(s, dtype=torch.float64) + low for s in SHAPES]
        made.append([t.to(dtype) for t in tensors])
    for k in range(count):  # another order of dimensions
        made[k].append(made[k][3].t().contiguous().t())
    return made


def there(value):
    if isinstance(value, torch.Tensor):
        return value.to("flagos")
    if isinstance(value, list):
        return [there(item) for item in value]
    return value


def close(have: list[torch.Tensor], want: list[torch.Tensor]) -> None:
    assert len(have) == len(want)
    for a, b in zip(have, want, strict=True):
        assert a.device.type == "flagos"
        assert a.stride() == b.stride()
        torch.testing.assert_close(a.cpu(), b, equal_nan=True)


def both(name: str, *args, **options) -> None:
    """The functional form and the one in place."""
    function = getattr(torch, f"_foreach_{name}")
    want = function(*args, **options)
    close(function(*there(list(args)), **options), want)
    inplace = getattr(torch, f"_foreach_{name}_")
    target = there(args[0])
    inplace(target, *there(list(args[1:])), **options)
    close(target, want)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "name", ["abs", "exp", "neg", "reciprocal", "rsqrt", "sign", "sqrt"]
)
def test_one_list(name, dtype) -> None:
    (x,) = lists(dtype, 1)
    both(name, x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "name",
    ["add", "sub", "mul", "div", "pow", "clamp_min", "clamp_max", "maximum", "minimum"],
)
def test_a_list_and_numbers(name, dtype) -> None:
    x, y = lists(dtype, 2)
    both(name, x, 0.75)
    both(name, x, 2)
    both(name, x, [0.25 + k / 8 for k in range(len(x))])
    both(name, x, y)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_factors_of_the_second_list(dtype) -> None:
    x, y = lists(dtype, 2)
    both("add", x, y, alpha=0.5)
    both("sub", x, y, alpha=-3)


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_an_element_for_all(dtype) -> None:
    (x,) = lists(dtype, 1)
    number = torch.tensor(0.625, dtype=dtype)
    for name in ("add", "mul", "div"):
        both(name, x, number)
    both("add", x, number, alpha=2)


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_three_lists(dtype) -> None:
    x, y, z = lists(dtype, 3)
    numbers = [k / 8 for k in range(len(x))]
    for name in ("addcmul", "addcdiv"):
        both(name, x, y, z)
        both(name, x, y, z, value=-0.5)
        both(name, x, y, z, numbers)
    both("lerp", x, y, 0.3)
    both("lerp", x, y, 0.8)
    both("lerp", x, y, z)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_types_are_rounded_once(dtype) -> None:
    x, y, z = lists(dtype, 3)
    want = [
        (a.double() + 0.5 * b.double() * c.double()).to(dtype)
        for a, b, c in zip(x, y, z, strict=True)
    ]
    close(torch._foreach_addcmul(*there([x, y, z]), value=0.5), want)


@pytest.mark.parametrize("order", [0, 1, 2, INF, 3])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_norms(order, dtype) -> None:
    (x,) = lists(dtype, 1, -0.5)
    if order == INF:
        x = [t for t in x if t.numel()]
    want = [torch.linalg.vector_norm(t.double(), order).to(dtype) for t in x]
    close(torch._foreach_norm(there(x), order), want)


def test_norms_of_long_and_odd_tensors() -> None:
    torch.manual_seed(4)
    x = [torch.randn(5_000_000), torch.tensor([NAN, 1.0]), torch.tensor([INF, 1.0])]
    for order in (1, 2, INF):
        want = [torch.linalg.vector_norm(t.double(), order).float() for t in x]
        close(torch._foreach_norm(there(x), order), want)


def test_not_a_number_wins() -> None:
    x = [torch.tensor([NAN, 1.0, -1.0])]
    both("maximum", x, 0.0)
    both("clamp_max", x, [torch.tensor([0.0, NAN, 2.0])])


def test_zero_and_copy() -> None:
    x, y = lists(torch.float32, 2)
    target = there(x)
    torch._foreach_copy_(target, there(y))
    close(target, y)
    torch._foreach_zero_(target)
    close(target, [torch.zeros_like(t) for t in x])
    torch._foreach_copy_(target, there([t.double() for t in y]))
    close(target, y)


def test_lists_that_one_launch_cannot_take() -> None:
    x = [torch.rand(4, 6), torch.rand(3)]
    y = [torch.rand(4, 6), torch.rand(1)]
    both("add", x, y)
    both("mul", [t.double() if t.dim() > 1 else t for t in x], 2.0)
    both("add", [torch.arange(5), torch.arange(3)], 2)
    both("mul", [torch.rand(6, 6)[:, ::2], torch.rand(4)], 0.5)
    mixed = there(x)
    torch._foreach_mul_([mixed[0][:, ::2], mixed[1]], 0.5)
    torch.testing.assert_close(mixed[0].cpu()[:, ::2], x[0][:, ::2] * 0.5)
    torch.testing.assert_close(mixed[0].cpu()[:, 1::2], x[0][:, 1::2])


def test_tensors_that_overlap_are_not_joined() -> None:
    memory = torch.arange(8.0, device="flagos")
    torch._foreach_add_([memory[:4]], [memory[4:]])
    assert memory.tolist() == [4.0, 6.0, 8.0, 10.0, 4.0, 5.0, 6.0, 7.0]


def test_errors_are_torchs_own() -> None:
    x = [torch.rand(3, device="flagos")]
    with pytest.raises(RuntimeError, match="same number of tensors"):
        torch._foreach_add(x, [*x, *x])
    with pytest.raises(RuntimeError, match="at least one"):
        torch._foreach_add([], 1)


def test_clipping_and_optimizers() -> None:
    torch.manual_seed(5)
    start = [torch.randn(s) for s in ((17, 9), (33,), (4, 4, 4))]
    grads = [torch.randn_like(p) for p in start]
    for make in (torch.optim.AdamW, torch.optim.SGD, torch.optim.RMSprop):
        results = []
        for device in ("cpu", "flagos"):
            params = [p.clone().to(device).detach().requires_grad_() for p in start]
            step = make(params, lr=0.05, foreach=True)
            for _ in range(3):
                for p, g in zip(params, grads, strict=True):
                    p.grad = g.clone().to(device)
                torch.nn.utils.clip_grad_norm_(params, 1.0, foreach=True)
                step.step()
            results.append([p.detach().cpu() for p in params])
        torch.testing.assert_close(results[1], results[0])


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    x = [torch.rand(5, device="flagos"), torch.rand(3, 3, device="flagos")]
    torch._foreach_norm(x)
    torch._foreach_pow(x, 2)
    torch._foreach_maximum(x, x)
    assert torch_fl.fallbacks() == {}
