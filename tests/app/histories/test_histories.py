"""Undo in the window is undone exactly by redo, and every loss is named, whatever the history."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.core.providers.scripted import Reply
from desktop_agent.ui.review import review_content
from desktop_agent.ui.theme import Theme
from tests.app.histories.disk import NAMES, Kind, Name, Node, put, tree_of
from tests.app.histories.turns import LINES, Turn, names, replies, turns
from tests.app.histories.user import User
from tests.app.redo_stage import Room, staged
from tests.harness import Ground

CONTENTS = {
    "text": Node("file", 0o644, "".join(LINES).encode()),
    "few lines": Node("file", 0o644, b"line 3\nline 10\n"),
    "bytes": Node("file", 0o755, bytes(range(256))),
    "link": Node("link", 0o777, b"a.txt"),
    "pipe": Node("pipe", 0o644),
    "folder": Node("folder", 0o755),
    "nothing": None,
}

PRESSES = (
    *("file", "turn", "session", "keep hunk", "keep file", "undo hunk", "undo hunk", "redo hunk"),
    *("undo file", "undo", "undo key", "redo", "redo", "redo key"),
)


@dataclass(frozen=True)
class Press:
    what: str
    number: int


@dataclass(frozen=True)
class Line:
    name: Name
    number: int


@dataclass(frozen=True)
class Put:
    name: Name
    kind: Kind | None


Deed = Turn | Press | Line | Put

_numbers = st.integers(0, 39)
_presses = st.builds(Press, st.sampled_from(PRESSES), _numbers)
_deeds: st.SearchStrategy[Deed] = st.one_of(
    _presses,
    _presses,
    _presses,
    st.builds(Line, names, _numbers),
    st.builds(Put, names, st.sampled_from(["file", "link", "pipe", None])),
    turns,
)
starts = st.lists(st.sampled_from(list(CONTENTS)), min_size=len(NAMES), max_size=len(NAMES))


async def play(ground: Ground, theme: Theme, room: Room, start: Sequence[str], deeds: Sequence[Deed]) -> None:
    for name, kind in zip(NAMES, start, strict=True):
        node = CONTENTS[kind]
        if node is not None:
            put(ground.workspace, name, node)
    first = tree_of(ground.workspace)
    script: list[Reply] = [reply for deed in deeds if isinstance(deed, list) for reply in replies(deed)]
    async with staged(ground, theme, script, room) as stage:
        user = User(stage)
        for deed in deeds:
            match deed:
                case Press(what, number):
                    await user.press(what, number)
                case Line(name, number):
                    user.write_line(name, number)
                case Put(name, kind):
                    user.put(name, kind or "nothing")
                case _:
                    await user.prompt()
        for _ in range(len(user.open_steps()) + 1):
            await user.press("redo", 0)
        await user.press("session", 0)
        await user.press("undo", 0)
        user.check_all_undone(first)


def test_what_the_window_undoes_it_redoes_exactly_and_nothing_is_lost_without_being_named(
    theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_nightly: bool
) -> None:
    monkeypatch.setattr(review_content, "_REDRAW_INTERVAL_MS", 0)  # until the buttons are up to date
    with asyncio.Runner() as runner:
        ground = Ground(tmp_path)
        room = Room(ground, theme)

        @settings(max_examples=2000 if is_nightly else 8)
        @given(start=starts, first=turns, deeds=st.lists(_deeds, min_size=3, max_size=12))
        def check(start: Sequence[str], first: Turn, deeds: Sequence[Deed]) -> None:
            with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
                ground.workspace = Path(folder)
                runner.run(play(ground, theme, room, start, [first, *deeds]))

        try:
            check()
        finally:
            runner.run(room.aclose())
