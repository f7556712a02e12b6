# SPDX-License-Identifier: Apache-2.0
"""Compile and link the core against another torch, of which nothing is run."""

from __future__ import annotations

import re
import sys
import zipfile
from typing import TYPE_CHECKING

from runner.build import build, tool_path
from runner.python import torch_index
from runner.shell import BUILD, ROOT, Stop, call, logged, say

if TYPE_CHECKING:
    import pathlib

    from runner.python import Python

_WANTED = re.compile(
    r"torch/(include/.*|version\.py|lib/lib(c10|torch_cpu|torch_python)\.so)"
)


def _fetch(python: Python, version: str, folder: pathlib.Path) -> pathlib.Path:
    """The unpacked part of the wheel, as a folder with include/ and lib/."""
    torch = folder / "torch"
    done = folder / "unpacked"
    if done.exists():
        return torch
    folder.mkdir(parents=True, exist_ok=True)
    words: list[object] = [
        "-m",
        "pip",
        "download",
        "--disable-pip-version-check",
        "--no-deps",
    ]
    words += ["--dest", folder, *torch_index(), f"torch=={version}"]
    logged(f"fetching torch {version}", [python.path, *words])
    wheel = next(folder.glob("torch-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if _WANTED.fullmatch(name)]
        archive.extractall(folder, members)
    wheel.unlink()
    done.touch()
    return torch


def check(python: Python, version: str) -> None:
    """Fetch, compile, link, and look for undefined symbols in the binding."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Stop(f"{version} is not a version of torch such as 2.10.0.")
    home = build(python).stage / "torch_fl" / "musa"
    folder = BUILD / "headers" / version
    torch = _fetch(python, version, folder)
    tree = folder / "tree"
    cmake = python.tool("cmake")
    words = ["-S", ROOT, "-B", tree, "-G", "Ninja", f"-DFLAGOS_TORCH_ROOT={torch}"]
    words += [f"-DPython_EXECUTABLE={python.path}", f"-DFLAGOS_MUSA_HOME={home}"]
    path = tool_path(python)
    logged(f"configuring for torch {version}", [cmake, *words], env=path)
    targets = ["--target", "torch_flagos", "_C"]
    logged(
        f"compiling for torch {version}", [cmake, "--build", tree, *targets], env=path
    )
    libraries = sorted((torch / "lib").glob("*.so"))
    binding = next((tree / "csrc").glob("_C.*.so"))
    symbols = [sys.executable, ROOT / "tools" / "check_symbols.py"]
    core = tree / "csrc" / "libtorch_flagos.so"
    if call([*symbols, "--undefined", binding, core, *libraries]):
        raise Stop(f"the binding needs symbols that torch {version} does not have.")
    log = (BUILD / "logs" / f"configuring-for-torch-{version}.log").read_text()
    standard = re.search(r"C\+\+(\d+),", log)
    say(
        f"torch {version}: the core compiles as C++{standard and standard[1]} and links"
    )
