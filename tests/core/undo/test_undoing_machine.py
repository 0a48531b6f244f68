"""Random histories of two sessions, their commands and a user in one folder, with random undos and redos.

Every line is unique, so that each undo or redo shows whose lines came and went.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import StatCapture
from desktop_agent.core.capture.safety import SafetyCopies, SafetyLimits
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.net import NetChange, net_changes, pairs
from desktop_agent.core.diff.hunks import RENAMING, WHOLE_FILE, all_keys
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, FileImage, ModelRef, Reverted
from desktop_agent.core.session.recorder import Recorder, SessionState
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import Journal
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.safeguard import PlannedCommand, Safeguard
from desktop_agent.core.transcript import ChangeRecord, UndoStep, replay, undone_of
from desktop_agent.core.undo.execute import Undoing
from desktop_agent.core.undo.refusals import Direction

T = TypeVar("T")

PATHS = ("a.txt", "b.txt", "d/c.txt", "d/e/f.bin")
Tree = Mapping[str, FileState]
Line = bytes | tuple[str, bytes]
"""A line of text, or the kind and the whole content of a symlink or a binary file."""


@dataclass(repr=False)
class Party:
    name: str
    journal: Path
    state: SessionState
    log: Recorder
    ledger: Ledger
    effects: Effects
    undoing: Undoing
    blobs: Blobs
    turn: int = 0
    calls: int = 0

    def __repr__(self) -> str:
        return self.name

    def next_call(self) -> str:
        self.calls += 1
        return f"{self.name}-{self.calls}"

    def records(self) -> list[ChangeRecord]:
        return list(self.state.transcript.changes.values())

    @property
    def steps(self) -> list[UndoStep]:
        return self.state.transcript.changed.steps


class Histories(RuleBasedStateMachine):
    """The rules are what a party may do; `revert` has the checks."""

    @initialize(contents=st.lists(st.sampled_from([0, 3, 12, 40]), min_size=len(PATHS), max_size=len(PATHS)))
    def begin(self, contents: Sequence[int]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="histories-"))
        self.root = self.folder / "workspace"
        self.root.mkdir()
        self.words = count()
        self.given_up: set[Line] = set()
        self.settled_paths: set[str] = set()
        self.runner = asyncio.Runner()
        for path, lines in zip(PATHS, contents, strict=True):
            if lines:
                self.put(path, self.text("first", lines))
        blobs = Blobs(self.folder / "blobs")
        self.parties = [self.party(name, blobs) for name in ("one", "two")]

    parties: Sequence[Party] = ()

    def party(self, name: str, blobs: Blobs) -> Party:
        path = self.folder / f"{name}.jsonl"
        state = SessionState()
        log = Recorder(
            Journal.create(path, blobs), SystemClock(), last_seq=0, folds=(state.apply,), sink=lambda _: None
        )
        ledger = Ledger(self.root, blobs)
        capture = StatCapture(self.root, Baseline(self.folder / "baseline.sqlite3"))
        limits = SafetyLimits(ignored_folders=frozenset({".git"}), max_captured_bytes=2**23)
        copies = SafetyCopies(self.root, self.folder / name, lambda: limits)
        safeguard = Safeguard(self.root, copies, self.folder / name)
        effects = Effects(
            ledger, capture, safeguard, log, state.transcript.changed.last_number, state.transcript.changed.last_images
        )
        return Party(name, path, state, log, ledger, effects, Undoing(state.transcript, ledger, effects, log), blobs)

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        try:
            for party in self.parties:
                self.run(party.log.aclose())
                events, damages = read_journal(party.journal, party.blobs)
                assert not damages
                again = replay(events)
                assert again.changes == party.state.transcript.changes
                assert again.entries == party.state.transcript.entries
                assert again.changed.steps == party.steps
        finally:
            self.runner.close()
            shutil.rmtree(self.folder)

    # -- what the agent does --

    @rule(who=st.integers(0, 1), path=st.sampled_from(PATHS), data=st.data())
    def agent_edits(self, who: int, path: str, data: st.DataObject) -> None:
        party = self.parties[who]
        before = self.tree().get(path)
        after = FileState(content=self.edited(party.name, before, data), mode=before.mode if before else 0o644)
        self.agent_writes(party, [FileTransition(path, before, after)])

    @rule(who=st.integers(0, 1), path=st.sampled_from(PATHS))
    def agent_deletes(self, who: int, path: str) -> None:
        if before := self.tree().get(path):
            self.agent_writes(self.parties[who], [FileTransition(path, before, None)])

    @rule(who=st.integers(0, 1), path=st.sampled_from(PATHS), mode=st.sampled_from([0o644, 0o755, 0o600]))
    def agent_sets_the_mode(self, who: int, path: str, mode: int) -> None:
        before = self.tree().get(path)
        if before and before.kind == "file":
            after = FileState(content=before.content, mode=mode)
            self.agent_writes(self.parties[who], [FileTransition(path, before, after)])

    @rule(who=st.integers(0, 1))
    def the_next_turn_begins(self, who: int) -> None:
        self.begin_turn(self.parties[who])

    def agent_writes(self, party: Party, transitions: list[FileTransition]) -> None:
        if not party.turn:
            self.begin_turn(party)

        async def write() -> None:
            changes = await party.effects.prepare(party.turn, transitions)
            await party.effects.apply(party.turn, party.next_call(), changes)

        with suppress(ToolError):  # the folder of the file may be a file by now
            self.run(write())

    def begin_turn(self, party: Party) -> None:
        party.turn += 1
        model = ModelRef(provider="scripted", model="scripted")
        self.run(party.log.record(ev.TurnStarted(turn=party.turn, model=model)))

    # -- what its commands do --

    @rule(
        who=st.integers(0, 1),
        path=st.sampled_from(PATHS),
        other=st.sampled_from(PATHS),
        what=st.sampled_from(
            ["append", "sed", "rm", "mv", "mv and append", "chmod", "ln", "rm -r", "new folder", "binary"]
        ),
    )
    def command_runs(self, who: int, path: str, other: str, what: str) -> None:
        party = self.parties[who]
        if not party.turn:
            self.begin_turn(party)
        word = self.text(f"{party.name}-shell", 1).decode().strip()
        lines = {
            "append": f"mkdir -p $(dirname {path}) && echo {word} >> {path}",
            "sed": f"sed -i '2s/.*/{word}/' {path}",
            "rm": f"rm {path}",
            "mv": f"mkdir -p $(dirname {other}) && mv -f {path} {other}",
            "mv and append": f"mkdir -p $(dirname {other}) && mv -f {path} {other} && echo {word} >> {other}",
            "chmod": f"chmod 700 {path}",
            "ln": f"mkdir -p $(dirname {path}) && ln -sfn {word} {path}",
            "rm -r": "rm -r d",
            "new folder": f"mkdir -p new/{word} && echo {word} > new/{word}/file",
            "binary": f"mkdir -p $(dirname {path}) && printf '\\000{word}' > {path}",
        }
        call = party.next_call()

        async def command() -> None:
            run = PlannedCommand(lines[what], str(self.root), is_confined=True)
            snapshot = await party.effects.begin_command(party.turn, call, run)
            await asyncio.to_thread(self.shell, lines[what])
            await party.effects.collect(party.turn, call, snapshot)

        self.run(command())

    def shell(self, line: str) -> None:
        subprocess.run(["/bin/sh", "-c", line], cwd=self.root, check=False, capture_output=True)  # noqa: TID251

    # -- what the user does --

    @rule(path=st.sampled_from(PATHS), data=st.data())
    def person_edits(self, path: str, data: st.DataObject) -> None:
        before = self.tree().get(path)
        if before is None or before.kind == "file":
            self.put(path, self.edited("person", before, data))

    @rule(path=st.sampled_from(PATHS), what=st.sampled_from(["delete", "chmod"]))
    def person_deletes_or_sets_the_mode(self, path: str, what: str) -> None:
        before = self.tree().get(path)
        if before is None or before.kind != "file":
            return
        if what == "delete":
            (self.root / path).unlink()
        else:
            (self.root / path).chmod(0o640)

    # -- undo and redo --

    @precondition(lambda self: self.busy("active"))
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        party = data.draw(st.sampled_from(self.busy("active")))
        self.revert(party, "undo", self.some_selection(party, data))

    @precondition(lambda self: self.busy("undone"))
    @rule(data=st.data())
    def redo(self, data: st.DataObject) -> None:
        party = data.draw(st.sampled_from(self.busy("undone")))
        self.revert(party, "redo", self.some_selection(party, data))

    @precondition(lambda self: self.busy("active"))
    @rule(data=st.data())
    def undo_and_redo_at_once(self, data: st.DataObject) -> None:
        """Redo is the inverse of undo, also for several in a row, one by one or at once."""
        party = data.draw(st.sampled_from(self.busy("active")))
        first = len(party.steps)
        was = [self.told(party)]
        for _ in range(data.draw(st.integers(1, 3), label="undos")):
            known = list(party.steps)
            self.revert(party, "undo", self.some_selection(party, data))
            if party.steps != known:
                was.append(self.told(party))
        if data.draw(st.booleans(), label="in one"):
            self.take_back(party, party.steps[first:])
            assert self.told(party) == was[0]
            return
        for there in reversed(was[:-1]):
            self.take_back(party, party.steps[-1:])
            assert self.told(party) == there

    @precondition(lambda self: self.busy("active"))
    @rule(data=st.data())
    def undo_settle_and_redo_at_once(self, data: st.DataObject) -> None:
        """Whoever takes the undo's version in a clash gets back with a redo what they gave up.

        Only of one file, and of what is the person's: undos of several files that had each other's paths, with a choice
        that gives up another file on record, do not all come back yet.
        """
        party = data.draw(st.sampled_from(self.busy("active")))
        event = self.revert(party, "undo", self.some_selection(party, data))
        clashes = [one for one in event.outcomes if one.clash is not None] if event is not None else []
        if event is None or not clashes or len({one.path for one in event.outcomes}) > 1:
            return
        (outcome,) = clashes
        clash = outcome.clash
        assert clash is not None
        if any(maker.by != "person" for maker in clash.yours_by):
            return
        versions = [clash.wanted, clash.yours]
        if any(image is not None and image.kind == "folder" for image in versions):
            return
        before, wanted = self.told(party), self.state(party, clash.wanted)
        settled = ops.WriteFile(
            path=outcome.path,
            expected=clash.yours.digest if clash.yours is not None else None,
            content=wanted.content if wanted is not None else None,
            like=clash.wanted,
            purpose="undo",
            reverts=outcome.reverts or tuple(Reverted(change_id=one) for one in outcome.change_ids),
        )
        known = list(party.steps)
        self.run(party.undoing.carry_out(settled))
        # The choice is part of the undo from now on: a redo takes it back, and the same undo brings it again.
        self.settled_paths.add(outcome.path)
        self.given_up |= {line for image in versions for line in lines_of(self.state(party, image))}
        assert self.tree().get(outcome.path) == wanted
        if party.steps != known:
            self.take_back(party, party.steps[-1:])
            assert self.told(party) == before

    @precondition(lambda self: any(party.steps for party in self.parties))
    @rule(data=st.data())
    def redo_steps(self, data: st.DataObject) -> None:
        party = data.draw(st.sampled_from([party for party in self.parties if party.steps]))
        some = data.draw(st.sets(st.sampled_from([step.seq for step in party.steps]), min_size=1), label="steps")
        self.take_back(party, [step for step in party.steps if step.seq in some])

    def told(self, party: Party) -> object:
        return self.tree(), {r.change.id: undone_of(r) for r in party.records() if r.change.author != "undo"}

    def take_back(self, party: Party, steps: Sequence[UndoStep]) -> None:
        """Redo these undos, and check that only their bytes come and go."""
        if not steps:
            return
        before = self.tree()
        records = party.state.transcript.changes
        meant = [records[change_id].change for step in steps for change_id in step.writes]
        assert self.run(party.undoing.carry_out(ops.RedoSteps(steps=tuple(step.seq for step in steps))))
        event = self.last_revert(party)
        after = self.tree()
        self.check_outcomes(event, before, after)
        again = [records[part.change_id].change for step in steps for part in step.parts]
        self.check_lines(party, "undo", meant, before, after, again)
        if all(outcome.is_done for outcome in event.outcomes):
            assert not {step.seq for step in steps} & {step.seq for step in party.steps}

    def busy(self, question: Literal["active", "undone"]) -> list[Party]:
        return [party for party in self.parties if getattr(party.state.transcript.changed, question)()]

    def some_selection(self, party: Party, data: st.DataObject) -> ChangeSelection:
        records = [record for record in party.records() if record.change.is_by_agent]
        kinds = ["all", *(["turn", "since", "call", "path", "change", "hunk"] if records else [])]
        kind = data.draw(st.sampled_from(kinds), label="selection")
        if kind == "all":
            return ChangeSelection()
        record = data.draw(st.sampled_from(records), label="record")
        match kind:
            case "turn":
                return ChangeSelection(turn=record.turn)
            case "since":
                return ChangeSelection(since_turn=record.turn)
            case "call":
                return ChangeSelection(call_id=record.call_id)
            case "path":
                return ChangeSelection(path=record.change.path)
            case "change":
                return ChangeSelection(change_ids=(record.change.id,))
            case _:
                return self.some_hunks(party, record, data)

    def some_hunks(self, party: Party, record: ChangeRecord, data: st.DataObject) -> ChangeSelection:
        turn = data.draw(st.sampled_from([None, record.turn]))
        row = data.draw(st.sampled_from(self.rows(party, turn)), label="row")
        diff = party.ledger.images.diff(row.change)
        some = data.draw(st.sets(st.sampled_from(all_keys(diff)), min_size=1), label="hunks")
        return ChangeSelection(path=row.change.path, turn=turn, hunks=tuple(some))

    def rows(self, party: Party, turn: int | None) -> list[NetChange]:
        records = (r for r in party.records() if turn in (None, r.turn))
        return [row for row in net_changes(records) if row.records[0].change.is_by_agent]

    def revert(
        self, party: Party, direction: Direction, selection: ChangeSelection
    ) -> ev.ChangesUndone | ev.ChangesRedone | None:
        """Undo or redo; check that all other bytes stay, and that each skipped file is reported."""
        before = self.tree()
        meant = self.meant(party, direction, selection)
        kind = ops.UndoChanges if direction == "undo" else ops.RedoChanges
        if not self.run(party.undoing.carry_out(kind(selection=selection))):
            assert self.tree() == before
            assert not meant or self.is_so_already(party, direction, selection)
            return None
        after = self.tree()
        event = self.last_revert(party)
        assert direction == "redo" or after == before or event.seq in {step.seq for step in party.steps}
        folders = {folder for change in meant for folder in change.new_folders}
        others = {r.change.id for r in party.records() if r.change.needs_own_question}
        told = [one for one in event.outcomes if not (one.change_ids and others.issuperset(one.change_ids))]
        # Files that are not the agent's are reported and left alone; empty folders of earlier undos may go at any time.
        said = {one.path for one in told if one.change_ids or one.hunks or one.reason} - folders
        if selection.hunks:
            # All hunks of a renamed or replaced file include the renaming.
            is_renaming = any(change.moved_from or change.moved_to for change in meant)
            assert len(said) == 1 or is_renaming
            assert said <= {
                path for change in meant for path in (*self.places(party, change), *self.origins(party, change))
            }
        else:
            assert {change.id for change in meant} == {id_ for outcome in told for id_ in outcome.change_ids}
            assert said <= {
                path for change in meant for path in (*self.places(party, change), *self.origins(party, change))
            }
        self.check_outcomes(event, before, after)
        self.check_lines(party, direction, meant, before, after)
        return event

    def is_so_already(self, party: Party, direction: Direction, selection: ChangeSelection) -> bool:
        """Whether the selected hunks are partly undone already, or partly in force for a redo."""
        row = next(row for row in self.rows(party, selection.turn) if row.change.path == selection.path)
        undone = [undone_of(record) for record in row.records]
        if direction == "undo":
            is_some = any(one is None or one for one in undone)
        else:
            is_some = any(one is not None for one in undone)
        return bool(selection.hunks) and is_some

    def check_outcomes(self, event: ev.ChangesUndone | ev.ChangesRedone, before: Tree, after: Tree) -> None:
        """Check that skipped files, and files without an outcome, did not change.

        When several undos are redone at once, one may find a file as another one wrote it.
        """
        said = {outcome.path for outcome in event.outcomes}
        written = {outcome.path for outcome in event.outcomes if outcome.state in ("restored", "merged")}
        for outcome in event.outcomes:
            assert outcome.is_done or outcome.reason
            if outcome.state not in ("restored", "merged") and outcome.path not in written:
                assert after.get(outcome.path) == before.get(outcome.path)
        for path in before.keys() | after.keys():
            if path not in said:
                assert before.get(path) == after.get(path)

    def meant(self, party: Party, direction: Direction, selection: ChangeSelection) -> list[FileChange]:
        if selection.hunks:
            row = next(row for row in self.rows(party, selection.turn) if row.change.path == selection.path)
            if not (row.change.moved_from and WHOLE_FILE in selection.hunks):
                here = [record.change for record in row.records if record.change.path == selection.path]
                if row.change.moved_from:
                    return [*here, row.change]  # it was edited at its old path, too
                return with_partners(here, [record.change for record in party.records()])
            selection = ChangeSelection(change_ids=row.change_ids)
        records = [r for r in party.records() if selection.includes(r.change, turn=r.turn, call_id=r.call_id)]
        is_undo = direction == "undo"
        records = [r for r in records if (not r.is_undone if is_undo else r.is_undone or r.undone_hunks)]
        # Undone in part: an undo may skip an undone renaming, and a redo one if only lines are undone.
        loose = [r.change for r in records if r.undone_hunks and (RENAMING in r.undone_hunks) == is_undo]
        bound = [r.change for r in records if r.change not in loose]
        return [*with_partners(bound, [r.change for r in party.records()]), *loose]

    def check_lines(
        self,
        party: Party,
        direction: Direction,
        meant: Sequence[FileChange],
        before: Tree,
        after: Tree,
        again: Sequence[FileChange] = (),
    ) -> None:
        """Check that only lines of the selected changes come and go, and that the others keep their order.

        `again` are changes that are in force again once the undo's writes in `meant` are redone.
        """
        olds = [lines_of(self.state(party, change.before)) for change in meant]
        news = [lines_of(self.state(party, change.after)) for change in meant]
        added = {line for old, new in zip(olds, news, strict=True) for line in set(new) - set(old)}
        removed = {line for old, new in zip(olds, news, strict=True) for line in set(old) - set(new)}
        if direction == "redo":
            added, removed = removed, added
        for change in again:
            old, new = (set(lines_of(self.state(party, image))) for image in (change.before, change.after))
            added, removed = added | old - new, removed | new - old
        kinds = [{path: state.kind for path, state in tree.items()} for tree in (before, after)]
        is_replaced = any(change.before is None or change.after is None for change in meant)
        if kinds[0] != kinds[1] or is_replaced:  # a file comes as all its standing changes make it, and goes as it is
            paths = {path for one in meant for path in self.places(party, one) | self.origins(party, one)}
            records = (r.change for r in party.records() if r.change.path in paths)
            images = [image for change in records for image in (change.before, change.after)]
            known = {line for image in images for line in lines_of(self.state(party, image))}
            added, removed = added | known, removed | known
        here = {line for state in before.values() for line in lines_of(state)}
        there = {line for state in after.values() for line in lines_of(state)}
        assert here - there <= added | self.given_up
        assert there - here <= removed | self.given_up
        for path in before.keys() & after.keys():
            stayed = set(lines_of(before[path])) & set(lines_of(after[path]))
            orders = [[line for line in lines_of(tree[path]) if line in stayed] for tree in (before, after)]
            assert orders[0] == orders[1]
            is_settled = path in self.settled_paths
            if before[path].mode != after[path].mode and before[path].kind == after[path].kind == "file":
                assert is_settled or any(
                    path in self.places(party, change) | self.origins(party, change) and modes_differ(change)
                    for change in (*meant, *again)
                )

    def places(self, party: Party, change: FileChange) -> set[str]:
        """The possible present paths of the change's file, after later renamings."""
        found = {change.path}
        for record in party.records():
            if record.change.path in found and record.change.moved_to:
                found.add(record.change.moved_to)
        return found

    def origins(self, party: Party, change: FileChange) -> set[str]:
        """The possible paths of the change's file before renamings."""
        found = {change.path}
        for record in reversed(party.records()):
            if record.change.path in found and record.change.moved_from:
                found.add(record.change.moved_from)
        return found

    def last_revert(self, party: Party) -> ev.ChangesUndone | ev.ChangesRedone:
        events, _ = read_journal(party.journal, party.blobs)
        return next(e for e in reversed(events) if isinstance(e, ev.ChangesUndone | ev.ChangesRedone))

    # -- the ground --

    @invariant()
    def no_temporary_file_is_left(self) -> None:
        if hasattr(self, "root"):
            assert not [name for _, _, names in os.walk(self.root) for name in names if name.endswith(".tmp")]

    def run(self, work: Coroutine[object, object, T]) -> T:
        return self.runner.run(work)

    def state(self, party: Party, image: FileImage | None) -> FileState | None:
        return party.ledger.images.state(image)

    def tree(self) -> dict[str, FileState]:
        found: dict[str, FileState] = {}
        for path in self.root.rglob("*"):
            name = path.relative_to(self.root).as_posix()
            if path.is_symlink():
                found[name] = FileState(content=os.fsencode(path.readlink()), mode=0o777, kind="symlink")
            elif path.is_file():
                found[name] = FileState(content=path.read_bytes(), mode=path.lstat().st_mode & 0o7777)
        return found

    def put(self, path: str, content: bytes) -> None:
        target = self.root / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            return
        target.write_bytes(content)

    def text(self, author: str, lines: int) -> bytes:
        return b"".join(f"{author}{next(self.words)}\n".encode() for _ in range(lines))

    def edited(self, author: str, before: FileState | None, data: st.DataObject) -> bytes:
        lines = before.content.splitlines(keepends=True) if before and before.kind == "file" else []
        start = data.draw(st.integers(0, len(lines)), label="start")
        end = data.draw(st.integers(start, min(len(lines), start + 3)), label="end")
        new = self.text(author, data.draw(st.integers(0 if end > start else 1, 3), label="new lines"))
        return b"".join(lines[:start]) + new + b"".join(lines[end:])


def with_partners(selected: Sequence[FileChange], recorded: Sequence[FileChange]) -> list[FileChange]:
    """Return `selected` with the other half of each rename, in the order of `recorded`."""
    ids = {change.id for change in selected}
    for halves in ({recorded[place].id for place in pair} for pair in pairs(recorded)):
        if ids & halves:
            ids |= halves
    return [change for change in recorded if change.id in ids]


def lines_of(state: FileState | None) -> list[Line]:
    if state is None:
        return []
    if state.kind == "symlink" or b"\0" in state.content:
        return [(state.kind, state.content)]
    return list[Line](state.content.splitlines(keepends=True))


def modes_differ(change: FileChange) -> bool:
    """Whether the change set permission bits, directly or through a renamed file."""
    is_moved = bool(change.moved_from or change.moved_to)
    return is_moved or change.before is None or change.after is None or change.before.mode != change.after.mode


@pytest.fixture
def many(is_nightly: bool) -> settings:
    return settings(max_examples=2000 if is_nightly else 20, stateful_step_count=25)


def test_no_history_loses_a_line_of_anybody_elses(many: settings) -> None:
    run_state_machine_as_test(Histories, settings=many)
