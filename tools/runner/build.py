# SPDX-License-Identifier: Apache-2.0
"""Building: pip once for the editable install, CMake alone afterwards."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.shell import BUILD, ROOT, capture, logged

if TYPE_CHECKING:
    import pathlib

    from runner.python import Python

_CHOICES = (
    "FLAGOS_ACCELERATOR",
    "FLAGOS_BUILD_VENDOR",
    "FLAGOS_BUILD_KERNELS",
    "FLAGOS_BUILD_FLAGGEMS",
    "FLAGOS_BUILD_BOXING",
    "FLAGOS_BUILD_FLAGGEMS_CPP",
    "FLAGOS_WERROR",
    "MUSA_HOME",
)
_TREE = "import sys; sys.path.insert(0, 'build_backend'); import flagos_build as b; "
# Where `import torch_fl` comes from, without importing it.
INSTALLED = (
    "import importlib.metadata as m, json\n"
    "try:\n"
    "    text = m.distribution('torch-fl').read_text('direct_url.json') or '{}'\n"
    "except m.PackageNotFoundError:\n"
    "    text = '{}'\n"
    "print(json.loads(text).get('url', ''))"
)


@dataclass(frozen=True)
class Tree:
    """A build tree and the stage that the editable install looks into."""

    python: Python
    folder: pathlib.Path
    stage: pathlib.Path

    def cmake(self, name: str, *words: str | pathlib.Path) -> None:
        """Run the environment's cmake with progress."""
        logged(name, [self.python.tool("cmake"), *words], env=tool_path(self.python))


def tool_path(python: Python) -> dict[str, str]:
    """PATH with the environment's programs first."""
    folder = python.tool("ninja").parent
    return {"PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}


def _fingerprint(python: Python) -> str:
    """What makes a new pip install necessary when it changes."""
    digest = hashlib.sha256(str(python.path).encode())
    for file in (
        ROOT / "pyproject.toml",
        *sorted((ROOT / "build_backend").glob("*.py")),
    ):
        digest.update(file.read_bytes())
    for name in _CHOICES:
        digest.update(f"{name}={os.environ.get(name)}".encode())
    return digest.hexdigest()


def build(python: Python, *extra: str) -> Tree:
    """Bring the editable install up to date, with CMake's words for what else."""
    python.need("build")
    name = capture([python.path, "-c", _TREE + "b._check(); print(b.tree_name())"])
    tree = Tree(python, BUILD / name, BUILD / f"stage-{name}")
    stamp = tree.folder / "installed-by-run"
    fresh = _fingerprint(python)
    installed = capture([python.path, "-c", INSTALLED])
    if (
        not stamp.exists()
        or stamp.read_text() != fresh
        or installed != ROOT.as_uri()
        or not (tree.folder / "CMakeCache.txt").exists()
    ):
        _install(python)
        stamp.write_text(fresh)
        if not extra:
            return tree
    if extra:
        tree.cmake("configuring", *extra, tree.folder)
    tree.cmake("building", "--build", tree.folder)
    tree.cmake("installing", "--install", tree.folder, "--prefix", tree.stage)
    return tree


def _install(python: Python) -> None:
    words = ["--disable-pip-version-check", "--no-build-isolation", "--no-deps", "-v"]
    logged(
        "building and installing",
        [python.path, "-m", "pip", "install", *words, "-e", "."],
        env=tool_path(python),
    )
