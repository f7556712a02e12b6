# SPDX-License-Identifier: Apache-2.0
"""Trains one small CNN twice, on flagos and on the CPU, and compares the two.

The data are scikit-learn's 1,797 scanned digits. Both runs start from the same weights
and see the same batches, so their losses must agree. Run it with ``./run demo``.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import json
import os
import pathlib
import platform
import sys
import time

import torch
from digits_model import BATCH, make_data, make_model
from torch import nn

import torch_fl
from torch_fl.testing import waits

REPORTS = pathlib.Path(__file__).resolve().parent.parent / "build" / "reports"
CHECKED_STEPS = 20
LIMIT_ACCURACY = 0.97
LIMIT_LOSS = 1e-3


class Run:
    """One model on one device, with what it measured."""

    def __init__(self, device: str, model: nn.Module) -> None:
        self.device = device
        self.model = copy.deepcopy(model).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
        self.losses: list[float] = []
        self.seconds: list[float] = []
        self.waits = 0
        self.steps = 0
        self._warm_up(model)

    def _warm_up(self, model: nn.Module) -> None:
        """A step of a throw-away twin: what the libraries find out once, such as
        whether batch norm stores its statistics, is not part of a step."""
        twin = copy.deepcopy(model).to(self.device)
        x = torch.zeros(BATCH, 1, 8, 8, device=self.device)
        twin(x).sum().backward()

    def epoch(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        """One pass over batches that lie in pinned host memory."""
        self.model.train()
        losses = []
        self._wait()
        before, start = waits(), time.perf_counter()
        for first in range(0, len(images) - BATCH + 1, BATCH):
            x = images[first : first + BATCH].to(self.device, non_blocking=True)
            y = labels[first : first + BATCH].to(self.device, non_blocking=True)
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.detach())
        after = waits()
        self._wait()
        self.seconds.append((time.perf_counter() - start) / len(losses))
        if self.device != "cpu" and before is not None and after is not None:
            self.waits += after - before
        self.steps += len(losses)
        self.losses += [loss.item() for loss in losses]  # logging: here we do wait

    def _wait(self) -> None:
        if self.device != "cpu":
            torch.accelerator.synchronize()

    def accuracy(self, images: torch.Tensor, labels: torch.Tensor) -> float:
        self.model.eval()
        with torch.no_grad():
            scores = self.model(images.to(self.device))
        hits = (scores.argmax(1) == labels.to(self.device)).sum()
        return hits.item() / len(labels)

    def step_ms(self) -> float:
        """Median over the epochs after the first, which warms up."""
        rest = sorted(self.seconds[1:] or self.seconds)
        return 1e3 * rest[len(rest) // 2]


def train(epochs: int) -> tuple[Run, Run]:
    torch.manual_seed(0)
    model = make_model()
    ours, cpu = Run("flagos", model), Run("cpu", model)
    images, labels, test_images, test_labels = make_data()
    print(f"{len(images)} training and {len(test_images)} test images, batch {BATCH}")
    print("          loss              test accuracy      ms per step")
    print("epoch   flagos     cpu      flagos    cpu      flagos    cpu")
    shuffle = torch.Generator().manual_seed(2)
    for number in range(1, epochs + 1):
        order = torch.randperm(len(images), generator=shuffle)
        x, y = images[order].pin_memory(), labels[order].pin_memory()
        for run in (ours, cpu):
            run.epoch(x, y)
        scores = [run.accuracy(test_images, test_labels) for run in (ours, cpu)]
        per_epoch = len(ours.losses) // number
        means = [sum(r.losses[-per_epoch:]) / per_epoch for r in (ours, cpu)]
        times = [1e3 * run.seconds[-1] for run in (ours, cpu)]
        print(
            f"{number:5}  {means[0]:8.4f} {means[1]:8.4f}   "
            f"{scores[0]:8.4f} {scores[1]:8.4f}  {times[0]:8.2f} {times[1]:8.2f}",
            flush=True,
        )
    ours.final, cpu.final = scores  # type: ignore[attr-defined]
    return ours, cpu


def draw(ours: Run, cpu: Run, path: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    left.plot(cpu.losses, color="tab:gray", linewidth=4, alpha=0.5, label="cpu")
    left.plot(ours.losses, color="tab:blue", linewidth=1, label="flagos")
    left.set(xlabel="step", ylabel="training loss", yscale="log", title="Loss")
    left.legend()
    gaps = [abs(a - b) / abs(b) for a, b in zip(ours.losses, cpu.losses, strict=True)]
    right.plot([max(gap, 1e-8) for gap in gaps], color="tab:blue", linewidth=1)
    right.axhline(LIMIT_LOSS, color="tab:red", linestyle="--", linewidth=1)
    right.axvline(CHECKED_STEPS, color="tab:gray", linestyle=":", linewidth=1)
    right.set(xlabel="step", ylabel="|flagos - cpu| / cpu (at least 1e-8)")
    right.set(yscale="log", ylim=(5e-9, 1e-2), title="Difference of the losses")
    right.annotate(
        f"limit {LIMIT_LOSS:g} through step {CHECKED_STEPS}",
        (CHECKED_STEPS, LIMIT_LOSS),
        textcoords="offset points",
        xytext=(6, 6),
        color="tab:red",
    )
    figure.suptitle("Handwritten digits, the same network on two devices")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def report(ours: Run, cpu: Run) -> dict[str, object]:
    pairs = zip(ours.losses[:CHECKED_STEPS], cpu.losses[:CHECKED_STEPS], strict=True)
    info = torch_fl.info()
    return {
        "accuracy_flagos": ours.final,  # type: ignore[attr-defined]
        "accuracy_cpu": cpu.final,  # type: ignore[attr-defined]
        "max_relative_loss_difference": max(abs(a - b) / abs(b) for a, b in pairs),
        "fallbacks": sum(torch_fl.fallbacks().values()),
        "waits_per_step": ours.waits / ours.steps,
        "step_ms_flagos": ours.step_ms(),
        "step_ms_cpu": cpu.step_ms(),
        "threads_cpu": torch.get_num_threads(),
        "torch": torch.__version__,
        "torch_fl": {key: str(value) for key, value in info.items()},
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
    }


def check(result: dict[str, object]) -> list[str]:
    """What is not as it must be, a sentence each."""
    wrong = [
        f"test accuracy on {name} is {result[f'accuracy_{name}']:.4f}, "
        f"below {LIMIT_ACCURACY}"
        for name in ("flagos", "cpu")
        if result[f"accuracy_{name}"] < LIMIT_ACCURACY  # type: ignore[operator]
    ]
    if result["max_relative_loss_difference"] > LIMIT_LOSS:  # type: ignore[operator]
        wrong.append(
            f"the losses differ by {result['max_relative_loss_difference']:.2e} within "
            f"the first {CHECKED_STEPS} steps, more than {LIMIT_LOSS:g}"
        )
    if result["fallbacks"]:
        wrong.append(f"operators fell back to the CPU: {torch_fl.fallbacks()}")
    if result["waits_per_step"]:
        wrong.append(f"a training step waited {result['waits_per_step']} times")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--reports", type=pathlib.Path, default=REPORTS)
    options = parser.parse_args()
    options.reports.mkdir(parents=True, exist_ok=True)
    ours, cpu = train(options.epochs)
    result = report(ours, cpu)
    (options.reports / "demo.json").write_text(json.dumps(result, indent=2) + "\n")
    draw(ours, cpu, options.reports / "demo.png")
    print()
    for key in list(result)[:7]:
        print(f"  {key:30} {result[key]:.6g}")
    print(f"\nFigures: {options.reports / 'demo.json'}")
    print(f"Picture: {options.reports / 'demo.png'}")
    wrong = check(result)
    for sentence in wrong:
        print(f"digits: {sentence}.", file=sys.stderr)
    if not wrong:
        print(
            "\nThe same training ran on flagos, every operator native."
            "\nTry next:"
            '\n  your own model: import torch_fl, then device="flagos"'
            "\n  FLAGOS_LOG_FALLBACK=1 python your_script.py    what still falls back"
            "\n  ./run test                                     everything we check"
            "\n  MUSA_HOME=/usr/local/musa pip install --no-build-isolation -v -e .   "
            "on a machine with the vendor's SDK"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
