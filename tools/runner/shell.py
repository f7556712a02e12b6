# SPDX-License-Identifier: Apache-2.0
"""Running programs: with progress and a log, or plainly."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
REPORTS = BUILD / "reports"
_COUNT = re.compile(r"\[(\d+)/(\d+)\]\s*(.*)")
_SENTENCE = re.compile(r"^\s*(?:ERROR: |error: )?(torch_fl: .+)$")


class Stop(Exception):
    """Ends the program with one sentence."""


class Missing(Stop):
    """The sentence that CMake left: something that the build needs is not there."""


def say(text: str) -> None:
    """A line for the reader, before whatever a program prints next."""
    print(f"==> {text}", flush=True)


def environment(**extra: str) -> dict[str, str]:
    """This process's variables; a build or a check never needs another plugin."""
    return {**os.environ, **extra}


def capture(command: Sequence[object], **extra: str) -> str:
    """The output of a program that must succeed."""
    done = subprocess.run(
        [str(word) for word in command],
        env=environment(**extra),
        cwd=ROOT,
        text=True,
        capture_output=True,
    )
    if done.returncode:
        raise Stop(f"{command[0]} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout.strip()


def call(command: Sequence[object], env: Mapping[str, str] | None = None) -> int:
    """Run a program in the reader's terminal; returns its exit status."""
    sys.stdout.flush()
    words = [str(word) for word in command]
    return subprocess.run(words, env=environment(**(env or {})), cwd=ROOT).returncode


class _Progress:
    """One moving line on a terminal; else ninja's counter, every tenth."""

    def __init__(self) -> None:
        self.tty = sys.stdout.isatty()
        self.tenth = -1

    def show(self, line: str) -> None:
        found = _COUNT.search(line)
        if self.tty and line.strip():
            text = found[0] if found else line.strip()
            print(f"\r\x1b[K    {text[:72]}", end="", flush=True)
        elif found:
            done, total = int(found[1]), int(found[2])
            if done * 10 // total != self.tenth:
                self.tenth = done * 10 // total
                print(f"    [{done}/{total}] {found[3][:66]}", flush=True)

    def end(self) -> None:
        if self.tty:
            print("\r\x1b[K", end="", flush=True)


def _explain(lines: list[str], name: str, log: pathlib.Path, note: str) -> Stop:
    if note:
        return Missing(note)
    sentences = [found[1] for line in lines if (found := _SENTENCE.match(line))]
    if sentences:
        return Stop(sentences[-1])
    errors = [n for n, line in enumerate(lines) if re.search(r"\berror\b", line, re.I)]
    start = max(0, errors[0] - 2) if errors else max(0, len(lines) - 40)
    print("\n".join(line[:300] for line in lines[start : start + 40]), flush=True)
    return Stop(f"{name} failed; the whole output is in {log.relative_to(ROOT)}.")


def logged(
    name: str,
    command: Sequence[object],
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a program into build/logs/NAME.log with progress; a failure raises Stop."""
    log = BUILD / "logs" / f"{name.replace(' ', '-')}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    note = log.with_suffix(".note")  # cmake/FlagosError.cmake writes it
    note.unlink(missing_ok=True)
    start = time.monotonic()
    say(f"{name} ...")
    progress = _Progress()
    lines: list[str] = []
    with (
        log.open("w") as file,
        subprocess.Popen(
            [str(word) for word in command],
            env=environment(FLAGOS_ERROR_FILE=str(note), **(env or {})),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as child,
    ):
        assert child.stdout is not None
        for line in child.stdout:
            file.write(line)
            lines.append(line.rstrip("\n"))
            progress.show(line)
    progress.end()
    if child.returncode:
        said = note.read_text().strip() if note.exists() else ""
        raise _explain(lines, name, log, said)
    print(f"    {name}: {time.monotonic() - start:.1f} s", flush=True)


def teed(
    name: str,
    command: Sequence[object],
    env: Mapping[str, str] | None = None,
    cwd: pathlib.Path = ROOT,
) -> int:
    """Run a program in the reader's terminal and into build/logs/NAME.log."""
    log = BUILD / "logs" / f"{name.replace(' ', '-')}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w") as file,
        subprocess.Popen(
            [str(word) for word in command],
            env=environment(**(env or {})),
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as child,
    ):
        assert child.stdout is not None
        for line in child.stdout:
            file.write(line)
            file.flush()
            print(line, end="", flush=True)
    return child.returncode
