"""`desktop-agent` in this process, with the answers of a model that edits a file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.cli import main
from tests.servers.script import reply, text, thinking, tool_use

BEFORE = b"def f():\r\n    return 1\r\n"
AFTER = b"def f():\r\n    return 2\r\n"


@dataclass
class Ran:
    """What a command printed and returned."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


class Agent:
    """Runs commands in this process: the entry point, the parser and the exit code are the real ones."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Ran:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)

    def run(self, workspace: Path, url: str, *more: str, prompt: str = "make it two") -> Ran:
        return self("run", "--prompt", prompt, "--workspace", workspace, "--base-url", url, "--json", *more)


def edit() -> object:
    return reply(
        thinking("An edit will do.", signature="sig"),
        text("I'll change it."),
        tool_use("read_file", path="a.py"),
        tool_use("edit_file", path="a.py", old_str="    return 1\n", new_str="    return 2\n"),
    )


def script() -> Sequence[Any]:
    return (edit(), reply(text("Done: it returns **2**.")))
