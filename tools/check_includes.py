#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which room may include what, and what a room must not spell.

Prints file:line and the rule; exit status 1 if anything was found.  ROOMS is the whole
rule book: for each folder the kinds of headers that it may include, "system" (the
standard library and the operating system) being always allowed.
"""

from __future__ import annotations

import pathlib
import re
import sys

from sources import CPP, ROOT, files

# Kinds of headers, first match wins.
KINDS = [
    ("a banned torch header", r"ATen/ATen\.h|torch/(all|extension|torch)\.h"),
    ("python", r"Python\.h|pybind11/.*|torch/csrc/.*"),
    ("ATen/core", r"ATen/core/.*"),
    ("ATen", r"ATen/.*"),
    ("c10", r"c10/.*|torch/headeronly/.*"),
    ("torch", r"torch/.*"),
    ("musart", r"musa_runtime(_api)?\.h|driver_types\.h|musa_portable\.h"),
    ("mudnn", r"(mudnncxx/)?mudnn(_\w+)?\.h"),
    ("murand", r"murand\w*\.h"),
    ("gtest", r"g(test|mock)/.*"),
    ("onednn", r"oneapi/.*|dnnl.*\.h(pp)?"),
    ("cuda", r"(cuda|cublas|cudnn|curand)\w*\.h|(cub|thrust|cuda)/.*"),
    ("toolkit", r"toolkit/.*"),
    ("csrc", r"csrc/.*"),
]
TORCH = ("c10", "ATen/core", "ATen", "torch")
# Room: kinds of headers, and our own paths, that it may include.
ROOMS = {
    "csrc/runtime": ("c10", "musart"),
    "csrc/allocator": ("c10", "ATen/core", "musart", "csrc/runtime"),
    "csrc/rng": ("c10", "ATen/core", "murand", "csrc/runtime"),
    "csrc/mudnn": (*TORCH[:3], "mudnn", "csrc/runtime", "csrc/allocator"),
    "csrc/kernels": ("musart",),
    "csrc/ops": (
        *TORCH, "csrc/mudnn", "csrc/rng", "csrc/runtime", "csrc/routing/register.h",
        "csrc/kernels",
        "csrc/allocator/device_allocator.h", "csrc/allocator/host_allocator.h",
    ),
    "csrc/routing": (*TORCH, "csrc/runtime", "csrc/allocator", "csrc/rng"),
    "csrc/python": (*TORCH, "python", "musart", "csrc"),
    "toolkit/include": ("musart", "mudnn", "murand"),
    "toolkit/api": ("musart", "mudnn", "murand", "toolkit/include", "toolkit/engine"),
    "toolkit/kernels": (),
    "toolkit/engine": ("musart", "mudnn", "murand", "toolkit/include"),
    "toolkit/engine/cpu": (
        "musart", "mudnn", "murand", "onednn", "toolkit/include", "toolkit/engine",
        "toolkit/kernels",
    ),
    "toolkit/engine/cuda": (
        "musart", "mudnn", "murand", "cuda", "toolkit/include", "toolkit/engine",
        "toolkit/kernels",
    ),
    "toolkit/conformance": ("musart", "mudnn", "murand", "gtest"),
    "toolkit/benchmarks": ("musart", "mudnn", "murand"),
    "tests/cpp": (*TORCH, "musart", "mudnn", "murand", "gtest", "csrc"),
}  # fmt: skip
# Paths below an allowed one that stay closed.
CLOSED = {
    "toolkit/api": ("toolkit/engine/cpu/", "toolkit/engine/cuda/"),
    "toolkit/engine": ("toolkit/engine/cpu/", "toolkit/engine/cuda/"),
    "toolkit/engine/cpu": ("toolkit/engine/cuda/",),
    "toolkit/engine/cuda": ("toolkit/engine/cpu/",),
}
# Projects of their own: quotes are relative to this folder there.
OWN_ROOT = ("toolkit/conformance", "toolkit/include", "toolkit/benchmarks")
# Headers in csrc/ops that other families may use.
SHARED = tuple(
    f"csrc/ops/{name}.h"
    for name in (
        "output",
        "device_copy",
        "host_copy",
        "index_picks",
        "kernel_operands",
        "math",
        "sort",
        "tensor_lists",
    )
)
# What must not stand in a room's code, and the rule.
WORDS = [
    ("csrc/ops", r"\.cpu\(\)|\bto\((at::|c10::)?kCPU", "ops stay on the device"),
    ("csrc/ops", r"\bmusaStream_t\b", "ops know no vendor stream"),
    ("csrc", r"\b(Optional)?DeviceGuard\b", "devices switch through DeviceScope"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path: str) -> str | None:
    """The innermost room that a file lies in."""
    rooms = [room for room in ROOMS if path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def kind_of(header: str) -> str:
    """What a header belongs to."""
    found = (kind for kind, pattern in KINDS if re.fullmatch(pattern, header))
    return next(found, "system")


def may(room: str, header: str, kind: str) -> bool:
    """Whether the rule book lets a room include a header."""
    if header.startswith(CLOSED.get(room, ())):
        return False
    return kind == "system" or any(
        kind == word or header == word or header.startswith(word + "/")
        for word in (room, *ROOMS[room])
    )


def family(room: str, path: pathlib.Path, header: str) -> bool:
    """Whether an op file reaches for the header of another family."""
    other = pathlib.Path(header)
    return (
        room == "csrc/ops"
        and header.startswith("csrc/ops/")
        and header not in SHARED
        and (ROOT / other.with_suffix(".cpp")).exists()
        and not path.stem.startswith(other.stem)
    )


def check(path: pathlib.Path) -> list[str]:
    """The breaches of one file."""
    room = room_of(str(path))
    if room is None:
        return []
    found = []
    angled = False
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        where = f"{path}:{number}: "
        code = line.split("//")[0]
        for place, pattern, rule in WORDS:
            if room.startswith(place) and re.search(pattern, code):
                found.append(f"{where}{rule}: {line.strip()}")
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, header = match.groups()
        kind = kind_of(header)
        if not may(room, header, kind):
            what = header if kind in ("csrc", "toolkit") else f"{header} ({kind})"
            found.append(f"{where}{room} may not include {what}")
        if family(room, path, header):
            found.append(f"{where}an op family does not include another: {header}")
        if quote == "<":
            angled = True
        elif angled and room != "toolkit/include":
            found.append(f'{where}"{header}" stands after <...> headers')
        if quote == '"' and room not in OWN_ROOT and not (ROOT / header).exists():
            found.append(f'{where}"{header}" is no path from the root')
    return found


def main() -> int:
    found = [breach for path in files(*CPP) for breach in check(path)]
    print("\n".join(found) if found else "includes: every room keeps its rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
