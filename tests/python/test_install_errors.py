# SPDX-License-Identifier: Apache-2.0
"""What the build says when something is missing: one sentence, exit status 1."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
CHECK = "import flagos_build; flagos_build._check()"


def build_check(*paths: pathlib.Path | str) -> str:
    """What the build backend prints in an environment of only these folders."""
    path = [str(ROOT / "build_backend"), *map(str, paths)]
    code = f"import sys; sys.path[:0] = {path}; {CHECK}"
    # -S: no site-packages, so that nothing but these folders is installed.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip()


def fake_torch(folder: pathlib.Path, version: str) -> pathlib.Path:
    """A folder with a package torch that has nothing but a version."""
    package = folder / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "version.py").write_text(f"__version__ = '{version}'\n")
    return folder


def test_build_without_torch_names_the_command():
    said = build_check()
    assert said.startswith("torch_fl: no torch in ")
    assert "`pip install torch==2.13.0`" in said
    assert len(said.splitlines()) == 1


def test_build_with_old_torch_names_both_versions(tmp_path):
    said = build_check(fake_torch(tmp_path, "2.9.1+cpu"))
    assert said.startswith("torch_fl: torch 2.9.1+cpu is too old, 2.10 or newer")
    assert len(said.splitlines()) == 1


def test_build_without_tools_names_them(tmp_path):
    said = build_check(fake_torch(tmp_path, "2.13.0+cpu"))
    assert said.startswith("torch_fl: the build needs scikit-build-core")
    assert "onednn-devel-cpu-gomp" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("name", ["pip-build-env-x/overlay", "x/build-env-1"])
def test_isolated_build_is_refused(tmp_path, name):
    said = build_check(tmp_path / name)
    assert "invisible inside an isolated build environment" in said
    assert "--no-build-isolation" in said
    assert len(said.splitlines()) == 1


def configure(tmp_path: pathlib.Path, *defines: str) -> str:
    """The sentence that CMake leaves for the build backend."""
    note = tmp_path / "note.txt"
    words = [f"-DPython_EXECUTABLE={sys.executable}", "-G", "Ninja", *defines]
    done = subprocess.run(
        [sys.executable, "-m", "cmake", "-S", ROOT, "-B", tmp_path / "tree", *words],
        capture_output=True,
        text=True,
        env={"PATH": f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin"}
        | {"FLAGOS_ERROR_FILE": str(note)},
    )
    assert done.returncode != 0
    assert note.exists(), done.stderr
    said = note.read_text().strip()
    assert len(said.splitlines()) == 1
    return said


def test_unknown_accelerator_lists_what_exists(tmp_path):
    said = configure(tmp_path, "-DFLAGOS_ACCELERATOR=rocm")
    assert said.startswith("FLAGOS_ACCELERATOR=rocm does not exist")
    assert "musa" in said


def test_switch_that_is_none_is_refused(tmp_path):
    said = configure(tmp_path, "-DFLAGOS_BUILD_VENDOR=maybe")
    assert said == "FLAGOS_BUILD_VENDOR=maybe is not a switch: use ON or OFF."


def test_musa_home_that_is_none_is_refused(tmp_path):
    said = configure(tmp_path, f"-DFLAGOS_MUSA_HOME={tmp_path}")
    assert said.startswith(f"MUSA_HOME={tmp_path} has no include/musa_runtime.h")
    assert "unset it" in said


def test_toolkit_without_mudnn_headers_is_refused(tmp_path):
    home = tmp_path / "home"
    (home / "include").mkdir(parents=True)
    for header in ("musa_runtime.h", "murand.h"):
        (home / "include" / header).touch()
    said = configure(tmp_path, f"-DFLAGOS_MUSA_HOME={home}")
    assert said.startswith(f"MUSA_HOME={home} has no muDNN headers")


def test_torch_without_headers_names_the_command(tmp_path):
    said = configure(tmp_path, f"-DFLAGOS_TORCH_ROOT={tmp_path}")
    assert "has no torch with C++ headers" in said


@pytest.mark.skipif(NVCC is None, reason="the sentence comes after nvcc was found")
def test_cuda_engine_without_its_libraries_names_package_and_variable(tmp_path):
    (tmp_path / "empty").mkdir()
    said = configure(
        tmp_path,
        "-DMUSA_ENGINE=cuda",
        f"-DCMAKE_CUDA_COMPILER={NVCC}",
        "-DCMAKE_CUDA_ARCHITECTURES=90",
        f"-DMUSA_CUBLAS_ROOT={tmp_path / 'empty'}",
    )
    assert said.startswith("cuBLASLt (cublasLt.h and libcublasLt.so.")
    assert "pip install --no-deps nvidia-cublas" in said
    assert "FLAGOS_CUDA_LIBRARIES" in said
