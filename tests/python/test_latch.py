# SPDX-License-Identifier: Apache-2.0
"""Nothing waits for the device: a whole step returns while the stream is held."""

import copy

import pytest
import torch
from torch import nn

from torch_fl.testing import Latch, waits


def cnn() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(8 * 16, 10),
    )


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_step_returns_while_the_stream_is_held(name: str) -> None:
    model = cnn().to("flagos")
    optimizer = OPTIMIZERS[name](model.parameters())
    images = torch.randn(16, 1, 8, 8).pin_memory()
    labels = torch.randint(0, 10, (16,)).pin_memory()

    def step() -> torch.Tensor:
        x = images.to("flagos", non_blocking=True)
        y = labels.to("flagos", non_blocking=True)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    step()
    torch.flagos.synchronize()
    before = waits()
    with Latch(timeout=30) as latch:
        losses = [step() for _ in range(3)]
        assert waits() == before
        assert not torch.flagos.current_stream().query()
    assert not latch.expired
    assert all(0 < loss.item() < 20 for loss in losses)


def test_every_family_returns_while_the_stream_is_held() -> None:
    x = torch.rand(32, 32, device="flagos") + 0.5
    y = torch.rand(32, 32, device="flagos")
    index = torch.zeros(32, 32, dtype=torch.int64, device="flagos")
    work = {
        "add": lambda: x + y,
        "broadcast": lambda: x + y[0],
        "strided": lambda: x.t() * y[:, ::1],
        "mixed": lambda: x + index,
        "compare": lambda: x > y,
        "where": lambda: torch.where(x > y, x, y),
        "sum": lambda: x.sum(0) + y.mean(1),
        "max": lambda: x.max(1).indices,
        "mm": lambda: x @ y.t(),
        "baddbmm": lambda: torch.baddbmm(x[None], x[None], y[None], beta=0.5),
        "softmax": lambda: torch.log_softmax(x.t(), 0),
        "cast": lambda: x.half().float().to(torch.int32),
        "clone": lambda: x[::2, 1::3].contiguous(),
        "fill": lambda: torch.zeros_like(x).fill_(3),
        "rand": lambda: torch.rand_like(x) + torch.randn(33, device="flagos").sum(),
        "dropout": lambda: nn.functional.dropout(x, 0.3),
        "norm": lambda: torch.linalg.vector_norm(x),
    }
    for make in work.values():
        make()
    torch.flagos.synchronize()
    with Latch(timeout=30) as latch:
        results = {}
        for name, make in work.items():
            before = waits()
            results[name] = make()
            assert waits() == before, f"{name} waited for the device"
    assert not latch.expired
    for name, make in work.items():
        if name not in ("rand", "dropout"):
            torch.testing.assert_close(results[name].cpu(), make().cpu())


def test_deepcopy_and_module_move_do_not_lose_data_while_held() -> None:
    model = cnn().to("flagos")
    twin = copy.deepcopy(model)
    with Latch(), torch.no_grad():
        for p in model.parameters():
            p.add_(1)
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(p.cpu(), q.cpu() + 1)
