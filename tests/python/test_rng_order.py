# SPDX-License-Identifier: Apache-2.0
"""Random numbers in order: state, generators, fork_rng, checkpoints, graphs."""

from __future__ import annotations

import pytest
import torch
from marks import needs_kernels
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from torch_fl.testing import waits

pytestmark = needs_kernels


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="flagos")


def full(n: int, value: float) -> torch.Tensor:
    return torch.full((n,), value, device="flagos")


# A draw of n numbers, with a generator if one is given.
DRAWS = {
    "uniform": lambda n, **k: empty(n).uniform_(**k),
    "normal": lambda n, **k: empty(n).normal_(**k),
    "random": lambda n, **k: empty(n).random_(0, 1000, **k),
    "random64": lambda n, **k: empty(n, dtype=torch.int64).random_(0, 2**62, **k),
    "bernoulli": lambda n, **k: empty(n).bernoulli_(0.5, **k),
    "bernoulli_tensor": lambda n, **k: torch.bernoulli(full(n, 0.5), **k),
    "exponential": lambda n, **k: empty(n).exponential_(**k),
    "geometric": lambda n, **k: empty(n).geometric_(0.2, **k),
    "cauchy": lambda n, **k: empty(n, dtype=torch.float64).cauchy_(**k),
    "log_normal": lambda n, **k: empty(n, dtype=torch.float16).log_normal_(**k),
    "poisson": lambda n, **k: torch.poisson(full(n, 20.0), **k),
    "binomial": lambda n, **k: torch.binomial(full(n, 50.0), full(n, 0.5), **k),
    "normal_tensor": lambda n, **k: torch.normal(full(n, 1.0), full(n, 2.0), **k),
    "randperm": lambda n, **k: torch.randperm(n, device="flagos", **k),
    "rrelu": lambda n, **k: torch.ops.aten.rrelu_with_noise(
        full(n, -1.0), empty(n), 0.1, 0.4, True, **k
    ),
    "multinomial": lambda n, **k: torch.multinomial(full(n, 1.0), n, **k),
    "multinomial_again": lambda n, **k: torch.multinomial(full(n, 1.0), n, True, **k),
}
# Checks that read weights or deviations, as torch.cuda's do.
WAITS = {"multinomial", "multinomial_again", "normal_tensor"}


def mix(n: int = 101) -> list[torch.Tensor]:
    return [draw(n).cpu() for draw in DRAWS.values()]


def equal(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_any_mix_reproduces() -> None:
    torch.manual_seed(11)
    first = mix()
    state = torch.flagos.get_rng_state()
    second = mix()
    torch.flagos.set_rng_state(state)
    assert equal(mix(), second)
    torch.manual_seed(11)
    assert equal(mix(), first)
    assert not equal(first, second)


@pytest.mark.parametrize("name", DRAWS)
def test_each_call_moves_the_sequence_on_once(name) -> None:
    g = torch.Generator("flagos").manual_seed(5)
    a = DRAWS[name](1001, generator=g).cpu()
    after = g.get_state()
    b = DRAWS[name](1001, generator=g).cpu()
    assert not torch.equal(a, b)
    g.manual_seed(5)
    assert torch.equal(DRAWS[name](1001, generator=g).cpu(), a)
    assert torch.equal(g.get_state(), after)
    offset = int.from_bytes(bytes(after[8:].tolist()), "little")
    assert 1001 <= offset <= 4 * 1001
    assert offset % 4 == 0


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_of_the_cpu_is_refused(name) -> None:
    with pytest.raises(RuntimeError, match=r"Expected a 'flagos'.*(cpu|CPU)"):
        DRAWS[name](8, generator=torch.Generator())


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_of_another_device_is_refused(name) -> None:
    with pytest.raises(ValueError, match="flagos:1 cannot serve"):
        DRAWS[name](8, generator=torch.Generator("flagos:1"))


def test_no_numbers_are_shared_between_operators() -> None:
    # uniform and exponential are made of the same words
    torch.manual_seed(2)
    u = empty(1000, dtype=torch.float64).uniform_().cpu()
    e = empty(1000, dtype=torch.float64).exponential_().cpu()
    assert abs(torch.corrcoef(torch.stack([u.log(), e]))[0, 1]) < 0.15


def test_nothing_waits() -> None:
    mix()
    before = waits()
    for name, draw in DRAWS.items():
        if name not in WAITS:
            draw(101)
    assert waits() == before


def test_fork_rng() -> None:
    torch.manual_seed(4)
    want = mix()
    torch.manual_seed(4)
    with torch.random.fork_rng(device_type="flagos"):
        mix()
    assert equal(mix(), want)


def test_checkpoint_repeats_its_numbers() -> None:
    x = torch.randn(64, 64, device="flagos", requires_grad=True)

    def block(v: torch.Tensor) -> torch.Tensor:
        v = F.dropout(v, 0.5)
        v = F.rrelu(v, 0.1, 0.9, training=True)
        v = F.alpha_dropout(v, 0.2, training=True)
        return v * empty(64, 64).exponential_()

    torch.manual_seed(9)
    block(x).sum().backward()
    plain, x.grad = x.grad, None
    for reentrant in (True, False):
        torch.manual_seed(9)
        checkpoint(block, x, use_reentrant=reentrant).sum().backward()
        assert torch.equal(x.grad.cpu(), plain.cpu())
        x.grad = None


def test_captured_draws_follow_the_generator() -> None:
    torch.manual_seed(21)
    want = [mix() for _ in range(3)]
    torch.flagos.synchronize()
    torch.manual_seed(21)
    assert equal(mix(), want[0])  # warm
    graph = torch.flagos.Graph()
    with torch.flagos.graph(graph):
        out = [draw(101) for draw in DRAWS.values()]
    for expected in want[1:]:
        graph.replay()
        assert equal([x.cpu() for x in out], expected)
