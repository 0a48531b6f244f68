"""`desktop-agent changes list` and `changes diff`: a session's changes, or those that the options select."""

import argparse
from collections.abc import Sequence
from shlex import quote
from typing import Literal, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.cli.console import Console, table
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.file_names import name_on_a_line, real_name
from desktop_agent.core.base.ids import HunkKey, SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.changes.attribution import reviewed_diff
from desktop_agent.core.changes.net import NetChange, net_changes, net_state
from desktop_agent.core.changes.patch import Contents, patch_of
from desktop_agent.core.diff.hunks import (
    ENDINGS,
    MODE,
    WHOLE_FILE,
    all_keys,
    converted_edits,
    hunk_names,
    marked,
    review_hunks,
)
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, JsonObject, LeftOut
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.transcript import ChangeRecord, ToolEntry, Transcript, replay
from desktop_agent.core.undo.path_tracking import recorded_of


class ChangedSession(NamedTuple):
    id: SessionId
    blobs: Blobs
    transcript: Transcript

    @classmethod
    def find(cls, name: str) -> Self:
        """Read a session by its id, or the beginning or end of it. Raises `SessionNotFoundError`."""
        catalog = SessionCatalog.of(AppPaths.from_environment())
        session_id = catalog.find(name)
        events, _ = read_journal(catalog.journal_path(session_id), catalog.blobs)
        return cls(session_id, catalog.blobs, replay(events))


class NumberedHunk(Struct, frozen=True):
    number: int
    """The position of the part in the file, from 1. `--hunk` takes this number as well as the key."""
    key: HunkKey
    old_start: int
    """From 1."""
    old_count: int
    new_start: int
    new_count: int
    state: Literal["standing", "undone"]
    is_kept: bool

    @property
    def title(self) -> str:
        words = {WHOLE_FILE: "the whole file", MODE: "the permissions", ENDINGS: "the line endings"}
        ranges = f"@@ -{self.old_start},{self.old_count} +{self.new_start},{self.new_count} @@"
        return words.get(self.key, ranges)


def selection_of(args: argparse.Namespace, transcript: Transcript) -> ChangeSelection:
    paths = {record.change.path for record in transcript.changes.values()}
    path = None if args.file is None else real_name(args.file, is_there=paths.__contains__)
    return ChangeSelection(turn=args.turn, since_turn=args.since, call_id=args.call, path=path)


def matching(transcript: Transcript, wanted: ChangeSelection) -> list[ChangeRecord]:
    """Return the changes that `wanted` covers, of every author. A path covers all changes of a renamed file."""
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
    return net_changes(record for record in records if record.change.is_by_agent)


def revertible(transcript: Transcript, wanted: ChangeSelection) -> ChangeSelection:
    """Return the selection for an undo or redo of `wanted`, with both halves of a renamed file."""
    if wanted.path is None:
        return wanted
    rows = agents_rows(matching(transcript, wanted))
    if all(record.change.path == wanted.path for row in rows for record in row.records):
        return wanted
    return ChangeSelection(change_ids=tuple(change_id for row in rows for change_id in row.change_ids))


def with_hunks(
    transcript: Transcript, wanted: ChangeSelection, names: Sequence[str], contents: Contents
) -> ChangeSelection:
    """Return `wanted`, reduced to the hunks of its file with these numbers or keys. Raises `UsageError`."""
    if wanted.path is None:
        raise UsageError("A hunk needs its file.", hint="Name it with --file P.")
    rows = [row for row in agents_rows(matching(transcript, wanted)) if row.path == wanted.path]
    if not rows:
        raise UsageError(
            f"There is no change of {name_on_a_line(wanted.path)} there.",
            hint="`changes list ID` lists the changes with their files.",
        )
    hunks = hunks_of(transcript, rows[0], contents)
    keys = tuple(dict.fromkeys(_key_of(name, hunks, wanted.path) for name in names))
    return replace(wanted, hunks=keys)


def hunks_of(transcript: Transcript, row: NetChange, contents: Contents) -> list[NumberedHunk]:
    """Return the numbered hunks of a file: first those with lines, in order, then its line endings, then its mode."""
    last = next((r for r in reversed(row.records) if r.change.path == row.path), row.records[-1])
    there = recorded_of(last.change, transcript.changes.values())
    diff = reviewed_diff([record.change for record in row.records], there, contents)
    lines = {named.key: named.hunk for named in review_hunks(diff)}
    converted = converted_edits(diff)
    hunks: list[NumberedHunk] = []
    keys = all_keys(diff)
    undone = frozenset(keys) if row.state == "undone" else diff.undone
    if len(row.records) == 1:  # its hunks are those of the row
        undone |= row.records[0].undone_hunks
    kept = marked(hunk_names(diff), transcript.changed.kept.get(row.path, ()))
    for number, key in enumerate(keys, start=1):
        old, new, old_count, new_count = 0, 0, 0, 0
        if (hunk := lines.get(key)) is not None:
            old, new = hunk.old_start, hunk.new_start
            old_count, new_count = hunk.old_end - old, hunk.new_end - new
        elif key == ENDINGS:
            old, new = converted[0].old_start, converted[0].new_start
            old_count = new_count = sum(edit.old_end - edit.old_start for edit in converted)
        state = "undone" if key in undone else "standing"
        hunks.append(NumberedHunk(number, key, old + 1, old_count, new + 1, new_count, state, key in kept))
    return hunks


def _key_of(name: str, hunks: Sequence[NumberedHunk], path: str) -> HunkKey:
    for hunk in hunks:
        if name in (hunk.key, str(hunk.number)):
            return hunk.key
    raise UsageError(
        f"{name_on_a_line(path)} has no hunk {name!r} there.",
        hint=f"It has {len(hunks)}. `changes list ID --file {quote(name_on_a_line(path))} --hunks` lists them with "
        "number and key.",
    )


def _is_within(wanted: ChangeSelection, record: ChangeRecord) -> bool:
    named = replace(wanted, change_ids=(record.change.id,))  # also those of the user, and undos
    return named.includes(record.change, turn=record.turn, call_id=record.call_id)


def list_changes(args: argparse.Namespace, console: Console) -> None:
    session = ChangedSession.find(args.id)
    wanted = selection_of(args, session.transcript)
    transcript, contents = session.transcript, session.blobs.of_file
    records = matching(transcript, wanted)
    uncaptured = _uncaptured(transcript, wanted)
    document: JsonObject = {"changes": [_as_json(record) for record in records], "uncaptured": uncaptured}
    parts = [table([_as_row(record) for record in records], right=(4, 5)) or "There are no changes."]
    if args.hunks:
        files = [(row, hunks_of(transcript, row, contents)) for row in agents_rows(records)]
        document["files"] = [_file_as_json(*file) for file in files]
        parts += [_describe_file(*file) for file in files]
    if uncaptured:
        missing = [
            f"{name_on_a_line(str(item['path']))} ({item['reason']}; turn {item['turn']})" for item in uncaptured
        ]
        parts.append("\n".join(["Not recorded, so it cannot be undone:", *missing]))
    console.result(document, "\n\n".join(parts))


def _as_json(record: ChangeRecord) -> JsonObject:
    change = record.change
    return {
        **picked(change, "id", "path", "kind", "author"),
        "turn": record.turn,
        "call": record.call_id,
        **picked(change, "added", "removed", "is_binary"),
        "state": net_state([record]),
        "moved_from": change.moved_from or None,
        "moved_to": change.moved_to or None,
        "file_kind": _file_kind(change),
        "reverts": [{"id": reverted.change_id, "hunks": list(reverted.hunks)} for reverted in change.reverts],
    }


def _as_row(record: ChangeRecord) -> list[str]:
    change = record.change
    path = name_on_a_line(f"{change.path}/" if _file_kind(change) == "folder" else change.path)
    if change.moved_from:
        path = f"{name_on_a_line(change.moved_from)} → {path}"
    elif change.moved_to:
        path = f"{path} (now {name_on_a_line(change.moved_to)})"
    counts = ["binary", ""] if change.is_binary else [f"+{change.added}", f"-{change.removed}"]
    return [change.id, net_state([record]), change.author, change.kind, *counts, path]


def _file_kind(change: FileChange) -> str:
    image = change.after or change.before
    return image.kind if image else "file"


def _file_as_json(row: NetChange, hunks: Sequence[NumberedHunk]) -> JsonObject:
    return {
        "path": row.path,
        "moved_from": row.moved_from or None,
        "kind": row.change.kind,
        "authors": list(row.authors),
        "state": row.state,
        "ids": list(row.change_ids),
        "hunks": [
            picked(hunk, "number", "key", "title", "old_start", "old_count", "new_start", "new_count", "state")
            | {"kept": hunk.is_kept}
            for hunk in hunks
        ],
    }


def _describe_file(row: NetChange, hunks: Sequence[NumberedHunk]) -> str:
    names = (row.moved_from, row.path) if row.moved_from else (row.path,)
    rows = [
        [f"  {hunk.number}", hunk.key, f"{hunk.state}, kept" if hunk.is_kept else hunk.state, hunk.title]
        for hunk in hunks
    ]
    return f"{' → '.join(map(name_on_a_line, names))}\n{table(rows, right=(0,))}"


def _uncaptured(transcript: Transcript, wanted: ChangeSelection) -> list[JsonObject]:
    return [
        {"path": missing.path, "reason": missing.reason, "turn": entry.turn, "call": entry.call.id}
        for entry in transcript.entries
        if isinstance(entry, ToolEntry)
        and wanted.turn in (None, entry.turn)
        and (wanted.since_turn is None or entry.turn >= wanted.since_turn)
        and wanted.call_id in (None, entry.call.id)
        for missing in entry.uncaptured
        if wanted.path in (None, missing.path)
    ]


def described_left_out(left_out: Sequence[LeftOut]) -> list[str]:
    places = [name_on_a_line(one.path) + (f", hunk {one.hunk}" if one.hunk else "") for one in left_out]
    return [f"left out: {place} ({one.reason})" for place, one in zip(places, left_out, strict=True)]


def show_diff(args: argparse.Namespace, console: Console) -> None:
    session = ChangedSession.find(args.id)
    rows = agents_rows(matching(session.transcript, selection_of(args, session.transcript)))
    is_for_reading = not console.is_json and console.out.isatty()
    patch = patch_of([row.change for row in rows], session.blobs.of_file, is_for_reading=is_for_reading)
    if console.is_json:
        # Bytes that are not UTF-8 become lone surrogates, so that exactly this patch can be restored.
        console.result({"patch": patch.decode("utf-8", "surrogateescape"), "files": [row.path for row in rows]}, "")
    else:
        console.write_bytes(patch)
