"""Fixtures: a folder with a poem, and agents with scripted answers."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from desktop_agent import Agent, ApprovalRequest, Call, Say, ScriptedProvider, in_order

POEM = "The colour of the sea\n" + "is given by the wind\n" * 10 + "and has no other colour\n"
EDIT = Call("edit_file", {"path": "poem.txt", "old_str": "colour", "new_str": "color", "replace_all": True})
COMMAND = Call("run_terminal_cmd", {"command": "touch made.txt", "explanation": "Make a file"})


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


class Unanswered:
    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def __call__(self, _: ApprovalRequest) -> bool:
        self.asked.set()
        return await asyncio.get_running_loop().create_future()


MakeAgent = Callable[..., Agent]


@pytest.fixture
def poem(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "poem.txt"
    path.parent.mkdir()
    path.write_text(POEM, encoding="utf-8")
    return path


@pytest.fixture
def agent_with(poem: Path, tmp_path: Path) -> MakeAgent:
    """Return a function that makes an agent whose model gives these replies, each a list of steps."""

    def make(*replies: list[Say | Call], **options: Any) -> Agent:
        provider = ScriptedProvider(in_order(replies))
        return Agent(poem.parent, provider=provider, home=tmp_path / "home", **options)

    return make
