# SPDX-License-Identifier: Apache-2.0
"""The network and the images of the demo; they know nothing of any device."""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import nn

BATCH = 64


def make_model() -> nn.Sequential:
    """(N, 1, 8, 8) float images to (N, 10) scores."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.0),  # two generators draw two masks: none while we compare
        nn.Linear(128, 10),
    )


def make_data() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Training images and labels, test images and labels (a fifth of all)."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).div_(16).unsqueeze(1)
    labels = torch.tensor(digits.target, dtype=torch.int64)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1))
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    return images[train], labels[train], images[test], labels[test]
