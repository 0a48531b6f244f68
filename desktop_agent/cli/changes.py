"""`desktop-agent changes`: what a session changed, as a list or a patch, and undo and redo of it."""

import argparse
import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

from desktop_agent.cli.console import Console, table
from desktop_agent.cli.redoing import redo_steps, redoes_steps
from desktop_agent.cli.reverting import report, revert
from desktop_agent.cli.selecting import (
    NumberedHunk,
    agents_rows,
    hunks_of,
    matching,
    revertible,
    with_hunks,
)
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.base.plain_text import on_one_line
from desktop_agent.core.changes.attribution import Contents
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.net import NetChange, net_state
from desktop_agent.core.changes.patch import PatchFile, make_patch
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, FileImage, FileOutcome, JsonObject
from desktop_agent.core.store.journal.journal import read_journal
from desktop_agent.core.transcript import ChangeRecord, ToolEntry, Transcript, replay
from desktop_agent.core.undo.execute import draft_revert
from desktop_agent.core.undo.plan import Direction


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands and return the exit code."""
    bench = Workbench.from_environment()
    session_id = bench.catalog.find(args.id)
    wanted = ChangeSelection(turn=args.turn, since_turn=args.since, call_id=args.call, path=args.file)
    transcript = replay(read_journal(bench.catalog.journal_path(session_id), bench.blobs)[0])
    contents = _contents(bench)
    match args.action:
        case "list":
            return _list(transcript, wanted, contents if args.hunks else None, console)
        case "diff":
            return _diff(agents_rows(matching(transcript, wanted)), contents, console)
        case "redo" if redoes_steps(args):
            return redo_steps(bench, session_id, transcript, args, console)
        case "undo" | "redo":
            direction: Direction = args.action
            if args.hunk:
                selection = with_hunks(transcript, wanted, args.hunk, contents)
            else:
                selection = revertible(transcript, wanted)
            if args.dry_run:
                outcomes = _preview(bench, transcript, direction, selection)
            else:
                op = _op(direction, selection, args)
                outcomes = asyncio.run(revert(bench, session_id, op))  # noqa: TID251 - entry point
            return report(outcomes, direction, console, session_id, is_dry_run=args.dry_run)
        case _:
            raise AssertionError(args.action)


def _contents(bench: Workbench) -> Contents:
    def content(image: FileImage | None) -> bytes | None:
        return None if image is None or image.kind == "folder" else bench.blobs.get(image.digest, size=image.size)

    return content


# -- list --


def _list(transcript: Transcript, wanted: ChangeSelection, contents: Contents | None, console: Console) -> int:
    records = matching(transcript, wanted)
    uncaptured = _uncaptured(transcript, wanted)
    document: JsonObject = {"changes": [_as_json(record) for record in records], "uncaptured": uncaptured}
    parts = [table([_as_row(record) for record in records], right=(4, 5)) or "There are no changes."]
    if contents is not None:
        files = [
            (row, hunks_of(transcript, row, contents), transcript.kept.get(row.path, set[HunkKey]()))
            for row in agents_rows(records)
        ]
        document["files"] = [_file_as_json(*file) for file in files]
        parts += [_describe_file(*file) for file in files]
    if uncaptured:
        missing = [f"{on_one_line(str(item['path']))} ({item['reason']}; turn {item['turn']})" for item in uncaptured]
        parts.append("\n".join(["Not recorded, so it cannot be undone:", *missing]))
    console.result(document, "\n\n".join(parts))
    return 0


def _as_json(record: ChangeRecord) -> JsonObject:
    change = record.change
    return {
        "id": change.id,
        "path": change.path,
        "kind": change.kind,
        "author": change.author,
        "turn": record.turn,
        "call": record.call_id,
        "added": change.added,
        "removed": change.removed,
        "is_binary": change.is_binary,
        "state": net_state([record]),
        "moved_from": change.moved_from or None,
        "moved_to": change.moved_to or None,
        "file_kind": _file_kind(change),
        "reverts": [{"id": reverted.change_id, "hunks": list(reverted.hunks)} for reverted in change.reverts],
    }


def _as_row(record: ChangeRecord) -> list[str]:
    change = record.change
    path = f"{change.path}/" if _file_kind(change) == "folder" else change.path
    if change.moved_from:
        path = f"{change.moved_from} → {path}"
    elif change.moved_to:
        path = f"{path} (now {change.moved_to})"
    counts = ["binary", ""] if change.is_binary else [f"+{change.added}", f"-{change.removed}"]
    return [change.id, net_state([record]), change.author, change.kind, *counts, path]


def _file_kind(change: FileChange) -> str:
    image = change.after or change.before
    return image.kind if image else "file"


def _file_as_json(row: NetChange, hunks: Sequence[NumberedHunk], kept: Collection[HunkKey]) -> JsonObject:
    return {
        "path": row.path,
        "moved_from": row.moved_from or None,
        "kind": row.change.kind,
        "authors": list(row.authors),
        "state": row.state,
        "ids": list(row.change_ids),
        "hunks": [
            {
                "number": hunk.number,
                "key": hunk.key,
                "title": hunk.title,
                "old_start": hunk.old_start + 1,
                "old_count": hunk.old_count,
                "new_start": hunk.new_start + 1,
                "new_count": hunk.new_count,
                "state": hunk.state,
                "kept": hunk.key in kept,
            }
            for hunk in hunks
        ],
    }


def _describe_file(row: NetChange, hunks: Sequence[NumberedHunk], kept: Collection[HunkKey]) -> str:
    name = f"{row.moved_from} → {row.path}" if row.moved_from else row.path
    rows = [
        [f"  {hunk.number}", hunk.key, f"{hunk.state}, kept" if hunk.key in kept else hunk.state, hunk.title]
        for hunk in hunks
    ]
    return f"{on_one_line(name)}\n{table(rows, right=(0,))}"


def _uncaptured(transcript: Transcript, wanted: ChangeSelection) -> list[JsonObject]:
    """What could not be recorded of the selected calls, and why."""
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


# -- diff --


def _diff(rows: Sequence[NetChange], contents: Contents, console: Console) -> int:
    patch = make_patch(PatchFile(row.change, contents(row.change.before), contents(row.change.after)) for row in rows)
    if console.is_json:
        # Bytes that are no UTF-8 come as lone surrogates, so that the very patch can be made of it again.
        console.result({"patch": patch.decode("utf-8", "surrogateescape"), "files": [row.path for row in rows]}, "")
    else:
        console.write_bytes(patch)
    return 0


# -- undo and redo --


def _op(
    direction: Direction, selection: ChangeSelection, args: argparse.Namespace
) -> ops.UndoChanges | ops.RedoChanges:
    if direction == "redo":
        return ops.RedoChanges(selection=selection, reason=args.reason)
    return ops.UndoChanges(selection=selection, reason=args.reason, is_recovery=args.recover)


def _preview(
    bench: Workbench, transcript: Transcript, direction: Direction, selection: ChangeSelection
) -> tuple[FileOutcome, ...]:
    """What the undo or redo would do, without opening the session for writing."""
    draft = draft_revert(transcript, Ledger(Path(transcript.workspace), bench.blobs), direction, selection)
    return draft.outcomes() if draft is not None else ()
