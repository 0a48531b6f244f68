"""`desktop-agent changes redo` without a selection: undos are taken back, each as the one step it was."""

import argparse
import asyncio
from pathlib import Path

from desktop_agent.cli.changes.reverting import report, revert
from desktop_agent.cli.changes.selecting import ChangedSession
from desktop_agent.cli.console import Console, table
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.undo.execute import steps_meant
from desktop_agent.core.undo.outcome_words import describe_step
from desktop_agent.core.undo.redo import draft_steps


def redoes_steps(args: argparse.Namespace) -> bool:
    """Whether the options mean undos, not changes. Raises `UsageError` when they mean both."""
    is_narrowed = bool(args.turn or args.since or args.call or args.file or args.hunk)
    named = [name for name in ("all", "steps", "step") if getattr(args, name)]
    if named and is_narrowed:
        raise UsageError(
            f"--{named[0]} does not go with --turn, --since, --call, --file or --hunk.",
            hint="Those apply changes again, whichever undo took them.",
        )
    return not is_narrowed


def redo_steps(session: ChangedSession, args: argparse.Namespace, console: Console) -> int:
    """Take back the undos that the options name, or list them, and return the exit code."""
    transcript = session.transcript
    if args.steps:
        return _list(transcript, console)
    numbers = tuple(args.step)
    unknown = sorted(set(numbers) - {step.seq for step in transcript.changed.steps})
    if unknown:
        raise UsageError(
            f"There is no undo {unknown[0]} to take back.",
            hint="`changes redo ID --steps` lists them with their numbers.",
        )
    op = ops.RedoSteps(steps=numbers, is_all=args.all, reason=args.reason)
    if args.dry_run:
        steps = steps_meant(transcript, op)
        outcomes = draft_steps(transcript, Ledger(Path(transcript.session.workspace), session.blobs), steps).outcomes()
    else:
        outcomes = asyncio.run(revert(session.id, op))  # noqa: TID251 - entry point
    return report(outcomes, "redo", console, session.id, is_dry_run=args.dry_run)


def _list(transcript: Transcript, console: Console) -> int:
    """List the undos that can be taken back, the last one first."""
    steps = transcript.changed.steps[::-1]
    documents: list[JsonObject] = [
        {
            "step": step.seq,
            "at": step.at.isoformat(),
            "files": sorted(step.open_paths(transcript.changes)),
            "change_ids": [part.change_id for part in step.parts],
        }
        for step in steps
    ]
    rows = [
        [str(step.seq), f"{step.at.astimezone():%Y-%m-%d %H:%M}", describe_step(step, transcript.changes)]
        for step in steps
    ]
    console.result({"steps": documents}, table(rows, right=(0,)) or "There is no undo to take back.")
    return 0
