# SPDX-License-Identifier: Apache-2.0
"""The whole suite runs strict: an operator that falls back to the CPU is an error."""

import os

os.environ.setdefault("FLAGOS_STRICT", "1")
os.environ.setdefault("MUSA_CPU_DEVICES", "2")

import pytest
import torch

import torch_fl

ENGINE = torch_fl.info()["engine"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "cpu_engine(reason): what only the CPU engine can be asked for"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    mark = item.get_closest_marker("cpu_engine")
    if mark and ENGINE != "cpu":
        pytest.skip(f"engine {ENGINE}: {mark.args[0]}")


def pytest_report_header() -> str:
    info = torch_fl.info()
    return "torch_fl: " + ", ".join(f"{key} {value}" for key, value in info.items())


@pytest.fixture(autouse=True)
def on_first_device() -> None:
    """Each test starts on device 0, on its default stream, with a fixed seed."""
    torch.flagos.set_device(0)
    torch.flagos.set_stream(torch.flagos.default_stream(0))
    torch.manual_seed(0)


@pytest.fixture
def device() -> torch.device:
    return torch.device("flagos", 0)


@pytest.fixture
def two_devices() -> None:
    if torch.flagos.device_count() < 2:
        pytest.skip("needs two devices: only one is there")
