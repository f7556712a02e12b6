# SPDX-License-Identifier: Apache-2.0
"""Training steps of whole networks, until the device is done."""

from __future__ import annotations

import networks
import torch
from pairs import OPTIONS, Question, set_tf32


def main() -> None:
    question = Question("Training step", "training", seconds=80)
    last = torch.channels_last
    set_tf32(False)
    # The first losses agree to the rounding of a forward pass.
    question.device("digits CNN, batch 64", networks.digits, tolerance=1e-4)
    question.end()
    question.device("ResNet-50, batch 64, fp32", networks.resnet50, tolerance=1e-3)
    question.end()
    set_tf32(True)
    question.device("ResNet-50, batch 64, TF32", networks.resnet50, tolerance=1e-2)
    question.end()
    if not OPTIONS.quick:
        question.device(
            "ResNet-50, batch 64, TF32, NHWC",
            lambda device: networks.resnet50(device, last),
            tolerance=1e-2,
        )
        question.end()
    question.device(
        "ResNet-50, batch 64, bf16 autocast, NHWC",
        lambda device: networks.resnet50(device, last, torch.bfloat16),
        tolerance=2e-2,
    )
    question.end()
    set_tf32(False)
    question.device("GPT-2 124 M, 8x1024, bf16", networks.gpt2, tolerance=1e-2)
    question.end()
    question.device("BERT-base, 32x128, fp32", networks.bert, tolerance=1e-3)


if __name__ == "__main__":
    main()
