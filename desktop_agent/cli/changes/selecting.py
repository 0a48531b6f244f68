"""What the options of `desktop-agent changes` select: changes of a session, the files they make up, hunks of one."""

import argparse
from collections.abc import Sequence
from typing import Literal, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.ids import HunkKey, SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.changes.attribution import Contents, reviewed_diff
from desktop_agent.core.changes.net import NetChange, net_changes
from desktop_agent.core.diff.hunks import ENDINGS, MODE, WHOLE_FILE, all_keys, converted_edits, review_hunks
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.transcript import ChangeRecord, Transcript, replay
from desktop_agent.core.undo.path_tracking import recorded_of


class ChangedSession(NamedTuple):
    """A stored session, as its journal tells it."""

    id: SessionId
    blobs: Blobs
    transcript: Transcript

    @classmethod
    def find(cls, name: str) -> Self:
        """Read the session of this id, or of its beginning or end. Raises `SessionNotFoundError`."""
        catalog = Catalog.of(AppPaths.from_environment())
        session_id = catalog.find(name)
        events, _ = read_journal(catalog.journal_path(session_id), catalog.blobs)
        return cls(session_id, catalog.blobs, replay(events))


class NumberedHunk(Struct, frozen=True):
    """One thing in a file to decide about: some lines, or all that its key names."""

    number: int
    """From 1, in the order of the file. `--hunk` takes it as well as the key."""
    key: HunkKey
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    state: Literal["standing", "undone"]

    @property
    def title(self) -> str:
        """What it is about, in words or as the head of a hunk in a patch."""
        words = {WHOLE_FILE: "the whole file", MODE: "the permissions", ENDINGS: "the line endings"}
        ranges = f"@@ -{self.old_start + 1},{self.old_count} +{self.new_start + 1},{self.new_count} @@"
        return words.get(self.key, ranges)


def selection_of(args: argparse.Namespace) -> ChangeSelection:
    """Return what the options ask for, hunks left aside."""
    return ChangeSelection(turn=args.turn, since_turn=args.since, call_id=args.call, path=args.file)


def matching(transcript: Transcript, wanted: ChangeSelection) -> list[ChangeRecord]:
    """Return the changes that `wanted` covers, by any author. A path covers all of a renamed file."""
    everywhere = replace(wanted, path=None)
    records = [record for record in transcript.changes.values() if _is_within(everywhere, record)]
    if wanted.path is None:
        return records
    rows = [row for row in net_changes(records) if wanted.path in (row.path, row.moved_from)]
    ids = {change_id for row in rows for change_id in row.change_ids}
    paths = {wanted.path, *(row.path for row in rows), *(row.moved_from for row in rows)}
    return [
        record
        for record in records
        if record.change.id in ids or (not record.change.is_by_agent and record.change.path in paths)
    ]


def agents_rows(records: Sequence[ChangeRecord]) -> list[NetChange]:
    """Return what the changes come to, without the user's: what can be printed as a patch, undone and redone."""
    return net_changes(record for record in records if record.change.is_by_agent)


def revertible(transcript: Transcript, wanted: ChangeSelection) -> ChangeSelection:
    """Return the selection for an undo or redo of `wanted`: where a file was renamed, both halves of the rename."""
    if wanted.path is None:
        return wanted
    rows = agents_rows(matching(transcript, wanted))
    if all(record.change.path == wanted.path for row in rows for record in row.records):
        return wanted
    return ChangeSelection(change_ids=tuple(change_id for row in rows for change_id in row.change_ids))


def with_hunks(
    transcript: Transcript, wanted: ChangeSelection, names: Sequence[str], contents: Contents
) -> ChangeSelection:
    """Return `wanted` narrowed down to hunks of its file, named by number or key. Raises `UsageError`."""
    if wanted.path is None:
        raise UsageError("A hunk needs its file.", hint="Name it with --file P.")
    rows = [row for row in agents_rows(matching(transcript, wanted)) if row.path == wanted.path]
    if not rows:
        raise UsageError(
            f"There is no change of {wanted.path} there.", hint="`changes list ID` lists the changes with their files."
        )
    hunks = hunks_of(transcript, rows[0], contents)
    keys = tuple(dict.fromkeys(_key_of(name, hunks, wanted.path) for name in names))
    return replace(wanted, hunks=keys)


def hunks_of(transcript: Transcript, row: NetChange, contents: Contents) -> list[NumberedHunk]:
    """Return the hunks of a file, numbered: those with lines in their order, then its line endings, then its mode."""
    last = next((r for r in reversed(row.records) if r.change.path == row.path), row.records[-1])
    there = recorded_of(last.change, transcript.changes.values())
    diff = reviewed_diff([record.change for record in row.records], there, contents)
    lines = {named.key: named.hunk for named in review_hunks(diff)}
    converted = converted_edits(diff)
    hunks: list[NumberedHunk] = []
    for number, key in enumerate(all_keys(diff), start=1):
        hunk = lines.get(key)
        if hunk is not None:
            place = (hunk.old_start, hunk.old_end - hunk.old_start, hunk.new_start, hunk.new_end - hunk.new_start)
        elif key == ENDINGS:
            first, count = converted[0], sum(edit.old_end - edit.old_start for edit in converted)
            place = (first.old_start, count, first.new_start, count)
        else:
            place = (0, 0, 0, 0)
        hunks.append(NumberedHunk(number, key, *place, "undone" if key in diff.undone else "standing"))
    return hunks


def _key_of(name: str, hunks: Sequence[NumberedHunk], path: str) -> HunkKey:
    for hunk in hunks:
        if name in (hunk.key, str(hunk.number)):
            return hunk.key
    raise UsageError(
        f"{path} has no hunk {name!r} there.",
        hint=f"It has {len(hunks)}. `changes list ID --file {path} --hunks` lists them with number and key.",
    )


def _is_within(wanted: ChangeSelection, record: ChangeRecord) -> bool:
    named = replace(wanted, change_ids=(record.change.id,))  # also those of the user, and undos
    return named.includes(record.change, turn=record.turn, call_id=record.call_id)
