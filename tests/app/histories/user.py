"""The user of a history: writes from another program, presses buttons, and checks the results."""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from PySide6.QtWidgets import QApplication, QDialog, QListView, QPushButton

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.transcript import UndoStep
from desktop_agent.ui.review.change_listing import BaselinePicker
from desktop_agent.ui.review.changed_files import SESSION, ReviewBaseline
from desktop_agent.ui.review.diff_pane import DiffPane
from desktop_agent.ui.review.overlays.hunk_buttons import HunkOverlay
from tests.app.histories.disk import Name, Node, Tree, put, tree_of
from tests.app.redo_stage import Stage
from tests.parts import part


class Moment(NamedTuple):
    tree: Tree
    undone: Mapping[str, object]


class Step(NamedTuple):
    before: Moment
    after: Moment


class User:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.steps: dict[int, Step] = {}
        self.lines: set[bytes] = set()
        """The user's lines, until the user or the agent overwrites the file."""
        self.mine: dict[Name, Node | None] = {}
        """What the user put or removed, until the agent changes it."""
        self.touched: set[Name] = set()
        self.given_up: set[bytes | Node] = set()
        """The user's lines and nodes given up in a clash: a repeated undo does not ask for them again."""
        self.words = 0

    # -- in another program --

    def write_line(self, name: Name, number: int) -> None:
        there = self.tree().get(name)
        if there is not None and there.kind != "file":
            return
        lines = there.content.splitlines(keepends=True) if there else []
        self.words += 1
        mine = f"mine {self.words}\n".encode()
        if lines:
            lines[number % len(lines)] = mine
        self._put(name, Node("file", there.mode if there else 0o644, b"".join(lines) or mine))

    def put(self, name: Name, kind: str) -> None:
        """Put a node of another kind there, with marks that the agent never writes."""
        self.words += 1
        node = {
            "link": Node("link", 0o777, f"mine-{self.words}".encode()),
            "pipe": Node("pipe", 0o640),
            "file": Node("file", 0o640, f"mine {self.words}\n".encode()),
        }.get(kind)
        if name in self._put(name, node):
            self.mine[name] = node  # two pipes cannot be told apart

    def _put(self, name: Name, node: Node | None) -> set[Name]:
        before = self.tree()
        put(self.stage.ground.workspace, name, node)
        after = self.tree()
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        self.touched |= changed
        # The agent may remove lines again that it removed once, even if the user rewrote the file.
        agents = lines_of_mine({path: before[path] for path in changed if path in before}) - self.lines
        self.forget(before, changed)
        self.lines |= lines_of_mine({path: after[path] for path in changed if path in after}) - agents
        return changed

    async def prompt(self) -> None:
        """Let the agent work. Its changes to the user's text count as its own, and may be undone."""
        before = self.tree()
        await self.stage.s.prompt()
        self.stage.deliver()
        after = self.tree()
        self.forget(before, {path for path in before if before[path] != after.get(path)})

    def forget(self, before: Tree, names: set[Name]) -> None:
        self.lines -= lines_of_mine({name: before[name] for name in names if name in before})
        for name in names:
            self.mine.pop(name, None)

    # -- in the window --

    async def press(self, what: str, number: int) -> None:
        """Press this; `number` chooses among the buttons there, and the answer to a question."""
        pane = self.stage.review.findChild(DiffPane)
        if pane is None:
            return
        if what.endswith("hunk"):
            if keys := pane.review.hunks.keys:
                await self.press_hunk(what, pane.review.hunks, keys[number % len(keys)], number)
        elif what.startswith("redo"):
            by_key, button = self.stage.actions.redo_turn.trigger, self.stage.button("redoButton").click
            await self.redo(by_key if what == "redo key" else button, number)
        elif what.startswith("undo"):
            ways = {
                "undo": self.stage.button("undoTurnButton").click,
                "undo key": self.stage.actions.undo_turn.trigger,
                "undo file": self.stage.actions.undo_file.trigger,
            }
            await self.undo(ways[what], number)
        elif what == "keep file":
            await self.pressed(self.stage.actions.keep_file.trigger, number)
        else:
            self.choose(what, number)

    async def press_hunk(self, what: str, hunks: HunkOverlay, key: HunkKey, number: int) -> None:
        choice = what.removesuffix(" hunk")
        press = self.pressed if choice == "keep" else self.undo
        await press(lambda: hunks.requested.emit(choice, (key,)), number)

    def choose(self, what: str, number: int) -> None:
        if what == "file":
            files = part(self.stage.review, QListView, "changeList")
            if rows := files.model().rowCount():
                files.setCurrentIndex(files.model().index(number % rows, 0))
            return
        turns = self.stage.s.session.transcript.turn
        baseline = SESSION if what == "session" else ReviewBaseline("turn", 1 + number % turns)
        part(self.stage.review, BaselinePicker, "baselinePicker").chosen.emit(baseline)

    async def undo(self, press: Callable[[], object], number: int) -> None:
        before, known = self.now(), self.known_steps()
        if await self.pressed(press, number):
            self.check_mine(before)
            self.note(before, known)
        await self.settle(number)

    async def redo(self, press: Callable[[], object], number: int) -> None:
        before, steps = self.now(), list(self.open_steps())
        is_answered = await self.pressed(press, number)
        if not steps:
            assert self.now() == before, "there is nothing to take back"
        elif is_answered:
            step = self.steps[steps[-1].seq]
            if before == step.after:
                assert self.now() == step.before, "a redo brings back what was there before its undo"
                assert steps[-1] not in self.open_steps()
            else:
                self.check_mine(before)
        await self.settle(number)

    async def pressed(self, press: Callable[[], object], number: int) -> bool:
        """Press, answer the question that comes first, and wait for the end. Whether anything was done."""
        await self.stage.drawn()
        if await self.stage.answered(press):
            return True
        names = ("undoKeptButton", "undoUndecidedButton", "")
        for name in (names[number % len(names)], "undoKeptButton"):
            if (button := self.stage.question(name)) is not None:
                return await self.stage.answered(button.click)
        return False

    async def settle(self, number: int) -> None:
        while dialogs := self.stage.dialogs():
            take = dialogs[0].findChild(QPushButton, "useWantedButton")
            keep = dialogs[0].findChild(QPushButton, "keepMineButton")
            if take is None or take.isHidden() or number % 3 == 0:
                self.reject(dialogs[0])
            elif keep is not None and number % 3 == 1:
                keep.click()
            else:
                await self.take(take)
            QApplication.processEvents()

    async def take(self, button: QPushButton) -> None:
        await self.stage.until(button.isEnabled)
        before, known = self.now(), self.known_steps()
        await self.stage.answered(button.click)
        self.note(before, known)
        self.given_up |= lines_of_mine(before.tree) - lines_of_mine(self.tree())
        after = self.tree()
        self.given_up |= {
            node for name, node in before.tree.items() if self.mine.get(name) == node and after.get(name) != node
        }

    def reject(self, dialog: QDialog) -> None:
        dialog.reject()

    # -- checks --

    def check_mine(self, before: Moment) -> None:
        tree = self.tree()
        gone = (lines_of_mine(before.tree) & self.lines) - lines_of_mine(tree) - self.given_up
        assert gone == set(), "lines of the user's are gone"
        for name, node in self.mine.items():
            if before.tree.get(name) == node and node is not None and node not in self.given_up:
                assert stands(node, name, tree), (name, "was put there by the user")

    def note(self, before: Moment, known: set[int]) -> None:
        for step in self.open_steps():
            if step.seq not in known:
                self.steps[step.seq] = Step(before, self.now())

    def check_all_undone(self, first: Tree) -> None:
        tree = self.tree()
        named = self.named()
        different = {name for name in first.keys() | tree.keys() if first.get(name) != tree.get(name)}
        agents = {name for name in different - self.touched if not any(is_below(name, other) for other in self.touched)}
        agents -= self.gone_with_a_renaming()
        agents -= {name for name in agents if is_mine(tree.get(name))}  # it was renamed, and moves with the file
        agents -= {name for name in agents if is_held(name, tree, named)}
        silent = {name: (first.get(name), tree.get(name)) for name in agents if not is_named(name, named)}
        assert silent == {}, "lost without a word"

    def gone_with_a_renaming(self) -> set[Name]:
        """The names of files before renamings whose results the user removed or replaced."""
        found: set[Name] = set()
        for record in reversed(self.stage.s.session.transcript.changes.values()):
            name, to = (os.fsencode(path) for path in (record.change.path, record.change.moved_to))
            if to and (to in self.touched | found or any(is_below(to, other) for other in self.touched)):
                found.add(name)
        return found

    def named(self) -> set[str]:
        """What the session could not record, and what the last undo left alone."""
        last = self.stage.reverts()[-1:]
        left = {outcome.path for event in last for outcome in event.outcomes if not outcome.is_done}
        return left | {found.path for _, found in self.stage.s.session.transcript.changed.uncaptured}

    def open_steps(self) -> list[UndoStep]:
        return self.stage.s.session.transcript.changed.steps

    def known_steps(self) -> set[int]:
        return {step.seq for step in self.open_steps()}

    def tree(self) -> dict[Name, Node]:
        return tree_of(self.stage.ground.workspace)

    def now(self) -> Moment:
        return Moment(self.tree(), self.stage.undone())


def lines_of_mine(tree: Tree) -> set[bytes]:
    return {line for node in tree.values() for line in node.content.splitlines() if line.startswith(b"mine")}


def stands(node: Node, name: Name, tree: Tree) -> bool:
    """Whether the node is still there. Its name may differ if a renaming moved it."""
    return tree.get(name) == node or (node.kind != "folder" and node in tree.values())


def is_mine(node: Node | None) -> bool:
    return node is not None and b"mine" in node.content


def is_below(name: Name, other: Name) -> bool:
    return name.startswith(other + b"/") or other.startswith(name + b"/")


def is_held(name: Name, tree: Tree, named: set[str]) -> bool:
    node = tree.get(name)
    if node is None or node.kind != "folder":
        return False
    return any(below.startswith(name + b"/") and is_named(below, named) for below in tree)


def is_named(name: Name, named: set[str]) -> bool:
    """Whether the paths, as shown to the user, include this name or a folder above it."""
    parts = name.split(b"/")
    ways = [b"/".join(parts[:length]) for length in range(1, len(parts) + 1)]
    return any(spoken in named for way in ways for spoken in (os.fsdecode(way), way.decode(errors="backslashreplace")))
