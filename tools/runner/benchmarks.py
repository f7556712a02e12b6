# SPDX-License-Identifier: Apache-2.0
"""The benchmarks: Python programs, and the toolkit's own one of a submit's cost."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from runner import report
from runner.shell import ROOT, call, environment, say

if TYPE_CHECKING:
    from runner.build import Tree

_FOLDER = ROOT / "benchmarks"
_SUBMIT = "submit"
_ROW = re.compile(
    r"(.*?)\s+min\s+(\S+)\s+median\s+(\S+)\s+p90\s+(\S+)\s+max\s+(\S+) ns"
)


def names() -> list[str]:
    """What ./run bench can be asked for."""
    programs = [p.stem for p in _FOLDER.glob("*.py") if "__main__" in p.read_text()]
    return sorted([*programs, _SUBMIT])


def run(tree: Tree, name: str) -> bool:
    """Run one; whether it succeeded."""
    say(f"benchmark {name}")
    if name == _SUBMIT:
        return _submit(tree)
    return call([tree.python.path, _FOLDER / f"{name}.py"]) == 0


def _submit(tree: Tree) -> bool:
    program = tree.folder / "toolkit" / "benchmarks" / "submit_cost"
    done = subprocess.run(
        [program], env=environment(), stdout=subprocess.PIPE, text=True
    )
    print(done.stdout, flush=True)
    rows = {}
    section = ""
    for line in done.stdout.splitlines():
        found = _ROW.fullmatch(line)
        if not found:
            section = line.strip()
            continue
        values = map(float, found.groups()[1:])
        figures = dict(zip(("min", "median", "p90", "max"), values, strict=True))
        rows[f"{section}: {found[1].strip()}"] = figures
    report.write("submit", tree.python, {"unit": "ns", "rows": rows})
    return done.returncode == 0
