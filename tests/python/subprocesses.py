# SPDX-License-Identifier: Apache-2.0
"""Runs a piece of Python in a fresh process, for tests of start-up, fork and exit."""

from __future__ import annotations

import os
import subprocess
import sys


def run_python(
    code: str, timeout: float = 120, **environment: str | None
) -> subprocess.CompletedProcess[str]:
    """The finished process; ``NAME=None`` takes a variable away."""
    values = {**os.environ, **{k: v for k, v in environment.items() if v is not None}}
    for key, value in environment.items():
        if value is None:
            values.pop(key, None)
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=values,
        check=False,
    )


def output_of(code: str, timeout: float = 120, **environment: str | None) -> str:
    """What the code printed; its exit status must be 0."""
    done = run_python(code, timeout, **environment)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
