# SPDX-License-Identifier: Apache-2.0
"""ctest and pytest, strict, with one report."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import time
import xml.etree.ElementTree as xml
from typing import TYPE_CHECKING, Any

from runner import report
from runner.build import tool_path
from runner.shell import BUILD, REPORTS, ROOT, Stop, call, logged, say

if TYPE_CHECKING:
    from runner.build import Tree
    from runner.python import Python

GOOGLETEST = os.environ.get("FLAGOS_GOOGLETEST", "/usr/src/googletest")
_SOURCES = pathlib.Path(GOOGLETEST, "googletest", "src", "gtest-all.cc")
# Modes of toolkit/conformance/run.sh with CMake's words for each.
MODES = {
    "asan": ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DFLAGOS_SANITIZE=address"],
    "tsan": ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DFLAGOS_SANITIZE=thread"],
    "faults": ["-DCMAKE_BUILD_TYPE=Release", "-DMUSA_PLANTED_FAULTS=ON"],
}
# pytest: no test was collected.
_EMPTY = 5


def has_googletest() -> bool:
    """Whether GoogleTest's sources are there."""
    return _SOURCES.exists()


def check_googletest() -> None:
    """The C++ tests need GoogleTest's sources; root gets them, others a sentence."""
    if _SOURCES.exists():
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say("installing libgtest-dev")
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        install = ["apt-get", "install", "-y", "-qq", "libgtest-dev"]
        if call(install, env=quiet):
            call(["apt-get", "update", "-qq"], env=quiet)
            call(install, env=quiet)
    if not _SOURCES.exists():
        raise Stop(
            "the C++ tests need GoogleTest: `apt-get install libgtest-dev`, or give "
            "the folder of its sources as FLAGOS_GOOGLETEST."
        )


def junit(path: pathlib.Path) -> dict[str, Any]:
    """Counts of a JUnit file, with the names of what failed."""
    if not path.exists():
        return {"tests": 0, "failed": []}
    cases = list(xml.parse(path).getroot().iter("testcase"))
    failed = [
        f"{case.get('classname', '')}.{case.get('name')}".lstrip(".")
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    skipped = sum(case.find("skipped") is not None for case in cases)
    return {"tests": len(cases), "skipped": skipped, "failed": failed}


def _ctest(python: Python, tree: pathlib.Path, name: str | None) -> tuple[bool, Any]:
    result = REPORTS / f"ctest-{tree.name}.xml"
    result.unlink(missing_ok=True)
    words = ["--test-dir", tree, "--output-on-failure", "--output-junit", result]
    words += ["--label-exclude", "cuda", "--no-tests=ignore"]
    if name:
        words += ["--tests-regex", name]
    failed = call([python.tool("ctest"), *words], env=tool_path(python)) != 0
    return failed, junit(result)


def _pytest(python: Python, name: str | None) -> tuple[bool, Any]:
    result = REPORTS / "pytest.xml"
    result.unlink(missing_ok=True)
    words = ["-m", "pytest", "-q", f"--junitxml={result}", "tests/python"]
    if name:
        words += ["-k", name]
    code = call([python.path, *words], env={"FLAGOS_STRICT": "1"})
    return code not in (0, _EMPTY), junit(result)


def _check_symbols(tree: Tree) -> None:
    """Our libraries export what tools/symbols lists, and nothing else."""
    package = tree.stage / "torch_fl"
    names: tuple[str, ...] = (
        "lib/libtorch_flagos.so",
        "lib/libflagos_kernels.so",
        "_C.*.so",
        "musa/lib/libmus*.so*",
    )
    names += ("musa/lib/libmudnn*.so*", "musa/lib/libmurand.so*")
    found = [path for name in names for path in sorted(package.glob(name))]
    ours = [path for path in found if "dnnl" not in path.name]
    if call([sys.executable, ROOT / "tools" / "check_symbols.py", *ours]):
        raise Stop(
            "exports differ from tools/symbols: hide them, or write the lists anew "
            "with tools/check_symbols.py --update."
        )


def run_all(tree: Tree, name: str | None) -> None:
    """C++ conformance and units, then the Python features, strict."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    if not name:
        say("exported symbols")
        _check_symbols(tree)
    say("conformance and C++ units")
    cpp_failed, cpp = _ctest(tree.python, tree.folder, name)
    say("Python features, FLAGOS_STRICT=1")
    python_failed, python = _pytest(tree.python, name)
    seconds = round(time.monotonic() - start, 1)
    figures = {"ctest": cpp, "pytest": python, "seconds": seconds}
    report.write("test", tree.python, figures)
    for title, part in (("ctest", cpp), ("pytest", python)):
        good = part["tests"] - len(part["failed"]) - part.get("skipped", 0)
        say(
            f"{title}: {good} passed, {len(part['failed'])} failed, "
            f"{part.get('skipped', 0)} skipped"
        )
    if cpp["tests"] + python["tests"] == 0:
        raise Stop(f"no test matches {name!r}." if name else "no test was found.")
    if cpp_failed or python_failed:
        names = [*cpp["failed"], *python["failed"]]
        raise Stop(f"failed: {', '.join(names) or 'see above'}.")
    say(f"all tests passed in {seconds:.0f} s")


# The editable install's finder and the current folder would win over PYTHONPATH.
_PYTEST_IN_STAGE = (
    "import sys; sys.path[:] = filter(None, sys.path); "
    "sys.meta_path[:] = [finder for finder in sys.meta_path "
    "if type(finder).__name__ != 'ScikitBuildRedirectingFinder']; "
    "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
)


def run_runtime_only(python: Python) -> None:
    """tests/runtime_only against a build with FLAGOS_BUILD_VENDOR=OFF."""
    tree, stage = BUILD / "runtime-only", BUILD / "stage-runtime-only"
    path = tool_path(python)
    cmake = python.tool("cmake")
    words = ["-S", ROOT, "-B", tree, "-G", "Ninja", "-DFLAGOS_BUILD_VENDOR=OFF"]
    words += ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={python.path}"]
    logged("configuring the runtime alone", [cmake, *words], env=path)
    logged("building the runtime alone", [cmake, "--build", tree], env=path)
    install = [cmake, "--install", tree, "--prefix", stage]
    logged("installing the runtime alone", install, env=path)
    tests = ["-q", "-p", "no:cacheprovider", ROOT / "tests" / "runtime_only"]
    command = [python.path, "-c", _PYTEST_IN_STAGE, *tests]
    if call(command, env={"PYTHONPATH": str(stage), "FLAGOS_STRICT": "0"}):
        raise Stop("the tests of the build without native operators failed.")


def check_modes(modes: list[str]) -> None:
    """Refuse a mode that does not exist."""
    for mode in modes:
        if mode not in MODES:
            raise Stop(f"no mode {mode}: there are {', '.join(MODES)}.")


def run_sanitized(python: Python, mode: str) -> None:
    """The toolkit's conformance suite in a build of its own, see conformance/run.sh."""
    start = time.monotonic()
    tree = BUILD / f"conformance-{mode}"
    path = tool_path(python)
    words = ["-S", ROOT / "toolkit", "-B", tree, "-G", "Ninja", *MODES[mode]]
    words += [f"-DPython_EXECUTABLE={python.path}", "-DMUSA_CONFORMANCE=ON"]
    words += ["-DMUSA_BENCHMARKS=OFF", f"-DCONFORMANCE_GTEST_SOURCE={GOOGLETEST}"]
    cmake = python.tool("cmake")
    logged(f"configuring {mode}", [cmake, *words], env=path)
    logged(f"building {mode}", [cmake, "--build", tree], env=path)
    script = ROOT / "toolkit" / "conformance" / "run.sh"
    failed = call(["bash", script, mode, tree], env=path) != 0
    seconds = round(time.monotonic() - start, 1)
    report.write(
        f"conformance-{mode}", python, {"passed": not failed, "seconds": seconds}
    )
    if failed:
        raise Stop(f"the conformance suite failed in mode {mode}.")
    say(f"{mode} passed in {seconds:.0f} s")
