#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names, first lines and sizes of our files.

Prints file and rule; exit status 1 if a rule is broken.  Files over the soft budget of
lines are only named.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from sources import CPP, ROOT, files

if TYPE_CHECKING:
    import pathlib

SPDX = "SPDX-License-Identifier: Apache-2.0"
SOFT, HARD = 500, 700
README_LINES = 25
ROOMS = ("csrc", "toolkit", "torch_fl", "tests", "benchmarks", "cmake", "tools")
# Names that the vendor, CMake or Python dictate.
FOREIGN = re.compile(
    r"(CMakeLists|Find\w+|Flagos\w+|Musa\w+|Warnings|Sanitizers|Language|Libraries"
    r"|README|__init__|__main__)"
)
VAGUE = re.compile(r"(utils?|misc|helpers?|new|old)\d*")


def name_rules(path: pathlib.Path) -> list[str]:
    """Rules on what a file is called."""
    stem = path.name.split(".")[0]
    if FOREIGN.fullmatch(stem):
        return []
    found = []
    if not re.fullmatch(r"_?[a-z0-9]+(_[a-z0-9]+)*", stem):
        found.append("a file is called in snake_case")
    if VAGUE.fullmatch(stem):
        found.append("the name does not say what the file holds")
    return found


def text_rules(path: pathlib.Path, lines: list[str]) -> list[str]:
    """Rules on the first lines, the guard and the size."""
    found = []
    if lines and not any(SPDX in line for line in lines[:3]):
        found.append(f"one of the first lines reads {SPDX}")
    if path.suffix == ".h" and "#pragma once" not in lines:
        found.append("a header has #pragma once")
    if len(lines) > HARD:
        found.append(f"{len(lines)} lines, at most {HARD} are allowed")
    if path.suffix in (".txt", ".cmake"):
        for number, line in enumerate(lines, 1):
            if re.search(r"file\(\s*GLOB", line):
                found.append(f"line {number}: sources are listed, not globbed")
    return found


def main() -> int:
    found = []
    long = []
    for path in files(*CPP, ".py", ".cmake", ".txt", ".sh"):
        if path.suffix == ".txt" and path.name != "CMakeLists.txt":
            continue
        lines = (ROOT / path).read_text().splitlines()
        found += [f"{path}: {rule}" for rule in name_rules(path)]
        found += [f"{path}: {rule}" for rule in text_rules(path, lines)]
        if SOFT < len(lines) <= HARD:
            long.append(f"{path} ({len(lines)})")
    for path in files(".md"):
        size = len((ROOT / path).read_text().splitlines())
        if path.name == "README.md" and path.parts[0] in ROOMS and size > README_LINES:
            found.append(f"{path}: {size} lines, a room's README has {README_LINES}")
    if long:
        print(f"names: over {SOFT} lines: {', '.join(long)}")
    print(
        "\n".join(found) if found else "names: names, first lines and sizes are right"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
