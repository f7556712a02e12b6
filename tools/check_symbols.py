#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What our libraries export and need.

    check_symbols.py LIBRARY...               exports against tools/symbols/NAME.txt
    check_symbols.py --update LIBRARY...      write those lists
    check_symbols.py --undefined USER PROVIDER...   every need of USER is provided

A list holds one line a symbol, demangled, sorted.  Weak and template instantiations of
other projects' headers never belong to our interface and are not listed.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys

LISTS = pathlib.Path(__file__).resolve().parent / "symbols"
# The interpreter and the C and C++ run-time libraries provide these.
SYSTEM: tuple[str, ...] = (
    "Py",
    "_Py",
    "__",
    "_ITM_",
    "_Unwind_",
    "std::",
    "operator new",
)
SYSTEM += ("operator delete", "vtable for __cxxabiv1::", "typeinfo for __cxxabiv1::")
# Strong definitions and data; weak ones are other projects' inline functions.
STRONG = "TDBRGi"
LINKER = ("__bss_start", "_edata", "_end", "_init", "_fini")


def symbols(library: str, *options: str) -> list[tuple[str, str]]:
    """(kind, mangled name) of each dynamic symbol."""
    done = subprocess.run(
        ["nm", "-D", *options, library], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(row[-2], row[-1].split("@")[0]) for row in rows if len(row) >= 2]


def demangle(names: list[str]) -> list[str]:
    """The C++ names of mangled ones, in the same order."""
    done = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def stem(library: str) -> str:
    """libmusart.so.5 and _C.cpython-311-x86_64-linux-gnu.so without their tails."""
    return pathlib.Path(library).name.split(".")[0]


def exported(library: str) -> list[str]:
    """What a library defines for others, demangled."""
    defined = symbols(library, "--defined-only")
    names = [name for kind, name in defined if kind in STRONG and name not in LINKER]
    return sorted(set(demangle(names)))


def undefined(user: str, providers: list[str]) -> list[str]:
    """What user needs and neither providers nor the system have."""
    have = {name for file in providers for _, name in symbols(file, "--defined-only")}
    # Weak needs (w, v) may stay open.
    needs = {name for kind, name in symbols(user, "--undefined-only") if kind == "U"}
    left = sorted(needs - have)
    libc = set(_system_names())
    open_names = [name for name in left if name not in libc]
    return [
        plain
        for plain in demangle(open_names)
        if not plain.startswith(SYSTEM) and "std::" not in plain.split("(")[0]
    ]


def _system_names() -> list[str]:
    """Names of libc, libm, libgcc and libstdc++, found through this process."""
    found = []
    with open("/proc/self/maps") as maps:
        files = {line.rstrip("\n").partition("/")[2] for line in maps}
    for file in files:
        name = file.rsplit("/", 1)[-1]
        if name.startswith(("libc.so", "libm.so", "libpthread", "libdl")):
            found += [symbol for _, symbol in symbols("/" + file, "--defined-only")]
    return found


def compare(library: str, update: bool) -> bool:
    """Whether the exports equal the checked-in list, written first on update."""
    path = LISTS / f"{stem(library)}.txt"
    have = exported(library)
    if update:
        LISTS.mkdir(exist_ok=True)
        path.write_text("".join(f"{name}\n" for name in have))
        return True
    want = path.read_text().splitlines() if path.exists() else []
    for name in sorted(set(have) - set(want)):
        print(f"{stem(library)} exports {name}, which {path.name} does not list.")
    for name in sorted(set(want) - set(have)):
        print(f"{stem(library)} lacks {name}, which {path.name} lists.")
    return have == sorted(set(want))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--undefined", action="store_true")
    parser.add_argument("library", nargs="+")
    options = parser.parse_args()
    if options.undefined:
        missing = undefined(options.library[0], options.library[1:])
        for name in missing:
            print(f"{stem(options.library[0])} needs {name}, which nothing provides.")
        return 1 if missing else 0
    good = [compare(library, options.update) for library in options.library]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
