"""`desktop-agent changes`: what a session changed, as a list or a patch, and undo and redo of it."""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from desktop_agent.commands.console import Console, table
from desktop_agent.core import events as ev
from desktop_agent.core import ops
from desktop_agent.core.changes.diff import diff_change
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.changes.patch import patch_text
from desktop_agent.core.changes.revert import Direction
from desktop_agent.core.errors import StorageError
from desktop_agent.core.ids import SessionId
from desktop_agent.core.model import ChangeSelection, FileOutcome, JsonObject
from desktop_agent.core.store.journal import read_journal
from desktop_agent.core.transcript import ChangeRecord, Transcript, replay
from desktop_agent.core.undoing import draft_revert
from desktop_agent.headless.result import describe_outcome
from desktop_agent.workbench import Workbench


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands and return the exit code."""
    bench = Workbench.from_environment()
    session_id = bench.catalog.find(args.id)
    selection = ChangeSelection(turn=args.turn, call_id=args.call, path=args.file)
    transcript = replay(read_journal(bench.catalog.journal_path(session_id), bench.blobs)[0])
    match args.action:
        case "list":
            return _list(_selected(transcript, selection), console)
        case "diff":
            return _diff(bench, transcript, selection, console)
        case "undo" | "redo":
            direction: Direction = args.action
            if args.dry_run:
                outcomes = _preview(bench, transcript, direction, selection)
            else:
                outcomes = asyncio.run(_revert(bench, session_id, direction, selection))  # noqa: TID251 - entry point
            return _report(outcomes, direction, console, is_dry_run=args.dry_run)
        case _:
            raise AssertionError(args.action)


def _list(records: Sequence[ChangeRecord], console: Console) -> int:
    documents: list[JsonObject] = [
        {
            "id": record.change.id,
            "path": record.change.path,
            "kind": record.change.kind,
            "author": record.change.author,
            "turn": record.turn,
            "call": record.call_id,
            "added": record.change.added,
            "removed": record.change.removed,
            "is_binary": record.change.is_binary,
            "state": "undone" if record.is_undone else "standing",
        }
        for record in records
    ]
    rows = [[str(d[key]) for key in ("id", "state", "author", "kind", "added", "removed", "path")] for d in documents]
    shown = [[*row[:4], f"+{row[4]}", f"-{row[5]}", row[6]] for row in rows]
    console.result({"changes": documents}, table(shown, right=(4, 5)) or "There are no changes.")
    return 0


def _diff(bench: Workbench, transcript: Transcript, selection: ChangeSelection, console: Console) -> int:
    ledger = Ledger(Path(transcript.workspace), bench.blobs)
    chains: dict[str, list[ChangeRecord]] = {}
    for record in _selected(transcript, selection):
        chains.setdefault(record.change.path, []).append(record)
    changes = [net_change([record.change for record in chain]) for chain in chains.values()]
    diffs = [diff_change(change, ledger.content(change.before), ledger.content(change.after)) for change in changes]
    patch = patch_text(diffs)
    if console.is_json:
        console.result({"patch": patch.decode("utf-8", "replace"), "files": list(chains)}, "")
    else:
        console.write_bytes(patch)
    return 0


def _preview(
    bench: Workbench, transcript: Transcript, direction: Direction, selection: ChangeSelection
) -> tuple[FileOutcome, ...]:
    """What the undo or redo would do, without opening the session for writing."""
    draft = draft_revert(transcript, Ledger(Path(transcript.workspace), bench.blobs), direction, selection)
    return draft.outcomes() if draft is not None else ()


async def _revert(
    bench: Workbench, session_id: SessionId, direction: Direction, selection: ChangeSelection
) -> tuple[FileOutcome, ...]:
    """Open the session, undo or redo, and close it again."""
    done: asyncio.Future[tuple[FileOutcome, ...]] = asyncio.get_running_loop().create_future()

    is_begun = False

    def on_event(event: ev.Event) -> None:
        nonlocal is_begun
        if done.done():
            return
        match event:
            case ev.ChangesPrepared():
                is_begun = True
            # Before that it is an earlier one, cut off, that recovery concludes.
            case ev.ChangesUndone(outcomes=outcomes) | ev.ChangesRedone(outcomes=outcomes) if is_begun:
                done.set_result(outcomes)
            case ev.Notice(code="nothing_selected"):
                done.set_result(())
            case ev.Notice(code="storage", title=title, hint=hint, detail=detail):
                done.set_exception(StorageError(title, hint=hint, detail=detail))
            case _:
                pass

    session = (await bench.open_session(session_id, sink=on_event)).session
    serving = asyncio.create_task(session.run(), name="session")
    try:
        op = ops.UndoChanges if direction == "undo" else ops.RedoChanges
        session.submit(op(selection=selection))
        await asyncio.wait([done, serving], return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            await serving  # a session that ends by itself is a defect, and raises it here
        return await done
    finally:
        session.submit(ops.Shutdown())
        await serving


def _report(outcomes: Sequence[FileOutcome], direction: Direction, console: Console, *, is_dry_run: bool) -> int:
    documents: list[JsonObject] = [
        {
            "path": outcome.path,
            "state": outcome.state,
            "reason": outcome.reason,
            "change_ids": list(outcome.change_ids),
        }
        for outcome in outcomes
    ]
    lines = [describe_outcome(outcome) for outcome in outcomes] or [f"There is nothing to {direction}."]
    if is_dry_run:
        lines.insert(0, "Nothing was written. This would happen:")
    console.result({"outcomes": documents, "dry_run": is_dry_run}, "\n".join(lines))
    return 0 if all(outcome.is_done for outcome in outcomes) else 1


def _selected(transcript: Transcript, selection: ChangeSelection) -> list[ChangeRecord]:
    return [
        record
        for record in transcript.changes.values()
        if selection.includes(record.change, turn=record.turn, call_id=record.call_id)
    ]
