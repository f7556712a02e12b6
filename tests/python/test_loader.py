# SPDX-License-Identifier: Apache-2.0
"""What the import says about a wrong torch, toolkit or file, and that torch survives.

Every test runs on a copy of the installed package, in processes of its own.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import torch_fl

# The copy must win over an editable install's import hook.
PRELUDE = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "Redirecting" not in type(f).__name__]
"""
ENTRY = "import torch_fl_entry; torch_fl_entry.autoload(); import torch; print('fine')"
BINDING = f"_C{__import__('sysconfig').get_config_var('EXT_SUFFIX')}"
needs_portable = pytest.mark.skipif(
    torch_fl.info()["made by"] == "vendor",
    reason="builds other toolkits from the portable one",
)


def link(source: str, target: str) -> None:
    """A second name for a file, or a copy of it on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture
def package(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with copies of torch_fl and torch_fl_entry."""
    import torch_fl_entry

    for folder in torch_fl.__path__:
        shutil.copytree(
            folder, tmp_path / "torch_fl", copy_function=link, dirs_exist_ok=True
        )
    shutil.copytree(torch_fl_entry.__path__[0], tmp_path / "torch_fl_entry")
    return tmp_path


def python(package: pathlib.Path, code: str, **env: str) -> tuple[int, str]:
    """Exit status and all output of a program that sees only the copy."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package)}
        | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        | env,
        timeout=120,
    )
    return done.returncode, done.stdout.strip()


def refused(package: pathlib.Path, text: str, **env: str) -> None:
    """`import torch_fl` raises, the entry point prints one line and torch works."""
    code, said = python(package, "import torch_fl", **env)
    assert code == 1
    assert said.splitlines()[-1].startswith("ImportError: "), said
    assert text in said.splitlines()[-1]
    code, said = python(package, ENTRY, **env)
    assert code == 0, said
    first, second = said.splitlines()
    assert first.startswith("torch_fl is not loaded: ")
    assert text in first
    assert second == "fine"


def edit(package: pathlib.Path, **values: object) -> None:
    """Change build.json of the copy."""
    path = package / "torch_fl" / "build.json"
    build = {**json.loads(path.read_text()), **values}
    path.unlink()
    path.write_text(json.dumps(build))


def replace(path: pathlib.Path, data: bytes) -> None:
    """Other bytes under the same name; the original keeps its own."""
    path.unlink()
    path.write_bytes(data)


def test_copy_works_and_entry_point_is_silent(package):
    code, said = python(package, "import torch_fl; print(torch_fl.__file__)")
    assert (code, said) == (0, str(package / "torch_fl" / "__init__.py"))
    code, said = python(package, ENTRY)
    assert (code, said) == (0, "fine")


def test_import_restores_the_autoload_switch(package):
    show = "import os, torch_fl; print(os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'])"
    for value in ("0", "1"):
        code, said = python(package, show, TORCH_DEVICE_BACKEND_AUTOLOAD=value)
        assert (code, said) == (0, value)


def test_other_torch_is_refused_by_its_minor_version(package):
    edit(package, torch="2.9.0")
    refused(package, "torch_fl was built for torch 2.9, this is torch 2.")


def test_other_abi_is_refused(package):
    edit(package, cxx11_abi=0)
    refused(package, "built for the old C++ ABI, this torch has the new one")


def test_garbled_build_file_is_one_line(package):
    replace(package / "torch_fl" / "build.json", b"{")
    code, said = python(package, ENTRY)
    assert code == 0
    assert said.splitlines()[0].startswith("torch_fl is not loaded: JSONDecodeError")


@pytest.mark.parametrize("name", ["lib/libtorch_flagos.so", BINDING])
def test_truncated_library_is_refused_before_it_is_opened(package, name):
    path = package / "torch_fl" / name
    replace(path, path.read_bytes()[:50000])
    refused(package, f"{path.name} is truncated")


def test_missing_binding_names_the_command(package):
    (package / "torch_fl" / BINDING).unlink()
    refused(package, "`pip install --no-build-isolation -v -e .`")


def test_musa_home_that_is_none_is_refused(package, tmp_path):
    text = f"MUSA_HOME={tmp_path} has no lib/libmusart"
    refused(package, text, MUSA_HOME=str(tmp_path))


def test_taken_device_slot_names_two_remedies(package):
    code, said = python(
        package,
        "import torch\n"
        "torch.utils.rename_privateuse1_backend('other')\n"
        "import torch_fl",
    )
    last = said.splitlines()[-1]
    assert code == 1
    assert "PrivateUse1 already belongs to 'other'" in last
    assert "import torch_fl before torch" in last
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in last


def test_entry_point_stands_aside_for_a_rival(package):
    info = package / "torch_musa-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_musa\n")
    (info / "entry_points.txt").write_text("[torch.backends]\nmusa = torch_musa:load\n")
    code, said = python(package, ENTRY)
    assert code == 0
    assert "torch_musa is installed and claims the same device slot" in said


@pytest.fixture
def vendor(package: pathlib.Path) -> pathlib.Path:
    """Libraries under the vendor's names without the portable markers."""
    home = package / "vendor"
    (home / "lib").mkdir(parents=True)
    for name in ("libmusart.so.5", "libmudnncxx.so.3", "libmurand.so"):
        command = ["g++", "-shared", "-fPIC", "-x", "c++", os.devnull, "-o"]
        soname = f"-Wl,-soname,{name}"
        subprocess.run([*command, str(home / "lib" / name), soname], check=True)
    return home


@needs_portable
def test_vendor_toolkit_under_a_portable_build_is_refused(package, vendor):
    text = "was built for the portable-1 toolkit"
    refused(package, text, MUSA_HOME=str(vendor))


@needs_portable
def test_mixed_toolkits_are_refused(package, vendor):
    home = pathlib.Path(torch_fl.info()["toolkit"])
    mixed = package / "mixed"
    shutil.copytree(home / "lib", mixed / "lib", copy_function=link)
    replace(
        mixed / "lib" / "libmudnncxx.so.3",
        (vendor / "lib" / "libmudnncxx.so.3").read_bytes(),
    )
    refused(package, "libmudnncxx.so.3 is vendor", MUSA_HOME=str(mixed))


@needs_portable
def test_another_portable_prefix_is_used_and_library_path_is_not(package):
    own = pathlib.Path(torch_fl.info()["toolkit"])
    other = package / "other"
    shutil.copytree(own / "lib", other / "lib", copy_function=shutil.copy2)
    code, said = python(
        package,
        "import torch_fl; print(torch_fl.info()['toolkit'])",
        MUSA_HOME=str(other),
        LD_LIBRARY_PATH=str(own / "lib"),
    )
    assert (code, said) == (0, str(other))


@needs_portable
def test_toolkit_that_was_loaded_before_is_refused(package):
    own = pathlib.Path(torch_fl.info()["toolkit"])
    other = package / "other"
    shutil.copytree(own / "lib", other / "lib", copy_function=shutil.copy2)
    code, said = python(
        package,
        "import torch_fl",
        MUSA_HOME=str(own),
        LD_PRELOAD=str(other / "lib" / "libmusart.so.5"),
    )
    assert code == 1
    assert "needs exactly one libmusart" in said.splitlines()[-1]
