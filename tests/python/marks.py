# SPDX-License-Identifier: Apache-2.0
"""Marks for tests of what a build may leave out."""

from __future__ import annotations

import pytest

import torch_fl

needs_kernels = pytest.mark.skipif(
    torch_fl.info()["device kernels"] != "ON", reason="built without device kernels"
)
