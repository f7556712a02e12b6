# SPDX-License-Identifier: Apache-2.0
"""Checks the installation, then opens the toolkit before the plugin's own libraries.

`load(torch)` and, after the binding was imported, `check_maps(home, build)` either
succeed or raise an ImportError of one sentence with the remedy.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import json
import os
import pathlib
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

_REBUILD = "`pip install --no-build-isolation -v -e .`"
# A function that only the portable toolkit's library of that stem has.
_MARKERS = {
    "libmusart": "musaPortableAbi",
    "libmudnncxx": "mudnnPortableAbi",
    "libmudnn": "mudnnPortableAbi",
    "libmurand": "murandPortableAbi",
}
_ENGINE = "libmusa_portable.so.1"
_ENGINE_NEEDS = (_ENGINE, "libmusa_dnnl.so.3")
# Device kernels of ours: one library for each toolkit, below its own lib or, for the
# toolkit that was built against, below the package's.
_KERNELS = "libflagos_kernels.so"
_handles: list[ctypes.CDLL] = []  # never closed


def _find(name: str) -> pathlib.Path:
    """A file of the package: an editable install has two folders in __path__."""
    import torch_fl

    for folder in torch_fl.__path__:
        path = pathlib.Path(folder) / name
        if path.exists():
            return path
    raise ImportError(
        f"torch_fl is not built for this Python (no {name} in "
        f"{' or '.join(torch_fl.__path__)}): run {_REBUILD}."
    )


def _stem(library: str) -> str:
    return library.partition(".")[0]


def _check_whole(path: pathlib.Path) -> None:
    """Refuse a truncated file: dlopen would die of SIGBUS, which nothing can catch.

    The section headers are the last thing in an ELF file.
    """
    with path.open("rb") as file:
        head = file.read(64)
        size = os.fstat(file.fileno()).st_size
    if len(head) < 64 or head[:5] != b"\x7fELF\x02":
        raise ImportError(f"{path} is not a 64-bit library: rebuild with {_REBUILD}.")
    offset, entry, count = struct.unpack_from("<40xQ10xHH", head)
    if offset + entry * count > size:
        raise ImportError(f"{path} is truncated: rebuild with {_REBUILD}.")


def _check_torch(torch: ModuleType, build: dict[str, Any]) -> None:
    minor = ".".join(build["torch"].split(".")[:2])
    have = str(torch.__version__)
    if ".".join(have.split(".")[:2]) != minor:
        raise ImportError(
            f"torch_fl was built for torch {minor}, this is torch {have}: "
            f"install torch {minor} or rebuild torch_fl with {_REBUILD}."
        )
    if bool(torch.compiled_with_cxx11_abi()) != bool(build["cxx11_abi"]):
        built, found = ("new", "old") if build["cxx11_abi"] else ("old", "new")
        raise ImportError(
            f"torch_fl was built for the {built} C++ ABI, this torch has the {found} "
            f"one: rebuild torch_fl with {_REBUILD}."
        )


def _check_owner(torch: ModuleType) -> None:
    owner = torch._C._get_privateuse1_backend_name()
    taken = torch._C._dispatch_has_kernel_for_dispatch_key(
        "aten::empty.memory_format", "PrivateUse1"
    )
    if owner != "privateuseone" or taken:
        raise ImportError(
            f"the device slot PrivateUse1 already belongs to {owner!r} in this "
            "process: import torch_fl before torch, or set "
            "TORCH_DEVICE_BACKEND_AUTOLOAD=0."
        )


def _home(build: dict[str, Any]) -> pathlib.Path:
    """MUSA_HOME, else the toolkit built against, else the package's own.

    /usr/local/musa is not looked at again: a later vendor install would break a build
    on the portable toolkit.
    """
    home = os.environ.get("MUSA_HOME") or build["musa_home"]
    first = build["libraries"][0]
    if not home:
        return _find(f"musa/lib/{first}").parent.parent.resolve()
    if not (pathlib.Path(home) / "lib" / first).exists():
        raise ImportError(
            f"MUSA_HOME={home} has no lib/{first}: "
            "point it at a MUSA toolkit or unset it."
        )
    return pathlib.Path(home).resolve()


def _mapped(library: str) -> set[str]:
    """Every file mapped into this process as `library`, whatever its version."""
    stem = _stem(library)
    found = set()
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = "/" + line.rstrip("\n").partition("/")[2]
            if _stem(os.path.basename(path)) == stem:
                found.add(path)
    return found


def _outside(files: set[str], home: pathlib.Path) -> set[str]:
    inside = f"{home}{os.sep}"
    return {file for file in files if not os.path.realpath(file).startswith(inside)}


def _refuse(library: str, home: pathlib.Path, files: set[str]) -> None:
    found = ", ".join(sorted(files)) or "none"
    raise ImportError(
        f"this process needs exactly one {_stem(library)}, below {home}, and has "
        f"{found}: start a new Python process, and import torch_fl before anything "
        "that loads another MUSA toolkit."
    )


def check_maps(home: pathlib.Path, build: dict[str, Any]) -> None:
    """Refuse a process in which two toolkits are mixed."""
    libraries = list(build["libraries"])
    if (home / "lib" / _ENGINE).exists():  # the state that all of them share
        libraries.append(_ENGINE)
    for library in libraries:
        files = _mapped(library)
        if len(files) != 1 or _outside(files, home):
            _refuse(library, home, files)


def _open(home: pathlib.Path, library: str, toolkit: str) -> None:
    path = home / "lib" / library
    try:
        handle = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded: {error}.") from None
    marker = getattr(handle, _MARKERS[_stem(library)], None)
    found = f"portable-{marker()}" if marker else "vendor"
    if found != toolkit:
        raise ImportError(
            f"torch_fl was built for the {toolkit} toolkit, {path} is {found}: "
            f"rebuild torch_fl with MUSA_HOME={home}, or unset MUSA_HOME."
        )
    _handles.append(handle)


def _engine(build: dict[str, Any]) -> str:
    """Name of the engine behind the toolkit that was opened."""
    if build["toolkit"] == "vendor":
        return "vendor"
    name = _handles[0].musaPortableEngine
    name.restype = ctypes.c_char_p
    return str(name().decode())


def _open_kernels(home: pathlib.Path, build: dict[str, Any]) -> None:
    if build["build_kernels"] != "ON":
        return
    path = home / "lib" / _KERNELS
    if not path.exists():
        path = _find(f"lib/{_KERNELS}")
    _check_whole(path)
    try:
        handle = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded: {error}.") from None
    handle.fl_kernels_target.restype = ctypes.c_char_p
    target, engine = handle.fl_kernels_target().decode(), _engine(build)
    if target != engine:
        raise ImportError(
            f"the device kernels in {path} are for engine {target}, the toolkit in "
            f"{home} is {engine}: build its own with `cmake -S csrc/kernels -B "
            f"build/kernels -DMUSA_HOME={home}`, or rebuild torch_fl with {_REBUILD}."
        )
    _handles.append(handle)


def _check_files(home: pathlib.Path, build: dict[str, Any]) -> None:
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    _check_whole(_find("_C" + suffix))
    _check_whole(_find("lib/libtorch_flagos.so"))
    for library in (*build["libraries"], *_ENGINE_NEEDS):
        path = home / "lib" / library
        if path.is_file():
            _check_whole(path)


def load(torch: ModuleType) -> tuple[dict[str, Any], pathlib.Path]:
    """Check everything, open the toolkit; returns build.json and the toolkit's home."""
    build: dict[str, Any] = json.loads(_find("build.json").read_text())
    _check_torch(torch, build)
    _check_owner(torch)
    home = _home(build)
    for library in build["libraries"]:
        files = _mapped(library)
        if _outside(files, home):  # a SONAME that is already loaded would win
            _refuse(library, home, files)
    _check_files(home, build)
    for library in build["libraries"]:
        _open(home, library, build["toolkit"])
    _open_kernels(home, build)
    return build, home


def describe(build: dict[str, Any], home: pathlib.Path) -> dict[str, str]:
    """What is installed, for `torch-fl` and for reports."""
    return {
        "built for": f"torch {build['torch']}, C++{build['cxx_standard']}",
        "toolkit": str(home),
        "made by": build["toolkit"],
        "engine": _engine(build),
        "native ops": str(build["build_vendor"]),
        "device kernels": str(build["build_kernels"]),
    }
