# SPDX-License-Identifier: Apache-2.0
"""The whole suite runs strict: an operator that falls back to the CPU is an error."""

import os

os.environ.setdefault("FLAGOS_STRICT", "1")
os.environ.setdefault("MUSA_CPU_DEVICES", "2")

import pytest
import torch

import torch_fl


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
