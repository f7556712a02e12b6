#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over sources, longest first, one process a core.

    check_tidy.py TREE [--base COMMIT] [--minutes N] [FOLDER...]

TREE holds compile_commands.json.  FOLDERs are checked whole; the rest of the sources
only where they changed since COMMIT.  When the minutes are over, the files that were
not checked are counted and named: the result says what it does not cover.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from sources import ROOT, changed_since

PROGRAM = "clang-tidy-19"  # by name, since versions disagree
FINDING = re.compile(r"^(/[^:]+):(\d+):(\d+): (error|warning): (.*)$")


def database(tree: pathlib.Path) -> list[pathlib.Path]:
    """Our compiled files, with a database in tree/tidy of one command for each.

    The toolkit compiles a kernel once for each instruction set; once is read here.
    Words that only g++ knows are left out.
    """
    found: dict[pathlib.Path, dict[str, str]] = {}
    for entry in json.loads((tree / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build"):
            command = re.sub(r" -fno-tree-\S+", "", entry["command"])
            found.setdefault(path.relative_to(ROOT), {**entry, "command": command})
    (tree / "tidy").mkdir(exist_ok=True)
    text = json.dumps(list(found.values()))
    (tree / "tidy" / "compile_commands.json").write_text(text)
    return sorted(found)


def tidy(tree: pathlib.Path, path: pathlib.Path, end: float) -> list[str] | None:
    """The findings in one file; None if there was no time left."""
    if time.monotonic() > end:
        return None
    done = subprocess.run(
        [
            PROGRAM,
            "-p",
            tree,
            "--quiet",
            "--extra-arg=-Wno-unknown-warning-option",  # g++ has more of them
            path,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    matches = [m for m in map(FINDING.match, done.stdout.splitlines()) if m]
    found = []
    for match in matches:
        name = os.path.relpath(match[1], ROOT)
        # The analyzer follows calls into torch's headers, which are not ours.
        if not name.startswith((".", "build/")):
            found.append(f"{name}:{match[2]}: {match[5]}")
    if done.returncode and not matches:
        found.append(f"{path}: {done.stderr.strip() or done.stdout.strip()}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--base")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("folder", nargs="*")
    options = parser.parse_args()
    if shutil.which(PROGRAM) is None:
        print(f"tidy: {PROGRAM} is missing: `apt-get install {PROGRAM}`.")
        return 1
    changed = changed_since(options.base) if options.base else set()
    paths = [
        path
        for path in database(options.tree)
        if path in changed
        or str(path).startswith(tuple(f"{f}/" for f in options.folder))
    ]
    paths.sort(key=lambda path: (path not in changed, -(ROOT / path).stat().st_size))
    end = time.monotonic() + options.minutes * 60
    found: set[str] = set()  # a header's finding comes once for each of its users
    late = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda path: tidy(options.tree / "tidy", path, end), paths)
        for path, findings in zip(paths, results, strict=True):
            if findings is None:
                late.append(str(path))
            for finding in findings or ():
                if finding not in found:
                    print(finding, flush=True)
                    found.add(finding)
    print(f"tidy: {len(paths) - len(late)} files, {len(found)} findings")
    if late:
        print(f"tidy: no time for {len(late)} files: {', '.join(late)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
