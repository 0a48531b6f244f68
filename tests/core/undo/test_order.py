"""The order of undos does not matter: the standing changes alone determine a file.

Histories of edits, renames, swaps, modes, links and kinds with a user's edits; parts are undone and redone by turn,
file and hunk, in two random orders.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from desktop_agent.core.changes.ledger import Ledger, LedgerWrite
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.diff.hunks import all_keys
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, FileOutcome
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.transcript import undone_of
from desktop_agent.core.undo.draft import UndoDraft
from desktop_agent.core.undo.plan import draft_steps
from desktop_agent.core.undo.refusals import Direction
from tests.core.undo.on_record import OnRecord
from tests.trees import Node, tree_of

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
NAMES = ("a", "b", "c", "d/a", "d/e/b")


class Folder:
    def __init__(self, place: Path, blobs: Blobs) -> None:
        self.root = place
        self.ledger = Ledger(place, blobs)
        self.known = OnRecord()
        self.count = 0

    def carry_out(
        self, direction: Direction, draft: UndoDraft, selection: ChangeSelection | None = None
    ) -> tuple[FileOutcome, ...]:
        with self.ledger.recorder() as recorder:
            for number, write in enumerate(draft.writes, start=self.count):
                one = write.transition
                transition = FileTransition(one.path, one.before, one.after, new_folders=write.new_folders)
                recorder.add(transition, author="undo", change_id=f"9.{number}", reverts=write.reverts)
        written = recorder.changes
        self.count += len(written)
        pairs = zip(written, draft.writes, strict=True)
        writes = [LedgerWrite(change, one.new_folders, moves_to=one.moves_to) for change, one in pairs]
        assert self.ledger.apply_each(writes) == {}
        self.known.turned(direction, written, draft.outcomes(), selection)
        return draft.outcomes()

    def revert(self, direction: Direction, selection: ChangeSelection) -> tuple[FileOutcome, ...]:
        return self.carry_out(direction, self.known.draft(self.ledger, direction, selection), selection)

    def redo_all(self) -> tuple[FileOutcome, ...]:
        steps = self.known.transcript.changed.steps
        return self.carry_out("redo", draft_steps(self.known.transcript, self.ledger, list(steps)))

    def standing(self) -> dict[str, object]:
        return {
            one.change.id: undone_of(one) for one in self.known.transcript.changes.values() if one.change.is_by_agent
        }

    def tree(self) -> dict[str, Node]:
        return tree_of(self.root)


class Story:
    def __init__(self, place: Path, random: Random, *, has_user: bool) -> None:
        self.random = random
        self.words = iter(range(10_000))
        self.blobs = Blobs(place / "blobs")
        self.place = place
        self.folder = Folder(self._made("workspace"), self.blobs)
        self.root = self.folder.root
        for name in random.sample(NAMES, 3):
            self._write(name, self._text(random.choice((1, 4, 20))))
        self.start = self.folder.tree()
        self.events: list[tuple[int, str, tuple[FileChange, ...]]] = []
        self.turns = random.randint(2, 5)
        for turn in range(1, self.turns + 1):
            for call in range(random.randint(1, 2)):
                if has_user and random.random() < 0.3:
                    self._user_edits()
                self._agent_acts(turn, f"{turn}/{call}")
        self.end = self.folder.tree()
        self.copies = 0

    def again(self) -> Folder:
        self.copies += 1
        place = self.place / f"copy{self.copies}"
        shutil.copytree(self.root, place, symlinks=True)
        folder = Folder(place, self.blobs)
        for turn, call, changes in self.events:
            folder.known.changed(changes, turn=turn, call_id=call)
        return folder

    def selection(self) -> ChangeSelection:
        turn = self.random.randint(1, self.turns)
        changes = [(turn, call, change) for turn, call, every in self.events for change in every]
        kind = self.random.choice(("turn", "file", "call", "hunks", "hunks of a turn"))
        if not changes or kind == "turn":
            return ChangeSelection(turn=turn)
        turn, call, change = self.random.choice(changes)
        if kind == "file":
            return ChangeSelection(path=change.path)
        if kind == "call":
            return ChangeSelection(call_id=call)
        meant = turn if kind == "hunks of a turn" else None
        records = [one for one in self.folder.known.transcript.changes.values() if meant in (None, one.turn)]
        rows = [row for row in net_changes(records) if row.change.after is not None and row.change.before is not None]
        if not rows:
            return ChangeSelection(turn=turn)
        row = self.random.choice(rows)
        keys = all_keys(self.folder.ledger.images.diff(row.change))
        some = self.random.sample(keys, self.random.randint(1, len(keys)))
        return ChangeSelection(path=row.path, turn=meant, hunks=tuple(some))

    # -- what the agent does --

    def _agent_acts(self, turn: int, call: str) -> None:
        transitions = [one for one in self._some_act() if one.before != one.after or one.moved_from]
        if not transitions:
            return
        with self.folder.ledger.recorder() as recorder:
            for number, one in enumerate(transitions):
                recorder.add(one, author="shell", change_id=f"{call}.{number}")
        self.folder.ledger.apply(recorder.changes)
        self.events.append((turn, call, recorder.changes))
        self.folder.known.changed(recorder.changes, turn=turn, call_id=call)

    def _some_act(self) -> Sequence[FileTransition]:
        here = [name for name in NAMES if self._now(name) is not None]
        free = [name for name in NAMES if self._now(name) is None]
        kind = self.random.choice(
            (
                "edit",
                "edit",
                "edit",
                "edit back",
                "write",
                "delete",
                "create",
                "rename",
                "swap",
                "mode",
                "link",
                "binary",
            )
        )
        if (kind == "create" or not here) and free:
            return [FileTransition(self.random.choice(free), None, FileState(content=self._text(4)))]
        if not here:
            return []
        name = self.random.choice(here)
        before = self._now(name)
        assert before is not None
        if kind == "delete":
            return [FileTransition(name, before, None)]
        if kind == "mode" and before.kind == "file":
            mode = 0o755 if before.mode != 0o755 else 0o644
            return [FileTransition(name, before, FileState(content=before.content, mode=mode))]
        if kind == "rename":
            to = self.random.choice([other for other in NAMES if other != name])
            arrival = FileTransition(to, self._now(to), before, moved_from=name)
            departure = FileTransition(name, before, None, moved_to=to)
            return (
                self.random.choice(([arrival, departure], [departure, arrival]))
                if self._now(to) is None
                else [arrival, departure]
            )
        if kind == "swap" and len(here) > 1:
            other = self.random.choice([one for one in here if one != name])
            there = self._now(other)
            return [
                FileTransition(name, before, there, moved_from=other, moved_to=other),
                FileTransition(other, there, before, moved_from=name, moved_to=name),
            ]
        after = {
            "write": FileState(content=self._text(6), mode=before.mode),
            "binary": FileState(content=b"\0" + self._text(1), mode=before.mode),
            "link": FileState(content=self._text(1).strip(), mode=0o777, kind="symlink"),
        }.get(kind) or self._edited(before, is_back=kind == "edit back", name=name)
        if after.kind == "file" and before.kind == "symlink":
            after = FileState(content=after.content)
        return [FileTransition(name, before, after)]

    def _edited(self, before: FileState, *, is_back: bool, name: str) -> FileState:
        if before.kind != "file" or before.content.startswith(b"\0"):
            return FileState(content=self._text(3))
        if is_back:
            olds = [change.before for _, _, every in self.events for change in every if change.path == name]
            if (old := self.random.choice(olds) if olds else None) is not None:
                state = self.folder.ledger.images.state(old)
                assert state is not None
                return state
        lines = before.content.splitlines(keepends=True)
        at = self.random.randint(0, len(lines))
        until = min(len(lines), at + self.random.randint(0, 2))
        return before.with_content(b"".join([*lines[:at], self._text(self.random.randint(0, 2)), *lines[until:]]))

    def _user_edits(self) -> None:
        here = [name for name in NAMES if (now := self._now(name)) and now.kind == "file"]
        if here:
            name = self.random.choice(here)
            self._write(name, (self.root / name).read_bytes() + self._text(1))

    # -- the ground --

    def _made(self, name: str) -> Path:
        (self.place / name).mkdir()
        return self.place / name

    def _now(self, name: str) -> FileState | None:
        return self.folder.ledger.files.current(name)

    def _text(self, lines: int) -> bytes:
        return b"".join(b"word %d\n" % next(self.words) for _ in range(lines))

    def _write(self, name: str, content: bytes) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_bytes(content)


def turned_in_order(folder: Folder, direction: Direction, selections: Sequence[ChangeSelection]) -> bool:
    """Undo or redo these one after the other. Whether every file was done."""
    outcomes = [outcome for selection in selections for outcome in folder.revert(direction, selection)]
    return all(outcome.is_done for outcome in outcomes)


def check(random: Random, *, has_user: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="order-", dir=MEMORY) as place:
        story = Story(Path(place), random, has_user=has_user)
        first, second = story.again(), story.again()
        check_orders(story, "undo", (first, second))
        for folder in (first, second):
            outcomes = folder.revert("undo", ChangeSelection())
            if not has_user:
                assert all(outcome.is_done for outcome in outcomes), outcomes
                assert folder.tree() == story.start
        check_orders(story, "redo", (first, second))
        for folder in (first, second):
            if folder.known.transcript.changed.steps and all(one.is_done for one in folder.redo_all()):
                assert folder.tree() == story.end
                assert not any(undone is None or undone for undone in folder.standing().values())


def check_orders(story: Story, direction: Direction, folders: Sequence[Folder]) -> None:
    """Check that two orders of the same undos or redos give the same."""
    selections = [story.selection() for _ in range(story.random.randint(2, 4))]
    orders = selections, story.random.sample(selections, len(selections))
    was_alike = folders[0].standing() == folders[1].standing()
    is_done = [turned_in_order(folder, direction, order) for folder, order in zip(folders, orders, strict=True)]
    if was_alike and all(is_done):
        assert folders[0].standing() == folders[1].standing()
    if folders[0].standing() == folders[1].standing():
        assert folders[0].tree() == folders[1].tree()


@pytest.fixture
def many(is_nightly: bool) -> settings:
    return settings(
        max_examples=5000 if is_nightly else 50,
        deadline=None,
        phases=[Phase.generate],  # a smaller random history is no smaller story
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.mark.parametrize("has_user", [False, True], ids=["the agent alone", "with a user"])
def test_what_stands_says_what_is_on_disk_in_whatever_order_it_came_about(many: settings, *, has_user: bool) -> None:
    @many
    @given(st.randoms(use_true_random=False))
    def holds(random: Random) -> None:
        check(random, has_user=has_user)

    holds()
