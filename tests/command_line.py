"""The command line with its real entry point, parser and exit codes: in this process, or as the program that
`TESTED_PROGRAM` names, which may be a frozen or an installed one."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.cli import main as run_here

OTHER = os.environ.get("TESTED_PROGRAM")
PROGRAM = [OTHER] if OTHER else [sys.executable, "-m", "desktop_agent"]
"""What tests start as a process."""


def main(arguments: Sequence[str]) -> int:
    if OTHER is None:
        return run_here(arguments)
    given = sys.stdin.read().encode() if isinstance(sys.stdin, io.TextIOBase) else b""  # pytest's own cannot be read
    try:
        done = subprocess.run([OTHER, *arguments], input=given, capture_output=True, check=False)  # noqa: TID251 - to its end
    except (OSError, ValueError) as error:
        pytest.skip(f"no program can be given these arguments: {error}")
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    return done.returncode


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


class CommandLine:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Ran:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)

    def done(self, *arguments: str | Path) -> Ran:
        ran = self(*arguments)
        assert ran.code == 0, ran.err
        return ran
