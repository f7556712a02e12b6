# SPDX-License-Identifier: Apache-2.0
"""./run cuda: the toolkit's CUDA engine and the plugin on it, built, tried, measured.

The toolkit becomes a MUSA_HOME of its own, build/musa-cuda; the plugin is built against
that one, in trees and a stage of their own.  pip installs nothing here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner import cuda_bench, report
from runner.build import INSTALLED, build, tool_path
from runner.python import Python
from runner.shell import BUILD, REPORTS, ROOT, Missing, Stop, capture, logged, say, teed
from runner.testing import GOOGLETEST, check_googletest, has_googletest, junit

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

STEPS = ("build", "conformance", "test", "bench")
# Not one of the steps: what a machine without libraries or a GPU can check.
COMPILE = "compile"
PREFIX = BUILD / "musa-cuda"
_TOOLKIT = BUILD / "cuda-toolkit"
_LIBRARIES = ("musart", "mudnn", "murand")
_SM_WITHOUT_GPU = "90"
# pytest: a test that hangs says where, and where pytest-timeout is installed, fails.
_HANG_SECONDS = 300
# They compare the device's free memory before and after.
_ALONE = ("test_memory.py", "test_graph.py")


@dataclass(frozen=True)
class Place:
    """Where the plugin's build for one Python and torch lies."""

    python: Python
    tree: pathlib.Path
    stage: pathlib.Path

    def variables(self) -> dict[str, str]:
        """What makes a Python process use this build."""
        found = {"MUSA_HOME": str(PREFIX), "FLAGOS_STRICT": "1"}
        # An editable install's import hook would win over the stage; it runs on any
        # portable toolkit, so it is brought up to date and switched by MUSA_HOME.
        if not _is_installed(self.python):
            others = os.environ.get("PYTHONPATH")
            found["PYTHONPATH"] = os.pathsep.join(
                filter(None, [str(self.stage), others])
            )
        return found


def _is_installed(python: Python) -> bool:
    return capture([python.path, "-c", INSTALLED]) == ROOT.as_uri()


def gpus() -> list[dict[str, str]]:
    """What nvidia-smi says about each GPU; nothing where there is none."""
    names = ["name", "driver_version", "memory.total", "compute_cap"]
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [f"--query-gpu={','.join(names)}", "--format=csv,noheader"]
    done = subprocess.run([program, *query], capture_output=True, text=True)
    if done.returncode:
        return []
    rows = (line.split(", ") for line in done.stdout.strip().splitlines())
    return [dict(zip(names, row, strict=False)) for row in rows]


def _nvcc() -> str | None:
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def _engine() -> list[str]:
    """CMake's words for the toolkit: the engine, for the GPU at hand."""
    nvcc = _nvcc()
    return [
        "-DMUSA_ENGINE=cuda",
        "-DMUSA_BENCHMARKS=OFF",
        f"-DCMAKE_CUDA_ARCHITECTURES={_architectures()}",
        *([f"-DCMAKE_CUDA_COMPILER={nvcc}"] if nvcc else []),
    ]


def _architectures() -> str:
    found = {gpu["compute_cap"].replace(".", "") for gpu in gpus()}
    return ";".join(sorted(found)) or _SM_WITHOUT_GPU


def _place(python: Python) -> Place:
    code = "import sys; sys.path.insert(0, 'build_backend'); import flagos_build as b; "
    name = capture([python.path, "-c", code + "print(b.tree_name())"])
    return Place(python, BUILD / f"cuda-{name}", BUILD / f"stage-cuda-{name}")


def _common(python: Python) -> list[str]:
    """CMake's words for both trees.

    The compiler of a machine with a GPU may be newer than the one that the sources
    were last cleaned with, so its new warnings are no errors here.
    """
    werror = os.environ.get("FLAGOS_WERROR", "OFF")
    return [
        "-GNinja",
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DPython_EXECUTABLE={python.path}",
        f"-DFLAGOS_WERROR={werror}",
    ]


def _build(place: Place) -> dict[str, Any]:
    python, path = place.python, tool_path(place.python)
    cmake = python.tool("cmake")
    tests = "ON" if has_googletest() else "OFF"
    if tests == "OFF":
        say(f"no GoogleTest in {GOOGLETEST}: building without the C++ tests")
    seconds = {}

    def step(name: str, *words: object) -> None:
        start = time.monotonic()
        logged(f"cuda {name}", [cmake, *words], env=path)
        seconds[name] = round(time.monotonic() - start, 1)

    toolkit = [
        *_engine(),
        f"-DMUSA_CONFORMANCE={tests}",
        f"-DCONFORMANCE_GTEST_SOURCE={GOOGLETEST}",
        f"-DCMAKE_INSTALL_PREFIX={PREFIX}",
    ]
    source = ["-S", ROOT / "toolkit", "-B", _TOOLKIT]
    step("configuring the toolkit", *source, *_common(python), *toolkit)
    step("building the toolkit", "--build", _TOOLKIT)
    step("installing the toolkit", "--install", _TOOLKIT)
    plugin = [f"-DFLAGOS_MUSA_HOME={PREFIX}", f"-DFLAGOS_BUILD_TESTS={tests}"]
    source = ["-S", ROOT, "-B", place.tree]
    step("configuring the plugin", *source, *_common(python), *plugin)
    step("building the plugin", "--build", place.tree)
    step("installing the plugin", "--install", place.tree, "--prefix", place.stage)
    # A plugin of another engine that MUSA_HOME sends here looks for its kernels here.
    kernels = place.stage / "torch_fl" / "lib" / "libflagos_kernels.so"
    if kernels.exists():
        shutil.copy2(kernels, PREFIX / "lib")
    seconds["launch floor"] = cuda_bench.build_floor(
        _nvcc() or "nvcc", _architectures()
    )
    if _is_installed(python):
        build(python)
    return {
        "passed": True,
        "seconds": round(sum(seconds.values()), 1),
        "steps": seconds,
        "architectures": _architectures(),
        "cores": len(os.sched_getaffinity(0)),
    }


def _compile(python: Python) -> None:
    """The engine's sources alone, where nvcc and the libraries are there."""
    cmake, path = python.tool("cmake"), tool_path(python)
    tree = BUILD / "cuda-compile"
    words = ["-S", ROOT / "toolkit", "-B", tree, *_common(python), *_engine()]
    words += ["-DMUSA_CONFORMANCE=OFF"]
    try:
        logged("cuda configuring the engine", [cmake, *words], env=path)
    except Missing as missing:
        say(f"the CUDA engine is not compiled here: {missing}")
        return
    logged("cuda compiling the engine", [cmake, "--build", tree], env=path)
    say("the CUDA engine compiles")


def _need_build(place: Place) -> None:
    if not (place.stage / "torch_fl" / "build.json").exists():
        raise Stop("the CUDA engine is not built: `./run cuda build`.")


def _need_gpu() -> None:
    if not gpus():
        raise Stop("no NVIDIA GPU answers here: `./run cuda build` is what works.")


def _conformance(place: Place, name: str | None) -> dict[str, Any]:
    """Each library's executable; its matrix and its JUnit file go to the reports."""
    check_googletest()
    outcome: dict[str, Any] = {"passed": True}
    for library in _LIBRARIES:
        program = _TOOLKIT / "conformance" / f"conformance_{library}"
        if not program.exists():
            raise Stop("the conformance suite is not built: `./run cuda build`.")
        result = REPORTS / f"cuda-conformance-{library}.xml"
        result.unlink(missing_ok=True)
        words = ["--quiet", f"--matrix={result.with_suffix('.md')}"]
        words += [f"--gtest_output=xml:{result}"]
        if name:
            words += [f"--gtest_filter=*{name}*"]
        say(f"conformance of {library}")
        start = time.monotonic()
        code = teed(f"cuda conformance {library}", [program, *words])
        outcome[library] = {
            **junit(result),
            "exit": code,
            "seconds": round(time.monotonic() - start, 1),
        }
        outcome["passed"] &= code == 0
    return outcome


def _test(place: Place, name: str | None) -> dict[str, Any]:
    """C++ units and Python features, strict."""
    python = place.python
    result = REPORTS / "cuda-units.xml"
    result.unlink(missing_ok=True)
    say("C++ units")
    words = ["--test-dir", place.tree, "--output-on-failure", "--no-tests=ignore"]
    words += ["--output-junit", result, *(["--tests-regex", name] if name else [])]
    ctest = [python.tool("ctest"), *words]
    units = teed("cuda units", ctest, env=tool_path(python))
    outcome = {"units": {**junit(result), "exit": units}}
    codes = []
    for part, words in _pytest_parts(python):
        result = REPORTS / f"cuda-{part}.xml"
        result.unlink(missing_ok=True)
        say(f"Python features, FLAGOS_STRICT=1, {part}")
        words += ["-q", "-p", "no:cacheprovider", f"--junitxml={result}"]
        words += ["-o", f"faulthandler_timeout={_HANG_SECONDS - 60}"]
        if python.versions(["pytest-timeout"])[0]:
            words += [f"--timeout={_HANG_SECONDS}"]
        pytest = [python.path, "-m", "pytest", *words, *(["-k", name] if name else [])]
        # Not from the root: its torch_fl has no libraries.
        code = teed(f"cuda {part}", pytest, env=place.variables(), cwd=place.stage)
        outcome[part] = {**junit(result), "exit": code}
        codes.append(code)
    return {"passed": units == 0 and set(codes) <= {0, 5}, **outcome}


def _pytest_parts(python: Python) -> list[tuple[str, list[object]]]:
    """pytest's words: where pytest-xdist is installed, several processes share the
    GPU, except for the tests that look at all of its memory."""
    folder = ROOT / "tests" / "python"
    if not python.versions(["pytest-xdist"])[0]:
        return [("pytest", [folder])]
    alone: list[object] = [folder / name for name in _ALONE]
    workers = max(1, min(8, len(os.sched_getaffinity(0)) // 2))
    shared: list[object] = [folder, "-n", workers]
    shared += [f"--ignore={path}" for path in alone]
    return [("pytest", shared), ("pytest-alone", alone)]


def _versions(python: Python) -> dict[str, str]:
    names = [
        "torch",
        "numpy",
        "nvidia-cublas",
        "nvidia-cudnn-cu13",
        "transformers",
        "timm",
    ]
    found = dict(zip(names, python.versions(names), strict=True))
    nvcc = _nvcc()
    text = capture([nvcc, "--version"]) if nvcc else ""
    release = re.search(r"release (\S+),", text)
    found["nvcc"] = release[1] if release else ""
    return {name: version for name, version in found.items() if version}


def _record(python: Python, step: str, outcome: dict[str, Any]) -> None:
    """Put one step's outcome into build/reports/cuda.json beside the others'."""
    path = REPORTS / "cuda.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    figures = {name: before[name] for name in STEPS if name in before}
    figures[step] = outcome
    report.write(
        "cuda", python, {"gpus": gpus(), "built_with": _versions(python), **figures}
    )


def _sentence(step: str, outcome: dict[str, Any]) -> str:
    """What a step's parts came to, for the terminal."""
    parts = []
    for name, part in outcome.items():
        if isinstance(part, dict) and "tests" in part:
            failed, skipped = len(part["failed"]), part.get("skipped", 0)
            good = part["tests"] - failed - skipped
            parts.append(f"{name} {good} passed, {failed} failed, {skipped} skipped")
    if not parts and "seconds" in outcome:
        parts.append(f"{outcome['seconds']:.0f} s")
    return f"{step}: {'; '.join(parts) or 'done'}"


def run(steps: list[str], name: str | None, quick: bool) -> None:
    """The steps in their order; one that fails does not keep the next from running."""
    unknown = [step for step in steps if step not in (*STEPS, COMPILE)]
    if unknown:
        raise Stop(f"no step {unknown[0]}: there are {', '.join((*STEPS, COMPILE))}.")
    python = Python()
    if COMPILE in steps:
        python.need("cuda")
        _compile(python)
        if steps == [COMPILE]:
            return
    python.need("cuda", *(["test"] if "test" in steps or not steps else []))
    place = _place(python)
    REPORTS.mkdir(parents=True, exist_ok=True)
    work: dict[str, Callable[[], dict[str, Any]]] = {
        "build": lambda: _build(place),
        "conformance": lambda: _conformance(place, name),
        "test": lambda: _test(place, name),
        "bench": lambda: cuda_bench.run(place.python, place.variables(), name, quick),
    }
    failed = []
    for step in [step for step in STEPS if step in steps or not steps]:
        if step in ("test", "bench"):
            _need_build(place)
        if step != "build":
            _need_gpu()
        outcome = work[step]()
        _record(python, step, outcome)
        say(_sentence(step, outcome))
        if not outcome["passed"]:
            failed.append(step)
    cuda_bench.picture(python)
    say(f"figures are in {REPORTS.relative_to(ROOT)}/cuda.json")
    if failed:
        raise Stop(f"failed: {', '.join(failed)}; logs are in build/logs.")
