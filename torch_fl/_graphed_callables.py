# SPDX-License-Identifier: Apache-2.0
"""``make_graphed_callables``: forward and backward passes as replays."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from torch_fl import _C
from torch_fl._stream import Stream, StreamContext, current_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Tensors = tuple[torch.Tensor, ...]
Pool = tuple[int, int]


@dataclasses.dataclass
class _Passes:
    """One callable's graphs, and the tensors that they read and write."""

    forward: Any
    inputs: Tensors  # the caller's, then the module's parameters
    count: int  # of the caller's
    outputs: Tensors
    shape: Any  # how the callable arranges its outputs
    backward: Any = None
    output_grads: tuple[torch.Tensor | None, ...] = ()
    input_grads: tuple[torch.Tensor | None, ...] = ()


def _parameters(function: Callable[..., Any]) -> Tensors:
    return tuple(function.parameters()) if isinstance(function, torch.nn.Module) else ()


def _check(function: Callable[..., Any], arguments: Sequence[Any]) -> None:
    if not all(isinstance(argument, torch.Tensor) for argument in arguments):
        raise TypeError(
            "make_graphed_callables takes sample arguments that are tensors."
        )
    if isinstance(function, torch.nn.Module):
        if (
            function._forward_hooks
            or function._forward_pre_hooks
            or function._backward_hooks
        ):
            raise RuntimeError(
                "a module with hooks cannot be graphed: register them afterwards."
            )
        if any(buffer.requires_grad for buffer in function.buffers()):
            raise RuntimeError(
                "a module whose buffers need gradients cannot be graphed."
            )


def _differentiable(tensors: Sequence[torch.Tensor]) -> Tensors:
    return tuple(tensor for tensor in tensors if tensor.requires_grad)


def _gradients(
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    output_grads: Sequence[torch.Tensor],
    allow_unused: bool,
) -> tuple[torch.Tensor | None, ...]:
    return torch.autograd.grad(
        outputs=outputs,
        inputs=inputs,
        grad_outputs=output_grads,
        only_inputs=True,
        allow_unused=allow_unused,
    )


def _warm_up(
    function: Callable[..., Any],
    arguments: Tensors,
    inputs: Tensors,
    rounds: int,
    allow_unused: bool,
) -> None:
    """Let everything that is made at first use be made."""
    for _ in range(rounds):
        outputs = _differentiable(pytree.tree_leaves(function(*arguments)))
        wanted = _differentiable(inputs)
        if outputs and wanted:
            grads = tuple(torch.empty_like(output) for output in outputs)
            _gradients(outputs, wanted, grads, allow_unused)


class _capturing:
    """Captures a block on the current stream."""

    def __init__(self, pool: Pool) -> None:
        self.graph = _C._Graph(False)
        self.pool = pool

    def __enter__(self) -> Any:
        self.graph.capture_begin(self.pool, "global")
        return self.graph

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if kind is None:
            self.graph.capture_end()
        else:
            self.graph.reset()


def _capture_forward(
    function: Callable[..., Any], arguments: Tensors, pool: Pool
) -> _Passes:
    with _capturing(pool) as graph:
        result = function(*arguments)
    outputs, shape = pytree.tree_flatten(result)
    inputs = arguments + _parameters(function)
    return _Passes(graph, inputs, len(arguments), tuple(outputs), shape)


def _capture_backward(passes: _Passes, pool: Pool, allow_unused: bool) -> None:
    grads = tuple(
        torch.empty_like(output) if output.requires_grad else None
        for output in passes.outputs
    )
    outputs = _differentiable(passes.outputs)
    wanted = _differentiable(passes.inputs)
    found: tuple[torch.Tensor | None, ...] = ()
    if outputs and wanted:
        given = tuple(grad for grad in grads if grad is not None)
        with _capturing(pool) as graph:
            found = _gradients(outputs, wanted, given, allow_unused)
        passes.backward = graph
    remaining = iter(found)
    passes.output_grads = grads
    passes.input_grads = tuple(
        next(remaining, None) if tensor.requires_grad else None
        for tensor in passes.inputs
    )


def _graphed(passes: _Passes) -> Callable[..., Any]:
    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> Tensors:
            # Parameters are read where they are.
            for static, given in zip(
                passes.inputs[: passes.count], inputs[: passes.count], strict=True
            ):
                if static.data_ptr() != given.data_ptr():
                    static.copy_(given)
            passes.forward.replay()
            return tuple(output.detach() for output in passes.outputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            for static, given in zip(passes.output_grads, grads, strict=True):
                if static is not None and static.data_ptr() != given.data_ptr():
                    static.copy_(given)
            if passes.backward is not None:
                passes.backward.replay()
            return tuple(
                grad.detach() if grad is not None else None
                for grad in passes.input_grads
            )

    parameters = passes.inputs[passes.count :]

    def call(*arguments: Any) -> Any:
        outputs = Graphed.apply(*arguments, *parameters)  # type: ignore[no-untyped-call]
        return pytree.tree_unflatten(list(outputs), passes.shape)

    return call


def _replace_forward(module: torch.nn.Module, graphed: Callable[..., Any]) -> None:
    training = module.training
    eager = module.forward

    def forward(*arguments: Any, **options: Any) -> Any:
        # The other mode was not captured.
        if module.training != training or options:
            return eager(*arguments, **options)
        return graphed(*arguments)

    module.forward = forward


def _capture_all(
    functions: tuple[Callable[..., Any], ...],
    arguments: tuple[Tensors, ...],
    rounds: int,
    allow_unused: bool,
    pool: Pool,
) -> list[_Passes]:
    stream = Stream()
    stream.wait_stream(current_stream())
    with StreamContext(stream):
        for function, sample in zip(functions, arguments, strict=True):
            inputs = sample + _parameters(function)
            _warm_up(function, sample, inputs, rounds, allow_unused)
        _C.synchronize(stream.device_index)
        passes = [
            _capture_forward(function, sample, pool)
            for function, sample in zip(functions, arguments, strict=True)
        ]
        # In the order in which they will run, since all share a pool.
        for one in reversed(passes):
            _capture_backward(one, pool, allow_unused)
    current_stream().wait_stream(stream)
    return passes


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Pool | None = None,
) -> Any:
    """Functions or modules whose forward and backward passes are replays of graphs.

    ``sample_args`` are tensors like those of later calls: same shapes, dtypes, and need
    of gradients. Several callables come as a tuple, with a tuple of arguments each, and
    must later run in this order. Modules keep working in the other of train and eval
    mode, without a graph.
    """
    if torch.is_autocast_enabled("flagos") and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables under autocast needs cache_enabled=False."
        )
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    arguments = (tuple(sample_args),) if single else tuple(map(tuple, sample_args))
    for function, sample in zip(functions, arguments, strict=True):
        _check(function, sample)
    passes = _capture_all(
        functions,
        arguments,
        num_warmup_iters,
        allow_unused_input,
        pool if pool is not None else _C.graph_pool_handle(),
    )
    results: list[Any] = []
    for function, one in zip(functions, passes, strict=True):
        graphed = _graphed(one)
        if isinstance(function, torch.nn.Module):
            _replace_forward(function, graphed)
            results.append(function)
        else:
            results.append(graphed)
    return results[0] if single else tuple(results)
