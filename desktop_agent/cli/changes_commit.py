"""`desktop-agent changes commit`: commit exactly the agent's selected lines with git, or undo such a commit."""

import argparse
import asyncio

from desktop_agent.cli.changes import ChangedSession, described_left_out, revertible, selection_of, with_hunks
from desktop_agent.cli.changes_undo import ledger_of, opened
from desktop_agent.cli.console import Console
from desktop_agent.cli.signals import run_cancellable
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.commits.git_commit import preview
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.library.turns import CommitOp


def main(args: argparse.Namespace, console: Console) -> int:
    session = ChangedSession.find(args.id)
    options = SessionOptions(accepts_folder=args.accept_folder)
    if args.undo:
        return _undo(session, args, options, console)
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


def _undo(session: ChangedSession, args: argparse.Namespace, options: SessionOptions, console: Console) -> int:
    if not (commits := session.transcript.changed.commits):
        raise UsageError("This session has no commit to undo.")
    last = commits[-1]
    if not args.dry_run:
        _carry_out(session, ops.UndoCommit(commit=last.commit), options, console)
    would = "would be" if args.dry_run else "is"
    text = f"The commit {last.commit[:12]} {would} undone: {last.subject}. The files stay as they are."
    console.result({"undone": last.commit, "files": list(last.paths), "dry_run": args.dry_run}, text)
    return 0
