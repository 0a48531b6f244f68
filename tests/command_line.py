"""The command line in this process, with its real entry point, parser and exit codes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.cli import main


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
