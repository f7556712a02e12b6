# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests, benchmarks and examples; nothing here runs in production."""

from torch_fl.testing.toolkit import Latch, counter, waits

__all__ = ["Latch", "counter", "waits"]
