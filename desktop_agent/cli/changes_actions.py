"""`desktop-agent changes undo`, `redo` and `commit`, outside a turn: changes undone, applied again, committed with git.

A commit has exactly the agent's selected lines.
"""

import argparse
import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from desktop_agent.cli.changes import ChangedSession, described_left_out, revertible, selection_of, with_hunks
from desktop_agent.cli.console import Console, table
from desktop_agent.cli.signals import run_cancellable
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.commits.git_commit import preview
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import encode, picked
from desktop_agent.core.protocol.model import FileOutcome, JsonObject
from desktop_agent.core.system.workspace import HeldWorkspace
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.differences import with_makers
from desktop_agent.core.undo.plan import draft_revert, draft_steps, steps_meant
from desktop_agent.core.undo.refusals import Direction, describe_outcome, describe_step
from desktop_agent.library.results import NothingSelectedError
from desktop_agent.library.turns import CommitOp, RevertOp, ServedSession


@asynccontextmanager
async def opened(
    session_id: SessionId, options: SessionOptions, tell: Callable[[ev.Event], None] = lambda _: None
) -> AsyncGenerator[ServedSession]:
    """Open the session; `tell` hears its events."""
    bench = Workbench.from_environment()
    served = ServedSession(bench.blobs, lambda _: None)

    def hear(event: ev.Event) -> None:
        served.hear(event)
        tell(event)

    session = (await bench.opener.open(session_id, hear, options, is_attended=False)).session
    try:
        await served.begin(session)
        yield served
    finally:
        await served.aclose()


async def revert(session_id: SessionId, op: RevertOp, options: SessionOptions) -> tuple[FileOutcome, ...]:
    """Open the session, undo or redo, and close the session. Raises `AgentError` when `op` could not be carried out."""
    async with opened(session_id, options) as served:
        try:
            return await served.revert(op)
        except NothingSelectedError:
            return ()


def report(
    outcomes: Sequence[FileOutcome],
    direction: Direction,
    console: Console,
    session_id: SessionId,
    *,
    is_dry_run: bool,
) -> int:
    documents: list[JsonObject] = [
        picked(outcome, "path", "state", "reason", "change_ids", "hunks")
        | {"removed": outcome.is_removed, "clash": encode(outcome.clash) if outcome.clash else None}
        for outcome in outcomes
    ]
    lines = [describe_outcome(outcome) for outcome in outcomes] or [f"There is nothing to {direction}."]
    if is_dry_run:
        lines.insert(0, "Nothing was written. This would happen:")
    if any(outcome.reason in (refusals.NOT_THE_AGENTS, refusals.MAYBE_NOT_THE_AGENTS) for outcome in outcomes):
        lines.append("To also undo what is not the agent's, add --include-others.")
    if any(outcome.clash for outcome in outcomes):
        lines.append(f"To decide line by line, open the session: desktop-agent --resume {session_id}")
    console.result({"outcomes": documents, "dry_run": is_dry_run}, "\n".join(lines))
    return 0 if all(outcome.is_done for outcome in outcomes) else 1


def undo_or_redo(args: argparse.Namespace, console: Console) -> int:
    session = ChangedSession.find(args.id)
    direction: Direction = args.action
    means_steps = direction == "redo" and _redoes_steps(args)
    if means_steps and args.steps:
        return _list_steps(session.transcript, console)
    op = _op_for_steps(session.transcript, args) if means_steps else _op_for_changes(session, direction, args)
    options = SessionOptions(accepts_folder=args.accept_folder)
    if args.dry_run:
        outcomes = _preview(session, direction, op, options)
    else:
        outcomes = asyncio.run(revert(session.id, op, options))  # noqa: TID251 - entry point
    return report(outcomes, direction, console, session.id, is_dry_run=args.dry_run)


def _op_for_changes(
    session: ChangedSession, direction: Direction, args: argparse.Namespace
) -> ops.UndoChanges | ops.RedoChanges:
    wanted = selection_of(args, session.transcript)
    if args.hunk:
        selection = with_hunks(session.transcript, wanted, args.hunk, session.blobs.of_file)
    else:
        selection = revertible(session.transcript, wanted)
    if direction == "redo":
        return ops.RedoChanges(selection=selection, reason=args.reason)
    return ops.UndoChanges(
        selection=selection, reason=args.reason, is_recovery=args.recover, includes_others=args.include_others
    )


def _preview(
    session: ChangedSession, direction: Direction, op: RevertOp, options: SessionOptions
) -> tuple[FileOutcome, ...]:
    """Return the effect of an undo or redo, without opening the session for writing. Raises `WorkspaceError`."""
    transcript, ledger = session.transcript, ledger_of(session, options)
    if isinstance(op, ops.RedoSteps):
        return with_makers(transcript, ledger, draft_steps(transcript, ledger, steps_meant(transcript, op)).outcomes())
    includes_others = isinstance(op, ops.UndoChanges) and op.includes_others
    draft = draft_revert(transcript, ledger, direction, op.selection, includes_others=includes_others)
    return with_makers(transcript, ledger, draft.outcomes()) if draft is not None else ()


def ledger_of(session: ChangedSession, options: SessionOptions) -> Ledger:
    """Raises `WorkspaceError` if the folder is missing or was replaced."""
    root = Path(session.transcript.session.workspace)
    known = None if options.accepts_folder else session.transcript.session.folder
    ledger = Ledger(root, session.blobs, held=HeldWorkspace(root, known))
    ledger.require_root()
    return ledger


# -- whole undos, each taken back as the one step it was --


def _redoes_steps(args: argparse.Namespace) -> bool:
    """Whether the options select undos to take back, instead of changes. Raises `UsageError` when they select both."""
    is_narrowed = bool(args.turn or args.since or args.call or args.file or args.hunk)
    named = [name for name in ("all", "steps", "step") if getattr(args, name)]
    if named and is_narrowed:
        raise UsageError(
            f"--{named[0]} does not go with --turn, --since, --call, --file or --hunk.",
            hint="Those apply changes again, whichever undo took them.",
        )
    return not is_narrowed


def _op_for_steps(transcript: Transcript, args: argparse.Namespace) -> ops.RedoSteps:
    """Return the op that takes back the named undos. Raises `UsageError` if there is no such undo."""
    numbers = tuple(args.step)
    unknown = sorted(set(numbers) - {step.seq for step in transcript.changed.steps})
    if unknown:
        raise UsageError(
            f"There is no undo {unknown[0]} that can be redone.",
            hint="`changes redo ID --steps` lists them with their numbers.",
        )
    return ops.RedoSteps(steps=numbers, is_all=args.all, reason=args.reason)


def _list_steps(transcript: Transcript, console: Console) -> int:
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
    console.result({"steps": documents}, table(rows, right=(0,)) or "There is no undo that can be redone.")
    return 0


def commit(args: argparse.Namespace, console: Console) -> int:
    session = ChangedSession.find(args.id)
    options = SessionOptions(accepts_folder=args.accept_folder)
    if args.undo:
        return _undo_commit(session, args, options, console)
    if not (args.message or "").strip() and not args.dry_run:
        raise UsageError("The commit needs a message.", hint="Write one with --message TEXT.")
    selection = selection_of(args, session.transcript)
    if args.hunk:
        selection = with_hunks(session.transcript, selection, args.hunk, session.blobs.of_file)
    else:
        selection = revertible(session.transcript, selection)
    ledger = ledger_of(session, options)
    found = asyncio.run(preview(session.transcript, ledger, (selection,)))  # noqa: TID251 - entry point
    document: JsonObject = {"commit": None, "dry_run": args.dry_run}
    paths, left_out = sorted(found.committed), found.left_out
    lines = ["Nothing was committed. This would be:" if args.dry_run and paths else "There is nothing to commit."]
    if paths and not args.dry_run:
        done = _carry_out(session, ops.CommitChanges(selections=(selection,), message=args.message), options, console)
        assert isinstance(done, ev.ChangesCommitted)
        document |= picked(done, "commit", "hooks_output", "changed_by_hooks")
        paths, left_out = list(done.paths), list(done.left_out)
        lines = [f"Committed {done.commit[:12]}: {done.subject}"]
        lines += [f"changed by a hook: {path}" for path in done.changed_by_hooks]
    document |= {"files": paths, "left_out": [picked(one, "path", "hunk", "reason") for one in left_out]}
    lines += [f"  {name_on_a_line(path)}" for path in paths]
    console.result(document, "\n".join([*lines, *described_left_out(left_out)]))
    return 0 if paths else 1


def _carry_out(
    session: ChangedSession, op: CommitOp, options: SessionOptions, console: Console
) -> ev.ChangesCommitted | ev.CommitUndone:
    def tell(event: ev.Event) -> None:
        if isinstance(event, ev.GitOutputDelta):
            console.say(event.text.rstrip("\n"))

    async def carry_out() -> ev.ChangesCommitted | ev.CommitUndone:
        async with opened(session.id, options, tell) as served:
            return await served.commit(op)

    return asyncio.run(run_cancellable(carry_out()))  # noqa: TID251 - entry point


def _undo_commit(session: ChangedSession, args: argparse.Namespace, options: SessionOptions, console: Console) -> int:
    if not (commits := session.transcript.changed.commits):
        raise UsageError("This session has no commit to undo.")
    last = commits[-1]
    if not args.dry_run:
        _carry_out(session, ops.UndoCommit(commit=last.commit), options, console)
    would = "would be" if args.dry_run else "is"
    text = f"The commit {last.commit[:12]} {would} undone: {last.subject}. The files stay as they are."
    console.result({"undone": last.commit, "files": list(last.paths), "dry_run": args.dry_run}, text)
    return 0
