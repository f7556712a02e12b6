# SPDX-License-Identifier: Apache-2.0
"""The repository's own files, for the check scripts."""

from __future__ import annotations

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CPP = (".h", ".cpp", ".mu", ".cu", ".cuh")


def files(*suffixes: str) -> list[pathlib.Path]:
    """Tracked and new files with one of these suffixes, relative to the root."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = {pathlib.Path(line) for line in done.stdout.splitlines()}
    return sorted(
        path for path in paths if path.suffix in suffixes and (ROOT / path).is_file()
    )


def changed_since(base: str) -> set[pathlib.Path]:
    """Files that differ from a commit, new ones included."""
    out = ""
    for words in (
        ["diff", "--name-only", base],
        ["ls-files", "--others", "--exclude-standard"],
    ):
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        )
        out += done.stdout
    return {pathlib.Path(line) for line in out.splitlines()}
