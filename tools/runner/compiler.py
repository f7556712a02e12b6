# SPDX-License-Identifier: Apache-2.0
"""The C++ compiler: one that shares the standard library with torch."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile

from runner.shell import say

_SOURCE = """#include <sstream>
std::string text(int i) { std::ostringstream s; s << i; return s.str(); }
"""
# What CMake looks for, in its order, when nothing is named.
_DEFAULTS = ("c++", "g++", "clang++")
_OTHERS = ("/usr/bin/c++", "/usr/bin/g++", "/usr/bin/clang++")


def _shares(compiler: str) -> bool:
    """Whether libraries that it links need a shared C++ standard library.

    True too where it cannot be told: CMake's own check has the last word.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder, "a.cpp"), pathlib.Path(folder, "a.so")
        source.write_text(_SOURCE)
        words = [*compiler.split(), "-shared", "-fPIC", str(source), "-o", str(library)]
        try:
            if subprocess.run(words, capture_output=True).returncode:
                return True
        except OSError:
            return True
        data = library.read_bytes()
    return b"libstdc++.so" in data or b"libc++.so" in data


def settle() -> None:
    """Name another compiler for this run if the one at hand brings its own library."""
    found = (shutil.which(name) for name in _DEFAULTS)
    first = os.environ.get("CXX") or next((path for path in found if path), None)
    if first is None or _shares(first):
        return
    for other in _OTHERS:
        if shutil.which(other) and _shares(other):
            say(f"{first} links its own C++ library into each of ours: taking {other}")
            os.environ["CXX"] = os.environ["CUDAHOSTCXX"] = other
            os.environ.pop("NVCC_CCBIN", None)
            return
