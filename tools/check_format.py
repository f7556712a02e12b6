#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-format on every C++ file: names the ones it would change, or changes them."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

from sources import CPP, ROOT, files

PROGRAM = "clang-format-19"  # by name, since versions disagree


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="rewrite the files")
    options = parser.parse_args()
    if shutil.which(PROGRAM) is None:
        print(f"format: {PROGRAM} is missing: `apt-get install {PROGRAM}`.")
        return 1
    paths = [str(path) for path in files(*CPP)]
    if not paths:
        return 0
    how = ["-i"] if options.fix else ["--dry-run", "--Werror", "--ferror-limit=1"]
    done = subprocess.run(
        [PROGRAM, *how, *paths], cwd=ROOT, capture_output=True, text=True
    )
    errors = [line for line in done.stderr.splitlines() if ": error" in line]
    wrong = sorted({line.split(":")[0] for line in errors})
    for path in wrong:
        print(f"{path}: not formatted (`./run lint --fix`)")
    if done.returncode and not wrong:
        print(done.stderr.strip())
    if not done.returncode:
        print(f"format: {len(paths)} files are formatted")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
