"""Random undos and redos with the window's own buttons and keys, edits of the user's between them, and clashes settled.

Where nothing changed since an undo, its redo brings back the files and what was undone of them as they were before it.
Where something did, no line of the user's goes.
"""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication, QListView, QPushButton

from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.transcript import UndoStep
from desktop_agent.ui.review.diff_pane import DiffPane
from desktop_agent.ui.theme import Theme
from tests.app.redo_stage import Stage, staged
from tests.harness import Ground

LINES = [f"line {number}\n" for number in range(40)]
PATHS = ("a.txt", "b.txt")


def edited(*numbers: int, word: str) -> str:
    return "".join(f"{word} {number}\n" if number in numbers else line for number, line in enumerate(LINES))


def write(path: str, content: str) -> Call:
    return Call("create_file", {"path": path, "content": content, "if_exists": "overwrite"})


TWO_TURNS: list[Reply] = [
    [write("a.txt", edited(3, 18, 33, word="agent")), write("c.txt", "agent made this\n")],
    [Say("one")],
    [
        Call("edit_file", {"path": "a.txt", "old_str": "line 10\n", "new_str": "agent 10\n"}),
        write("b.txt", edited(3, 33, word="agent")),
    ],
    [Say("two")],
]

Tree = Mapping[str, bytes]


class Moment(NamedTuple):
    """What is on disk, and what is undone of each change."""

    tree: Tree
    undone: Mapping[str, object]


class Step(NamedTuple):
    before: Moment
    after: Moment


class User:
    """Presses what the window offers, and knows what each redo has to bring back."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.words = count()
        self.steps: dict[int, Step] = {}

    async def act(self, what: str, number: int) -> None:
        pane = self.stage.review.findChild(DiffPane)
        assert pane is not None
        keys = pane.view.change_keys
        match what:
            case "choose file":
                self.choose_file(number)
            case "edit":
                self.edit(number)
            case "undo hunk" if keys:
                await self.undo(lambda: pane.view.undo_requested.emit((keys[number % len(keys)],)), number)
            case "redo hunk" if keys:
                await self.stage.answered(lambda: pane.view.redo_requested.emit((keys[number % len(keys)],)))
                await self.settle(number)
            case "undo file":
                await self.undo(self.stage.actions.undo_file.trigger, number)
            case "undo button":
                await self.undo(self.stage.button("undoTurnButton").click, number)
            case "undo key":
                await self.undo(self.stage.actions.undo_turn.trigger, number)
            case "redo button":
                button = self.stage.button("redoButton")
                if self.open_steps():
                    await self.stage.until(lambda: button.isVisible() and button.isEnabled())
                await self.redo(button.click, number)
            case "redo key":
                await self.redo(self.stage.actions.redo_turn.trigger, number)
            case _:
                pass

    def choose_file(self, number: int) -> None:
        files = self.stage.child(self.stage.review, QListView, "changeList")
        files.setCurrentIndex(files.model().index(number % files.model().rowCount(), 0))

    def edit(self, number: int) -> None:
        """Write a line over another one, in another program."""
        path = PATHS[number % len(PATHS)]
        lines = (self.stage.ground.workspace / path).read_bytes().splitlines(keepends=True)
        lines[number % len(lines)] = f"mine {next(self.words)}\n".encode()
        self.stage.ground.write(path, b"".join(lines))

    async def undo(self, press: Callable[[], object], number: int) -> None:
        before, known = self.now(), {step.seq for step in self.open_steps()}
        await self.stage.answered(press)
        self.note(before, known)
        await self.settle(number)

    async def redo(self, press: Callable[[], object], number: int) -> None:
        before, steps = self.now(), list(self.open_steps())
        await self.stage.answered(press)
        if not steps:
            assert self.now() == before
        else:
            step = self.steps[steps[-1].seq]
            if before == step.after:
                assert self.now() == step.before
                assert steps[-1] not in self.open_steps()
            assert mine(before.tree) - mine(step.after.tree) <= mine(self.now().tree)
        await self.settle(number)

    async def settle(self, number: int) -> None:
        """Answer every dialog that asks, one way or the other."""
        while dialogs := self.stage.dialogs():
            dialog = dialogs[0]
            take = dialog.findChild(QPushButton, "useWantedButton")
            if take is None or take.isHidden() or number % 2:
                dialog.reject()
                continue
            await self.stage.until(take.isEnabled)
            before, known = self.now(), {step.seq for step in self.open_steps()}
            await self.stage.answered(take.click)
            self.note(before, known)

    def note(self, before: Moment, known: set[int]) -> None:
        """Remember what the undo that just was has to be taken back to."""
        for step in self.open_steps():
            if step.seq not in known:
                self.steps[step.seq] = Step(before, self.now())

    def open_steps(self) -> list[UndoStep]:
        """What can be taken back."""
        return self.stage.s.session.transcript.steps

    def now(self) -> Moment:
        folder = self.stage.ground.workspace
        return Moment({path.name: path.read_bytes() for path in folder.iterdir()}, self.stage.undone())


def mine(tree: Tree) -> set[bytes]:
    return {line for content in tree.values() for line in content.splitlines() if line.startswith(b"mine")}


ACTIONS = ["choose file", "edit", "undo hunk", "undo hunk", "redo hunk", "undo file", "undo button", "undo key"]
REDOS = ["redo button", "redo button", "redo key"]


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    theme = Theme(qapp, "light")
    theme.install()
    return theme


async def play(theme: Theme, actions: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder))
        for path in PATHS:
            ground.write(path, "".join(LINES))
        async with staged(ground, theme, TWO_TURNS) as stage:
            await stage.s.prompt()
            await stage.s.prompt()
            stage.deliver()
            await stage.hunks()
            user = User(stage)
            for what, number in actions:
                await user.act(what, number)
            for _ in range(len(user.open_steps()) + 1):
                await user.act("redo button", 0)


def test_what_the_window_undoes_it_redoes_exactly_and_no_line_of_the_users_goes(
    theme: Theme, *, is_nightly: bool
) -> None:
    drawn = st.lists(st.tuples(st.sampled_from(ACTIONS + REDOS), st.integers(0, 39)), min_size=4, max_size=14)

    @settings(max_examples=200 if is_nightly else 10)
    @given(actions=drawn)
    def check(actions: list[tuple[str, int]]) -> None:
        with asyncio.Runner() as runner:
            runner.run(play(theme, actions))

    check()
