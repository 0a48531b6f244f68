"""`desktop-agent sessions fork`, `rename`, `archive`, `pin` and `delete`."""

import argparse
import asyncio
import sys

from desktop_agent.cli.console import Console, size_text
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.events import SessionArchived, SessionPinned, SessionRenamed


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of them and return the exit code."""
    bench = Workbench.from_environment()
    session_id = bench.catalog.find(args.id)
    return asyncio.run(_carry_out(bench, console, args, session_id))  # noqa: TID251 - entry point


async def _carry_out(bench: Workbench, console: Console, args: argparse.Namespace, session_id: SessionId) -> int:
    match args.action:
        case "fork":
            copy = await bench.stored.fork(session_id, before_turn=args.before_turn)
            console.result({"id": copy, "source": session_id, "before_turn": args.before_turn}, copy)
        case "rename":
            title = " ".join(args.title.split())
            if not title:
                raise UsageError("A title needs at least one letter.")
            await bench.stored.file(session_id, SessionRenamed(title=title))
            console.result({"id": session_id, "title": title}, "")
        case "archive":
            await bench.stored.file(session_id, SessionArchived(is_archived=not args.undo))
            console.result({"id": session_id, "archived": not args.undo}, "")
        case "pin":
            await bench.stored.file(session_id, SessionPinned(is_pinned=not args.undo))
            console.result({"id": session_id, "pinned": not args.undo}, "")
        case _:
            return await _delete(bench, console, args, session_id)
    return 0


async def _delete(bench: Workbench, console: Console, args: argparse.Namespace, session_id: SessionId) -> int:
    if not args.yes and not await _is_confirmed(bench, console, session_id):
        console.say("Nothing was deleted.")
        return 1
    await bench.stored.delete(session_id)
    console.result({"id": session_id, "deleted": True}, "")
    return 0


async def _is_confirmed(bench: Workbench, console: Console, session_id: SessionId) -> bool:
    """Ask on the terminal. Raises `UsageError` where no user can answer."""
    if not sys.stdin.isatty():
        raise UsageError("Deleting a session has to be confirmed.", hint="Confirm it with --yes.")
    summary = await asyncio.to_thread(bench.catalog.summary, session_id)
    size = await bench.stored.size(session_id)
    title = summary.title if summary is not None else session_id
    console.say(
        f"“{title}” with {size_text(size.journal_bytes + size.own_bytes)} and its undo history will be deleted."
    )
    console.say("Files of the workspace stay as they are. Delete it? [y/N]")
    answer = await asyncio.to_thread(sys.stdin.readline)
    return answer.strip().lower() in ("y", "yes")
