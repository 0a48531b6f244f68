"""`desktop-agent changes undo` and `changes redo`: the way back, and forth again."""

import argparse
import asyncio
from pathlib import Path

from desktop_agent.cli.changes.redoing import redo_steps, redoes_steps
from desktop_agent.cli.changes.reverting import report, revert
from desktop_agent.cli.changes.selecting import ChangedSession, revertible, selection_of, with_hunks
from desktop_agent.cli.console import Console
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, FileOutcome
from desktop_agent.core.undo.execute import draft_revert
from desktop_agent.core.undo.plan import Direction


def main(args: argparse.Namespace, console: Console) -> int:
    """Undo or redo what the options select, or only say what would happen, and return the exit code."""
    session = ChangedSession.find(args.id)
    direction: Direction = args.action
    if direction == "redo" and redoes_steps(args):
        return redo_steps(session, args, console)
    wanted = selection_of(args)
    if args.hunk:
        selection = with_hunks(session.transcript, wanted, args.hunk, session.content)
    else:
        selection = revertible(session.transcript, wanted)
    if args.dry_run:
        outcomes = _preview(session, direction, selection)
    else:
        outcomes = asyncio.run(revert(session.id, _op(direction, selection, args)))  # noqa: TID251 - entry point
    return report(outcomes, direction, console, session.id, is_dry_run=args.dry_run)


def _op(
    direction: Direction, selection: ChangeSelection, args: argparse.Namespace
) -> ops.UndoChanges | ops.RedoChanges:
    if direction == "redo":
        return ops.RedoChanges(selection=selection, reason=args.reason)
    return ops.UndoChanges(selection=selection, reason=args.reason, is_recovery=args.recover)


def _preview(session: ChangedSession, direction: Direction, selection: ChangeSelection) -> tuple[FileOutcome, ...]:
    """What the undo or redo would do, without opening the session for writing."""
    ledger = Ledger(Path(session.transcript.session.workspace), session.blobs)
    draft = draft_revert(session.transcript, ledger, direction, selection)
    return draft.outcomes() if draft is not None else ()
