# SPDX-License-Identifier: Apache-2.0
"""Entry points, in a package of their own: loading one imports its parent first.

autoload() (group torch.backends) never raises: an exception there would make
`import torch` fail for every program of the environment.
"""

from __future__ import annotations

import contextlib
import sys

# Packages whose entry point claims PrivateUse1 too.  Entry points come in the order of
# os.listdir and the second claim raises, so the one that can stand aside must.
_RIVALS = ("torch_musa", "torch_npu", "torch_mlu")


def _rival() -> str | None:
    from importlib.metadata import entry_points

    for entry in entry_points(group="torch.backends"):
        package = entry.value.partition(":")[0].partition(".")[0]
        if package in _RIVALS:
            return package
    return None


def _load() -> None:
    rival = _rival()
    if rival:
        raise ImportError(
            f"{rival} is installed and claims the same device slot: import torch_fl "
            f"before torch, set TORCH_DEVICE_BACKEND_AUTOLOAD=0, or uninstall {rival}."
        )
    import torch_fl  # noqa: F401


def autoload() -> None:
    """Load torch_fl for `import torch`, or say in one line why not."""
    try:
        _load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit included
        text = " ".join(str(error).split()) or type(error).__name__
        if not isinstance(error, ImportError):
            text = f"{type(error).__name__}: {text}"
        # A closed or missing stderr must not end `import torch` either.
        with contextlib.suppress(OSError, ValueError):
            print(f"torch_fl is not loaded: {text}", file=sys.stderr)


def main() -> int:
    """`torch-fl`: print what is installed, or why `import torch_fl` fails."""
    try:
        import torch_fl  # before torch: no other entry point runs
    except ImportError as error:
        print(f"torch_fl: {error}", file=sys.stderr)
        return 1
    for key, value in torch_fl.info().items():
        print(f"{key:12} {value}")
    return 0
