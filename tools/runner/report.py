# SPDX-License-Identifier: Apache-2.0
"""build/reports/NAME.json: figures with versions, machine and date."""

from __future__ import annotations

import datetime
import json
import os
import platform
from typing import TYPE_CHECKING, Any

from runner.shell import REPORTS, capture

if TYPE_CHECKING:
    from runner.python import Python


def machine() -> dict[str, Any]:
    """What a figure depends on besides the program."""
    return {
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
    }


def write(name: str, python: Python, figures: dict[str, Any]) -> None:
    """Write one report."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    version = capture(
        [python.path, "-c", "import platform; print(platform.python_version())"]
    )
    report = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(
            timespec="seconds"
        ),
        "machine": machine(),
        "versions": {"python": version, "torch": python.versions(["torch"])[0]},
        **figures,
    }
    (REPORTS / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")
