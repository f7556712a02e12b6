#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance matrices of two runs side by side, as a page.

    tools/join_matrices.py "cpu" "cuda (one NVIDIA H200)" FOLDER_OF_CPU FOLDER_OF_CUDA

Each folder holds what conformance_musart, _mudnn and _murand printed: <library>.log.
"""

from __future__ import annotations

import pathlib
import re
import sys

LIBRARIES = ("musart", "mudnn", "murand")
NOTE = re.compile(r"\[(\d+)\]")


def read(path: pathlib.Path) -> tuple[dict[str, list[str]], list[str], str]:
    """Rows by function, the column titles, and the last line."""
    lines = path.read_text().splitlines()
    notes = dict(re.findall(r"^\[(\d+)\] (.+)$", "\n".join(lines), re.M))
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("| ")
    ]
    # Numbers of notes differ from run to run: a cell says "no" and why, below.
    rows = {
        row[0]: [NOTE.sub(lambda m: f"({notes[m[1]]})", cell) for cell in row[1:]]
        for row in table[1:]
    }
    return rows, table[0], lines[-1]


def main() -> None:
    names, folders = sys.argv[1:3], [pathlib.Path(path) for path in sys.argv[3:5]]
    print("# Conformance of the portable engines\n")
    print(f"A cell that differs reads `{names[0]}` / `{names[1]}`. Made by")
    print("`tools/join_matrices.py` from what the suite printed on both.\n")
    for library in LIBRARIES:
        runs = [read(folder / f"{library}.log") for folder in folders]
        (first, title, _), (second, _, _) = runs
        print(f"## {library}\n")
        for name, (_, _, last) in zip(names, runs, strict=True):
            print(f"- {name}: {last}")
        print("\n| " + " | ".join(title) + " |\n|" + "---|" * len(title))
        for function in dict.fromkeys([*first, *second]):
            empty = ["-"] * (len(title) - 1)
            pairs = zip(
                first.get(function, empty), second.get(function, empty), strict=True
            )
            cells = [a if a == b else f"{a} / {b}" for a, b in pairs]
            print(f"| {function} | " + " | ".join(cells) + " |")
        print()


if __name__ == "__main__":
    main()
