# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of benchmarks/cuda: each a process, one table, JSON and picture."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from runner.shell import BUILD, REPORTS, ROOT, Stop, logged, say, teed

if TYPE_CHECKING:
    import pathlib

    from runner.python import Python

_FOLDER = ROOT / "benchmarks" / "cuda"
_FLOOR = BUILD / "cuda-floor" / "liblaunch_floor.so"
RESULTS = ROOT / "benchmarks" / "results"
# The order in which they run: cheap ones first.
QUESTIONS = (
    "host_cost",
    "bandwidth",
    "products",
    "operators",
    "training",
    "convolution",
    "inference",
    "allocator",
    "synchronised",
)
# Left out of a quick run that asks for none by name.
_LONG = ("inference", "synchronised")


def build_floor(nvcc: str, architectures: str) -> float:
    """The library that launches an empty kernel; returns the seconds it took."""
    start = time.monotonic()
    _FLOOR.parent.mkdir(parents=True, exist_ok=True)
    words = [nvcc, "-O2", "-shared", "-cudart", "shared", "-Xcompiler", "-fPIC"]
    for sm in architectures.split(";"):
        words += ["-gencode", f"arch=compute_{sm},code=sm_{sm}"]
    words += ["-o", str(_FLOOR), str(_FOLDER / "launch_floor.cu")]
    logged("cuda launch floor", words)
    return round(time.monotonic() - start, 1)


def _collect(since: float) -> list[dict[str, Any]]:
    """The reports that the questions wrote in this run, in their order."""
    found = []
    for question in QUESTIONS:
        for path in sorted(REPORTS.glob(f"cuda-{question}*.json")):
            if path.stat().st_mtime >= since:
                found.append(json.loads(path.read_text()))
    return found


def _results(reports: list[dict[str, Any]]) -> pathlib.Path | None:
    """benchmarks/results/<gpu>.json: every row of one run."""
    rows = [
        {"question": part["report"], **row} for part in reports for row in part["rows"]
    ]
    if not rows:
        return None
    first = reports[0]
    keys = ("machine", "date", "versions", "settings")
    name = re.sub(r"[^a-z0-9]+", "-", first["machine"]["gpu"].lower()).strip("-")
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    data = {**{key: first[key] for key in keys}, "rows": rows}
    path.write_text(json.dumps(data, indent=1) + "\n")
    return path


def run(
    python: Python, variables: dict[str, str], name: str | None, quick: bool
) -> dict[str, Any]:
    """Every question, or those whose name has `name`."""
    wanted = [question for question in QUESTIONS if not name or name in question]
    if quick and not name:
        wanted = [question for question in wanted if question not in _LONG]
    if not wanted:
        raise Stop(f"no benchmark {name}: there are {', '.join(QUESTIONS)}.")
    variables = {**variables, "FLAGOS_LAUNCH_FLOOR": str(_FLOOR)}
    began, start = time.time() - 1, time.monotonic()
    broken = []
    for question in wanted:
        say(f"benchmark {question}")
        program: list[object] = [python.path, _FOLDER / f"{question}.py"]
        program += ["--quick"] if quick else []
        if teed(f"cuda bench {question}", program, env=variables):
            broken.append(question)
    reports = _collect(began)
    path = _results(reports)
    if path:
        say(f"rows are in {path.relative_to(ROOT)}")
    rows = [row for part in reports for row in part["rows"]]
    return {
        "passed": not broken,
        "broken": broken,
        "seconds": round(time.monotonic() - start, 1),
        "rows": len(rows),
        "missed": [row["name"] for row in rows if row["met"] is False],
        "not measured": {row["name"]: row["reason"] for row in rows if row["reason"]},
        "questions": reports,
    }


def picture(python: Python) -> None:
    """build/reports/cuda.png, where there are rows and matplotlib."""
    data = REPORTS / "cuda.json"
    rows = json.loads(data.read_text()).get("bench", {}).get("rows", 0)
    if not rows:
        return
    if not python.versions(["matplotlib"])[0]:
        say("no picture: matplotlib is not installed")
        return
    target = data.with_suffix(".png")
    if teed("cuda picture", [python.path, _FOLDER / "picture.py", data, target]) == 0:
        say(f"picture: {target.relative_to(ROOT)}")
