# SPDX-License-Identifier: Apache-2.0
"""Draws build/reports/cuda.json: every row's ratio beside its aim, a band a question.

picture.py FIGURES.json PICTURE.png
"""

from __future__ import annotations

import json
import math
import pathlib
import sys
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

MET, MISSED, REPORT, ABSENT = "#1b7f5c", "#c0392b", "#5b6b7b", "#b8bfc6"
NAMED = 5  # rows a band that are called by name: the worst
LOW, HIGH = 0.25, 4.0


def speed(row: dict[str, Any]) -> float:
    """The ratio such that more than 1 is better, whatever the row's own sense."""
    ratio = float(row["ratio"])
    return ratio if row["better"] == "higher" else 1 / max(ratio, 1e-9)


def colour(row: dict[str, Any]) -> str:
    return {True: MET, False: MISSED, None: REPORT}[row["met"]]


def worst_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Missed rows before the others, and the slowest first."""
    return sorted(rows, key=lambda row: (row["met"] is not False, speed(row)))


def band(axes: Any, part: dict[str, Any]) -> None:
    """One question: a dot a row, and the names of the worst."""
    rows = part["rows"]
    there = [row for row in rows if row["ratio"] is not None]
    absent = [row for row in rows if row["ratio"] is None]
    axes.axvline(1.0, color="#222222", linewidth=0.8, zorder=1)
    axes.axvspan(0.98, 1.02, color="#e8ecef", zorder=0)
    for index, row in enumerate(sorted(there, key=speed)):
        x = min(max(speed(row), LOW * 1.02), HIGH / 1.02)
        y = (index + 1) / (len(there) + 1)
        axes.scatter(x, y, s=22, color=colour(row), zorder=3, linewidths=0)
    met = sum(row["met"] is True for row in rows)
    aims = sum(row["met"] is not None for row in rows)
    title = f"{part['question']}\n" + (
        f"{met} of {aims} aims met" if aims else "no aim"
    )
    if absent:
        title += f", {len(absent)} not measured"
    axes.text(-0.01, 0.5, title, transform=axes.transAxes, ha="right", va="center")
    lines = [f"{speed(row):5.2f}  {row['name']}" for row in worst_first(there)[:NAMED]]
    room = max(0, NAMED + 1 - len(lines))
    lines += [f"    -  {row['name']}: {row['reason'][:50]}" for row in absent[:room]]
    axes.text(
        1.01,
        0.5,
        "\n".join(lines),
        transform=axes.transAxes,
        va="center",
        family="monospace",
        fontsize=7,
    )
    axes.set_xscale("log", base=2)
    axes.set_xlim(LOW, HIGH)
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    ticks = [0.25, 0.5, 0.75, 1, 1.33, 2, 4]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.tick_params(axis="x", labelsize=8, length=2)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)


def heading(figures: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    first = parts[0]
    versions = first["versions"]
    lines = [
        "flagos on the CUDA engine against torch.cuda, in turn on one GPU",
        f"{first['machine']['gpu']} · torch {versions['torch']} · CUDA "
        f"{versions['cuda']} · cuDNN {versions['cudnn']} · {first['date']}",
    ]
    tests = []
    for step in ("conformance", "test"):
        for name, part in figures.get(step, {}).items():
            if isinstance(part, dict) and "tests" in part:
                failed = len(part["failed"])
                good = part["tests"] - failed - part.get("skipped", 0)
                tests.append(f"{name} {good} passed, {failed} failed")
    if tests:
        lines.append("; ".join(tests))
    return "\n".join(lines)


def main() -> None:
    source, target = map(pathlib.Path, sys.argv[1:3])
    figures = json.loads(source.read_text())
    parts = [part for part in figures["bench"]["questions"] if part["rows"]]
    heights = [max(1.0, 0.35 * math.sqrt(len(part["rows"]))) for part in parts]
    figure, grid = plt.subplots(
        len(parts),
        1,
        figsize=(15, 1.2 + 1.15 * sum(heights)),
        height_ratios=heights,
        squeeze=False,
    )
    for axes, part in zip(grid[:, 0], parts, strict=True):
        band(axes, part)
    grid[-1, 0].set_xlabel(
        "speed against torch.cuda (memory: theirs / ours); more than 1 is better; "
        "green: aim met, red: missed, grey: no aim"
    )
    top = 1 - 0.9 / figure.get_figheight()
    figure.suptitle(heading(figures, parts), fontsize=11, y=0.995, va="top")
    figure.subplots_adjust(left=0.23, right=0.56, top=top, bottom=0.06, hspace=0.55)
    figure.savefig(target, dpi=110)


if __name__ == "__main__":
    main()
