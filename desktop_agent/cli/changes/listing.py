"""`desktop-agent changes list` and `changes diff`: what a session changed, as a list or a patch."""

import argparse
from collections.abc import Collection, Sequence

from desktop_agent.cli.changes.selecting import (
    ChangedSession,
    NumberedHunk,
    agents_rows,
    hunks_of,
    matching,
    selection_of,
)
from desktop_agent.cli.console import Console, table
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.base.plain_text import on_one_line
from desktop_agent.core.changes.attribution import Contents
from desktop_agent.core.changes.net import NetChange, net_state
from desktop_agent.core.changes.patch import PatchFile, make_patch
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, JsonObject
from desktop_agent.core.transcript import ChangeRecord, ToolEntry, Transcript


def main(args: argparse.Namespace, console: Console) -> int:
    """Print the changes, or the patch of the agent's, and return the exit code."""
    session = ChangedSession.find(args.id)
    wanted = selection_of(args)
    if args.action == "diff":
        return _diff(agents_rows(matching(session.transcript, wanted)), session.blobs.of_file, console)
    return _list(session.transcript, wanted, session.blobs.of_file if args.hunks else None, console)


# -- list --


def _list(transcript: Transcript, wanted: ChangeSelection, contents: Contents | None, console: Console) -> int:
    records = matching(transcript, wanted)
    uncaptured = _uncaptured(transcript, wanted)
    document: JsonObject = {"changes": [_as_json(record) for record in records], "uncaptured": uncaptured}
    parts = [table([_as_row(record) for record in records], right=(4, 5)) or "There are no changes."]
    if contents is not None:
        files = [
            (row, hunks_of(transcript, row, contents), transcript.changed.kept.get(row.path, set[HunkKey]()))
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
