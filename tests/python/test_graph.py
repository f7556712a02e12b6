# SPDX-License-Identifier: Apache-2.0
"""Graphs: replays equal eager work, memory and random numbers are the graph's own."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch
from marks import needs_kernels
from torch import nn

if TYPE_CHECKING:
    import pathlib

Make = Callable[[], torch.Tensor]


def captured(work: Make, **options: object) -> tuple[torch.flagos.Graph, torch.Tensor]:
    graph = torch.flagos.Graph()
    with torch.flagos.graph(graph, **options):
        out = work()
    return graph, out


def address_range(tensor: torch.Tensor) -> range:
    storage = tensor.untyped_storage()
    return range(storage.data_ptr(), storage.data_ptr() + storage.nbytes())


def test_replay_reads_new_inputs(device: torch.device) -> None:
    x = torch.zeros(1000, device=device)
    graph, y = captured(lambda: (x * 2 + 1).relu())
    for value in (-3.0, 0.5, 7.0):
        x.fill_(value)
        graph.replay()
        assert torch.equal(y.cpu(), torch.full((1000,), max(0.0, value * 2 + 1)))


def test_capture_runs_nothing(device: torch.device) -> None:
    x = torch.ones(8, device=device)
    graph = torch.flagos.Graph()
    assert not torch.flagos.is_current_stream_capturing()
    with torch.flagos.graph(graph):
        assert torch.flagos.is_current_stream_capturing()
        x.add_(1)
    assert not torch.flagos.is_current_stream_capturing()
    assert x.sum().item() == 8
    graph.replay()
    assert x.sum().item() == 16


def mlp(dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(32, 64), nn.ReLU(), nn.Dropout(dropout), nn.Linear(64, 8)
    )


def test_mlp_with_dropout_replays_as_eager(device: torch.device) -> None:
    model = mlp(0.3).to(device)
    x = torch.randn(16, 32, device=device)
    with torch.no_grad():
        model(x)
        graph, y = captured(lambda: model(x))
        torch.manual_seed(5)
        eager = [model(x).cpu() for _ in range(3)]
        state = torch.flagos.get_rng_state()
        torch.manual_seed(5)
        replayed = []
        for _ in range(3):
            graph.replay()
            replayed.append(y.cpu())
    for one, other in zip(eager, replayed, strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(replayed[0], replayed[1])
    assert torch.equal(state, torch.flagos.get_rng_state())


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.rand_like(x),
        lambda x: torch.randn_like(x, dtype=torch.float64),
        lambda x: x.clone().bernoulli_(0.3),
        lambda x: torch.randint_like(x, 1000, dtype=torch.int64),
        pytest.param(lambda x: x.clone().exponential_(2.0), marks=needs_kernels),
        lambda x: torch.rand_like(x) + nn.functional.dropout(x, 0.5) + x.normal_(),
    ],
    ids=["rand", "randn", "bernoulli", "randint", "exponential", "several"],
)
def test_random_numbers_advance_as_eager_ones(
    draw: Callable[[torch.Tensor], torch.Tensor], device: torch.device
) -> None:
    x = torch.ones(1001, device=device)
    graph, y = captured(lambda: draw(x))
    torch.manual_seed(11)
    x.fill_(1)
    eager = [draw(x).cpu() for _ in range(2)]
    state = torch.flagos.get_rng_state()
    torch.manual_seed(11)
    x.fill_(1)
    for values in eager:
        graph.replay()
        assert torch.equal(y.cpu(), values)
    assert not torch.equal(eager[0], eager[1])
    assert torch.equal(state, torch.flagos.get_rng_state())


def test_generator_of_its_own_is_captured(device: torch.device) -> None:
    generator = torch.Generator(device=device)
    generator.manual_seed(3)
    x = torch.empty(64, device=device)
    eager = x.uniform_(generator=generator).cpu()
    default = torch.flagos.get_rng_state()
    graph, _ = captured(lambda: x.uniform_(generator=generator))
    generator.manual_seed(3)
    graph.replay()
    assert torch.equal(x.cpu(), eager)
    assert torch.equal(default, torch.flagos.get_rng_state())


def test_seeding_in_a_capture_is_refused(device: torch.device) -> None:
    with (
        pytest.raises(RuntimeError, match="cannot be seeded while"),
        torch.flagos.graph(torch.flagos.Graph()),
    ):
        torch.flagos.manual_seed(1)


def train_step(model: nn.Module, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    loss = nn.functional.mse_loss(model(x), target)
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.sub_(parameter.grad * 0.1)
            parameter.grad.zero_()
    return loss.detach()


def test_training_step_replays_as_eager(device: torch.device) -> None:
    eager = mlp(0.2).to(device)
    model = copy.deepcopy(eager)
    start = copy.deepcopy(model.state_dict())
    x = torch.randn(16, 32, device=device)
    target = torch.randn(16, 8, device=device)
    stream = torch.flagos.Stream()
    stream.wait_stream(torch.flagos.current_stream())
    with torch.flagos.stream(stream):
        for _ in range(2):
            train_step(model, x, target)
    torch.flagos.current_stream().wait_stream(stream)
    graph, loss = captured(lambda: train_step(model, x, target))
    with torch.no_grad():
        for name, value in model.state_dict().items():
            value.copy_(start[name])
    batches = [(torch.randn(16, 32), torch.randn(16, 8)) for _ in range(4)]
    torch.manual_seed(1)
    losses = [train_step(eager, a.to(device), b.to(device)).item() for a, b in batches]
    torch.manual_seed(1)
    for (a, b), expected in zip(batches, losses, strict=True):
        x.copy_(a)
        target.copy_(b)
        graph.replay()
        assert loss.item() == expected
    for one, other in zip(eager.parameters(), model.parameters(), strict=True):
        assert torch.equal(one.cpu(), other.cpu())


def test_memory_is_the_graphs_own(device: torch.device) -> None:
    x = torch.ones(100_000, device=device)
    graph, y = captured(lambda: (x + 1) * (x + 2) + 3)
    own = address_range(y)
    others = [torch.zeros(100_000, device=device) for _ in range(32)]
    graph.replay()
    assert torch.equal(y.cpu(), torch.full((100_000,), 9.0))
    assert all(other.sum().item() == 0 for other in others)
    assert all(address_range(other).start not in own for other in others)
    # Also what the graph no longer names is not given to others.
    del y
    more = [torch.zeros(100_000, device=device) for _ in range(64)]
    graph.replay()
    assert all(other.sum().item() == 0 for other in more)


def test_memory_comes_back_with_the_last_graph(device: torch.device) -> None:
    x = torch.ones(1 << 20, device=device)
    gc.collect()
    torch.flagos.synchronize()
    torch.flagos.empty_cache()
    before = torch.flagos.memory_reserved()
    graph, y = captured(lambda: x * 2)
    other, z = captured(lambda: x * 3, pool=graph.pool())
    assert other.pool() == graph.pool()
    del y, z
    gc.collect()
    graph.reset()
    torch.flagos.empty_cache()
    assert torch.flagos.memory_reserved() > before
    other.reset()
    torch.flagos.empty_cache()
    assert torch.flagos.memory_reserved() <= before


def test_graphs_share_a_pool(device: torch.device) -> None:
    x = torch.ones(1 << 20, device=device)
    pool = torch.flagos.graph_pool_handle()
    assert pool != torch.flagos.graph_pool_handle()
    first, y = captured(lambda: x * 2, pool=pool)
    reserved = torch.flagos.memory_reserved()

    def use() -> torch.Tensor:
        scratch = y + 1
        return scratch.sum()

    second, total = captured(use, pool=pool)
    third, again = captured(use, pool=pool)
    assert first.pool() == second.pool() == third.pool() == pool
    # The scratch of the second graph serves the third.
    assert torch.flagos.memory_reserved() <= reserved + (40 << 20)
    x.fill_(2)
    for graph in (first, second, third):
        graph.replay()
    assert total.item() == again.item() == 5 * (1 << 20)


def test_fork_and_join(device: torch.device) -> None:
    x = torch.ones(1 << 16, device=device)
    side = torch.flagos.Stream()

    def work() -> torch.Tensor:
        main = torch.flagos.current_stream()
        side.wait_stream(main)
        with torch.flagos.stream(side):
            b = x * 3
            assert torch.flagos.is_current_stream_capturing()
        a = x * 2
        main.wait_stream(side)
        b.record_stream(main)
        result = a + b
        del b
        return result

    graph, y = captured(work)
    for value in (1.0, 4.0):
        x.fill_(value)
        graph.replay()
        assert torch.equal(y.cpu(), torch.full((1 << 16,), 5 * value))


def test_pinned_copies_are_repeated(device: torch.device) -> None:
    source = torch.ones(1000).pin_memory()
    target = torch.zeros(1000).pin_memory()

    def work() -> torch.Tensor:
        x = source.to(device, non_blocking=True) * 2
        target.copy_(x, non_blocking=True)
        return x

    graph, _ = captured(work)
    for value in (1.0, 2.0):
        source.fill_(value)
        graph.replay()
        torch.flagos.synchronize()
        assert torch.equal(target, torch.full((1000,), 2 * value))


def test_pinned_memory_freed_in_a_capture_comes_back(device: torch.device) -> None:
    x = torch.zeros(1000, device=device)

    def work() -> torch.Tensor:
        kept = torch.ones(1000).pin_memory()
        x.copy_(kept, non_blocking=True)
        return x

    graph, _ = captured(work)
    del graph
    again = torch.zeros(1000).pin_memory()
    x.copy_(again, non_blocking=True)
    torch.flagos.synchronize()
    assert x.sum().item() == 0


@pytest.mark.parametrize(
    "sin",
    [
        lambda x: x.sum().item(),
        lambda x: x.cpu(),
        lambda x: x.add_(torch.ones(4, 4).to(x.device)),
    ],
    ids=["item", "cpu", "pageable"],
)
def test_waiting_for_the_device_is_refused(
    sin: Callable[[torch.Tensor], object], device: torch.device
) -> None:
    x = torch.ones(4, 4, device=device)
    graph = torch.flagos.Graph()
    with (
        pytest.raises(RuntimeError, match="being captured cannot copy"),
        torch.flagos.graph(graph),
    ):
        sin(x)
    # Nothing is left behind.
    with torch.flagos.graph(graph):
        y = x + 1
    graph.replay()
    assert y.sum().item() == 32


def test_synchronizing_in_a_capture_spoils_it(device: torch.device) -> None:
    x = torch.ones(4, device=device)
    graph = torch.flagos.Graph()
    with torch.flagos.graph(graph):
        x.add_(1)
        with pytest.raises(RuntimeError, match="StreamCaptureUnsupported"):
            torch.flagos.current_stream().synchronize()
        with pytest.raises(
            RuntimeError, match=r"EXECUTION_FAILED|StreamCaptureInvalidated"
        ):
            x.add_(1)
        graph.reset()
        graph.capture_begin()
    assert x.sum().item() == 4


def test_errors_are_sentences(device: torch.device) -> None:
    graph = torch.flagos.Graph()
    with pytest.raises(RuntimeError, match="default stream cannot be captured"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match="no capture of this graph has begun"):
        graph.capture_end()
    with pytest.raises(RuntimeError, match="this graph is empty"):
        graph.replay()
    with pytest.raises(RuntimeError, match="has a pool from the beginning"):
        graph.pool()
    with (
        pytest.raises(ValueError, match="capture_error_mode is global"),
        torch.flagos.graph(graph, capture_error_mode="strict"),
    ):
        pass
    with torch.flagos.graph(graph):
        pass
    with (
        pytest.raises(RuntimeError, match="captured already: reset"),
        torch.flagos.graph(graph),
    ):
        pass


def test_capture_ends_where_it_began(device: torch.device) -> None:
    graph = torch.flagos.Graph()
    with torch.flagos.stream(torch.flagos.Stream()):
        graph.capture_begin()
        with (
            torch.flagos.stream(torch.flagos.Stream()),
            pytest.raises(RuntimeError, match="which is not current"),
        ):
            graph.capture_end()
        graph.capture_end()
    assert not torch.flagos.is_current_stream_capturing()


def test_modes(device: torch.device) -> None:
    x = torch.ones(8, device=device)
    for mode in ("global", "thread_local", "relaxed"):
        graph, y = captured(lambda: x + 1, capture_error_mode=mode)
        graph.replay()
        assert y.sum().item() == 16


def test_keep_graph_and_dump(device: torch.device, tmp_path: pathlib.Path) -> None:
    x = torch.ones(8, device=device)
    graph = torch.flagos.Graph(keep_graph=True)
    graph.enable_debug_mode()
    with torch.flagos.graph(graph):
        y = x + 1
    path = tmp_path / "graph.dot"
    graph.debug_dump(str(path))
    assert "digraph" in path.read_text()
    graph.instantiate()
    graph.replay()
    assert y.sum().item() == 16


def test_graph_may_capture_again_after_a_reset(device: torch.device) -> None:
    x = torch.ones(8, device=device)
    graph = torch.flagos.Graph()
    for factor in (2, 3):
        with torch.flagos.graph(graph):
            y = x * factor
        graph.replay()
        assert y.sum().item() == 8 * factor
        graph.reset()


def test_replays_on_several_streams(device: torch.device) -> None:
    x = torch.zeros(8, device=device)
    graph, _ = captured(lambda: x.add_(1))
    torch.flagos.synchronize()
    for _ in range(3):
        stream = torch.flagos.Stream()
        with torch.flagos.stream(stream):
            graph.replay()
        stream.synchronize()
    assert x.sum().item() == 24


@pytest.mark.skipif(
    not hasattr(torch.accelerator, "Graph"), reason="this torch has no graphs"
)
def test_torchs_own_graph(device: torch.device) -> None:
    x = torch.zeros(100, device=device)
    graph = torch.accelerator.Graph()
    with torch.Stream(device), graph:
        y = nn.functional.dropout(x + 2, 0.5)
    x.fill_(1)
    torch.manual_seed(2)
    graph.replay()
    first = y.cpu()
    assert set(first.tolist()) == {0.0, 6.0}
    graph.replay()
    assert not torch.equal(first, y.cpu())
    assert torch.accelerator.Graph(pool=graph.pool()).graph_pool == graph.pool()
    graph.reset()


def test_graphed_module_trains_as_eager(device: torch.device) -> None:
    eager = mlp(0.0).to(device)
    model = copy.deepcopy(eager)
    sample = torch.randn(16, 32, device=device)
    graphed = torch.flagos.make_graphed_callables(model, (sample,))
    assert graphed is model
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (eager, graphed)]
    for _ in range(3):
        x = torch.randn(16, 32, device=device)
        losses = []
        for one, optimizer in zip((eager, graphed), optimizers, strict=True):
            optimizer.zero_grad()
            loss = one(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[0] == losses[1]
    eager.eval()
    graphed.eval()
    assert torch.equal(eager(sample[:3]).cpu(), graphed(sample[:3]).cpu())


def test_graphed_functions_run_in_a_row(device: torch.device) -> None:
    def first(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    def second(x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"square": x * x, "twice": x * 2}

    sample = torch.randn(32, device=device, requires_grad=True)
    one, two = torch.flagos.make_graphed_callables(
        (first, second),
        ((sample,), (sample.detach().clone().requires_grad_(),)),
    )
    for _ in range(2):
        x = torch.randn(32, device=device, requires_grad=True)
        result = two(one(x))
        (result["square"] + result["twice"]).sum().backward()
        y = x.detach().clone().requires_grad_()
        expected = second(first(y))
        (expected["square"] + expected["twice"]).sum().backward()
        assert torch.equal(result["square"].cpu(), expected["square"].cpu())
        torch.testing.assert_close(x.grad.cpu(), y.grad.cpu())


def test_graphed_callables_refuse_hooks(device: torch.device) -> None:
    model = mlp(0.0).to(device)
    model.register_forward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match="a module with hooks"):
        torch.flagos.make_graphed_callables(model, (torch.ones(1, 32, device=device),))


def test_second_device(two_devices: None) -> None:
    x = torch.ones(8, device="flagos:1")
    with torch.flagos.device(1):
        graph, y = captured(lambda: x + torch.rand_like(x))
    graph.replay()
    assert torch.flagos.current_device() == 0
    assert 8 <= y.sum().item() < 16
