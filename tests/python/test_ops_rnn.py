# SPDX-License-Identifier: Apache-2.0
"""LSTM and GRU: torch's fused cells, composed."""

import copy

import pytest
import torch
from compare import close
from torch import nn


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("bias", [True, False])
def test_layers_and_gradients(kind: type, bias: bool) -> None:
    model = kind(5, 6, num_layers=2, bias=bias, batch_first=True)
    twin = copy.deepcopy(model).to("flagos")
    x = torch.randn(3, 4, 5)
    a, b = x.clone().requires_grad_(), x.to("flagos").requires_grad_()
    y, z = model(a)[0], twin(b)[0]
    close(z.detach(), y.detach(), rtol=1e-4, atol=1e-5)
    weights = torch.randn(y.shape)
    y.backward(weights)
    z.backward(weights.to("flagos"))
    close(b.grad, a.grad, rtol=1e-4, atol=1e-5)
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        close(q.grad, p.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_cells(kind: type) -> None:
    cell = kind(5, 6)
    twin = copy.deepcopy(cell).to("flagos")
    x = torch.randn(3, 5)
    y, z = cell(x), twin(x.to("flagos"))
    if kind is nn.LSTMCell:
        y, z = y[1], z[1]
    close(z.detach(), y.detach())
    y.sum().backward()
    z.sum().backward()
    for p, q in zip(cell.parameters(), twin.parameters(), strict=True):
        if p.grad is not None:
            close(q.grad, p.grad, rtol=1e-4, atol=1e-5)
