# SPDX-License-Identifier: Apache-2.0
"""The commands of ./run, one function each."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

from runner import benchmarks, testing
from runner import cuda as cuda_engine
from runner.build import build as build_tree
from runner.headers import check as check_headers
from runner.lint import check as check_style
from runner.python import Python
from runner.shell import BUILD, REPORTS, ROOT, Stop, call, say

if TYPE_CHECKING:
    import argparse


def build(_: argparse.Namespace) -> None:
    """Set up and build what changed."""
    tree = build_tree(Python())
    say(f"torch_fl is ready: {tree.python.path} -c 'import torch_fl'")


def demo(_: argparse.Namespace) -> None:
    """Train the digits network on flagos and on the CPU, side by side."""
    start = time.monotonic()
    python = Python()
    python.need("build", "demo")
    build_tree(python)
    say(f"ready after {time.monotonic() - start:.0f} s; training")
    if call([python.path, ROOT / "examples" / "digits.py"]):
        raise Stop("the demo did not reach its aims; the lines above say which.")


def test(options: argparse.Namespace) -> None:
    """Build what is missing and run every test."""
    python = Python()
    testing.check_googletest()
    python.need("build", "test")
    testing.run_all(build_tree(python, "-DFLAGOS_BUILD_TESTS=ON"), options.k)


def sanitize(options: argparse.Namespace) -> None:
    """Run the toolkit's conformance suite with sanitizers and with planted faults."""
    testing.check_modes(options.mode)
    testing.check_googletest()
    python = Python()
    python.need("build")
    for mode in options.mode or testing.MODES:
        testing.run_sanitized(python, mode)


def runtime_only(_: argparse.Namespace) -> None:
    """Build without native operators and run that build's own tests."""
    python = Python()
    python.need("build", "test")
    testing.run_runtime_only(python)


def bench(options: argparse.Namespace) -> None:
    """Run every benchmark, or those named."""
    known = benchmarks.names()
    unknown = [name for name in options.names if name not in known]
    if unknown:
        raise Stop(f"no benchmark {unknown[0]}: there are {', '.join(known)}.")
    python = Python()
    python.need("build", "bench")
    tree = build_tree(python, "-DMUSA_BENCHMARKS=ON")
    wanted = options.names or known
    failed = [name for name in wanted if not benchmarks.run(tree, name)]
    if failed:
        raise Stop(f"these benchmarks failed: {', '.join(failed)}.")
    say(f"figures are in {REPORTS.relative_to(ROOT)}/")


def cuda(options: argparse.Namespace) -> None:
    """Build, try and measure the toolkit's CUDA engine."""
    cuda_engine.run(options.steps, options.k, options.quick)


def lint(options: argparse.Namespace) -> None:
    """Check includes, formats, clang-tidy, ruff, mypy, names and sizes."""
    check_style(options.fix, options.all, not options.no_tidy)


def headers(options: argparse.Namespace) -> None:
    """Compile and link the core against other versions of torch."""
    python = Python()
    python.need("build")
    for version in options.version:
        check_headers(python, version)


def clean(options: argparse.Namespace) -> None:
    """Remove what was built."""
    for folder in (BUILD, ROOT / ".venv") if options.all else (BUILD,):
        if folder.exists():
            say(f"removing {folder.relative_to(ROOT)}")
            shutil.rmtree(folder)
