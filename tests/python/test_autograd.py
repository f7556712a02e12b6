# SPDX-License-Identifier: Apache-2.0
"""Autograd: streams, threads, crossing devices, higher order."""

import threading

import pytest
import torch
from torch import nn


def test_gradients_equal_the_cpu() -> None:
    x = torch.randn(5, 4)
    w = torch.randn(4, 3)
    a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
    c = x.to("flagos").requires_grad_()
    d = w.to("flagos").requires_grad_()
    for left, right in ((a, b), (c, d)):
        y = torch.tanh(left @ right)
        (y * y).sum().backward()
    torch.testing.assert_close(c.grad.cpu(), a.grad)
    torch.testing.assert_close(d.grad.cpu(), b.grad)


def test_backward_runs_on_the_stream_of_its_forward() -> None:
    side = torch.flagos.Stream()
    x = torch.randn(1000, device="flagos", requires_grad=True)
    seen = []
    side.wait_stream(torch.flagos.current_stream())
    with torch.flagos.stream(side):
        y = x * 3
        y.register_hook(lambda g: seen.append(torch.flagos.current_stream()))
        z = (y * y).sum()
    torch.flagos.current_stream().wait_stream(side)
    z.backward()
    assert seen == [side]
    torch.testing.assert_close(x.grad.cpu(), 18 * x.detach().cpu())


def test_graph_that_crosses_to_the_cpu_and_back() -> None:
    x = torch.randn(6, device="flagos", requires_grad=True)
    y = (x * 2).cpu() * 3
    z = y.to("flagos").pow(2).sum()
    z.backward()
    torch.testing.assert_close(x.grad.cpu(), 72 * x.detach().cpu())


def test_second_derivative() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], device="flagos", requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second.cpu(), torch.tensor([6.0, 12.0, 18.0]))


def test_backward_in_many_threads() -> None:
    model = nn.Linear(16, 16).to("flagos")
    errors = []

    def work() -> None:
        try:
            for _ in range(10):
                x = torch.ones(4, 16, device="flagos", requires_grad=True)
                model(x).sum().backward()
                expected = model.weight.detach().sum(0).expand(4, 16)
                torch.testing.assert_close(x.grad.cpu(), expected.cpu())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_version_check_catches_an_in_place_write() -> None:
    x = torch.ones(3, device="flagos", requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_checkpoint_recomputes() -> None:
    from torch.utils.checkpoint import checkpoint

    layer = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU()).to("flagos")
    x = torch.randn(4, 8, device="flagos", requires_grad=True)
    y = checkpoint(layer, x, use_reentrant=False)
    y.sum().backward()
    assert x.grad is not None
    assert (x.grad.abs() > 0).any().item()


def test_gradcheck_in_double() -> None:
    x = torch.randn(3, 4, dtype=torch.float64, device="flagos", requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: torch.tanh(t).exp().sum(1), (x,))
