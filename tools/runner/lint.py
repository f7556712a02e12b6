# SPDX-License-Identifier: Apache-2.0
"""Every check of the sources, cheapest first; the first that fails ends it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from runner.build import tool_path
from runner.python import Python
from runner.shell import BUILD, ROOT, Stop, call, logged, say

_CLANG = ("clang-format-19", "clang-tidy-19")
# Minutes that clang-tidy may take on a machine of two cores.
_TIDY_MINUTES = 12.0


def _check_tools() -> None:
    missing = [name for name in _CLANG if shutil.which(name) is None]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        say(f"installing {' '.join(missing)}")
        install = ["apt-get", "install", "-y", "-qq", *missing]
        if call(install, env=quiet):
            call(["apt-get", "update", "-qq"], env=quiet)
            call(install, env=quiet)
        missing = [name for name in _CLANG if shutil.which(name) is None]
    if missing:
        raise Stop(f"{' and '.join(missing)} are missing: install them with apt-get.")


def _base() -> str | None:
    """The commit that changes are counted from: where this branch left the main one."""
    for words in (["merge-base", "HEAD", "origin/main"], ["rev-parse", "HEAD~1"]):
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
        )
        if done.returncode == 0 and done.stdout != head.stdout:
            return done.stdout.strip()
    return None


def _step(name: str, *command: object) -> None:
    say(name)
    if call([str(word) for word in command]):
        raise Stop(f"{name}: see the lines above.")


def _tidy(python: Python, everything: bool) -> None:
    tree = BUILD / "tidy"
    cmake = python.tool("cmake")
    words = [
        "-S",
        ROOT,
        "-B",
        tree,
        "-G",
        "Ninja",
        f"-DPython_EXECUTABLE={python.path}",
    ]
    words += ["-DFLAGOS_BUILD_TESTS=ON"]
    logged("configuring for clang-tidy", [cmake, *words], env=tool_path(python))
    script = [sys.executable, ROOT / "tools" / "check_tidy.py", tree]
    if everything:
        _step("clang-tidy, every file", *script, "toolkit", "csrc", "tests")
        return
    base = _base()
    if base:
        script += ["--base", base]
    minutes = ["--minutes", _TIDY_MINUTES]
    _step("clang-tidy, toolkit and changes", *script, *minutes, "toolkit")


def check(fix: bool, everything: bool, tidy: bool) -> None:
    """All checks; with fix, the formatters write."""
    tools = ROOT / "tools"
    _check_tools()
    python = Python()
    python.need("build", "lint")
    ruff = python.tool("ruff")
    if fix:
        _step("clang-format", sys.executable, tools / "check_format.py", "--fix")
        _step("ruff format", ruff, "format", "--quiet")
        _step("ruff", ruff, "check", "--quiet", "--fix")
    _step("includes", sys.executable, tools / "check_includes.py")
    _step("names", sys.executable, tools / "check_names.py")
    _step("clang-format", sys.executable, tools / "check_format.py")
    _step("ruff format", ruff, "format", "--check", "--quiet")
    _step("ruff", ruff, "check", "--quiet")
    _step("mypy", python.tool("mypy"))
    if tidy:
        _tidy(python, everything)
    say("lint: nothing found" if tidy else "lint: nothing found; clang-tidy left out")
