"""`desktop-agent sessions`: what was said and done, in all sessions or in one."""

import argparse
import asyncio
from datetime import datetime
from typing import TYPE_CHECKING

from desktop_agent.cli.console import Console, size_text, table
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.plain_text import number_of, on_one_line
from desktop_agent.core.context.history import History
from desktop_agent.core.protocol.codec import encode, encode_event, encode_message
from desktop_agent.core.protocol.model import JsonObject, SessionSummary
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.journal import read_journal
from desktop_agent.core.transcript import (
    CommandEntry,
    CompactionEntry,
    Entry,
    ForkEntry,
    NoticeEntry,
    PageEntry,
    PromptEntry,
    RewindEntry,
    TextEntry,
    ToolEntry,
    TurnEndEntry,
    UndoEntry,
    replay,
)
from desktop_agent.core.undo.outcome_words import describe_outcome

if TYPE_CHECKING:
    from desktop_agent.composition.workbench import Workbench


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands. Those that only read need no workbench, which takes longer to import."""
    paths = AppPaths.from_environment()
    blobs = Blobs(paths.blobs)
    catalog = Catalog(paths.sessions, blobs, paths.cache)
    match args.action:
        case "list":
            _list(catalog, console, args)
        case "show":
            _show(catalog, blobs, console, catalog.find(args.id))
        case "verify":
            from desktop_agent.cli.verifying import verify_sessions

            ids = catalog.ids() if args.id is None else [catalog.find(args.id)]
            return verify_sessions(catalog, ids, console, is_repairing=args.repair)
        case _:
            from desktop_agent.composition.workbench import Workbench

            return _at_the_workbench(Workbench.from_environment(), args, console)
    return 0


def _at_the_workbench(bench: "Workbench", args: argparse.Namespace, console: Console) -> int:
    """Carry out a subcommand that searches, copies, changes or makes a session."""
    from desktop_agent.cli.session_exchange import export, import_file
    from desktop_agent.cli.session_filing import file_or_delete
    from desktop_agent.cli.session_search import search_sessions

    match args.action:
        case "search":
            search_sessions(bench, console, args)
        case "fork":
            asyncio.run(_fork(bench, console, bench.catalog.find(args.id), args.before_turn))  # noqa: TID251 - entry point
        case "export":
            export(bench, console, args)
        case "import":
            import_file(bench, console, args)
        case "rename" | "archive" | "pin" | "delete":
            return file_or_delete(bench, console, args)
        case _:
            raise AssertionError(args.action)
    return 0


def _list(catalog: Catalog, console: Console, args: argparse.Namespace) -> None:
    """List the sessions of one folder, or of all; those that were put away, and calls by hand, only when asked for."""
    summaries = [item for item in catalog.summaries() if args.all or _is_wanted(item, is_archived=args.archived)]
    if args.workspace is not None:
        folder = args.workspace.expanduser().resolve()
        summaries = [item for item in summaries if item.workspace == str(folder)]
        if not summaries and not folder.is_dir():  # one that was removed may have sessions all the same
            raise UsageError(f"There is no folder {folder}, and no session of one.")
    summaries.sort(key=_is_lower)
    rows = [
        (
            item.id,
            _when(item.active_at),
            number_of(item.turns, "turn"),
            size_text(item.size_bytes),
            _marks(item),
            item.title or "(no prompt yet)",
            item.workspace,
        )
        for item in summaries
    ]
    text = table(rows, right=(2, 3)) or "There are no sessions yet."
    console.result({"sessions": [_as_json(item) for item in summaries]}, text)


def _is_wanted(summary: SessionSummary, *, is_archived: bool) -> bool:
    return summary.is_archived if is_archived else summary.is_listed and not summary.is_archived


def _is_lower(summary: SessionSummary) -> bool:
    return not summary.is_pinned


def _marks(summary: SessionSummary) -> str:
    marks = (("pinned", summary.is_pinned), ("archived", summary.is_archived), (summary.state, summary.state != "idle"))
    return ", ".join(mark for mark, is_set in marks if is_set)


def _show(catalog: Catalog, blobs: Blobs, console: Console, session_id: SessionId) -> None:
    events, damages = read_journal(catalog.journal_path(session_id), blobs)
    for damage in damages:
        console.say(f"warning: line {damage.line} could not be read: {damage.reason}")
    transcript = replay(events)
    history = History()
    for event in events:
        history.apply(event)
    document: JsonObject = {
        "id": session_id,
        "title": transcript.title,
        "workspace": transcript.workspace,
        "model": transcript.model.model if transcript.model else None,
        "provider": transcript.model.provider if transcript.model else None,
        "turns": transcript.turn,
        "messages": [encode_message(message) for message in history.messages()],
        "events": [encode_event(event) for event in events],
    }
    heading = f"{on_one_line(transcript.title)}\n{session_id} · {on_one_line(transcript.workspace)}\n"
    console.result(document, heading + "\n" + "\n\n".join(map(_describe, transcript.entries)))


async def _fork(bench: "Workbench", console: Console, source: SessionId, before_turn: int | None) -> None:
    session_id = await bench.stored.fork(source, before_turn=before_turn)
    console.result({"id": session_id, "source": source, "before_turn": before_turn}, session_id)


def _describe(entry: Entry) -> str:  # noqa: C901 - one closed vocabulary
    match entry:
        case PromptEntry(text=text):
            return "\n".join(f"> {line}" for line in text.splitlines())
        case TextEntry(kind="thinking", text=text):
            return "\n".join(f"  {line}" for line in text.splitlines())
        case TextEntry(text=text):
            return text.strip()
        case ToolEntry():
            return _describe_tool(entry)
        case NoticeEntry(notice=notice):
            return f"! {notice.title} {notice.hint}".rstrip()
        case UndoEntry(purpose=purpose, outcomes=outcomes):
            return "\n".join([f"{purpose}:", *(f"  {describe_outcome(outcome)}" for outcome in outcomes)])
        case RewindEntry(turn=turn, scope=scope):
            return f"— back to before turn {turn}: {scope} —"
        case CompactionEntry(through_turn=turn, is_undone=is_undone):
            return f"— summarised up to turn {turn}{', taken back' if is_undone else ''} —"
        case CommandEntry(text=text, output=output):
            return f"{text}\n{output}".strip()
        case ForkEntry(source=source, title=title):
            return f"— a copy of {source} “{title}” up to here —"
        case PageEntry():
            return ""
        case TurnEndEntry(turn=turn, reason=reason):
            return f"— turn {turn} ended: {reason} —"


def _describe_tool(entry: ToolEntry) -> str:
    marks = {"started": "…", "completed": "✓", "failed": "✗"}
    lines = [f"{marks[entry.state]} {entry.call.name} {on_one_line(entry.title)}"]
    if entry.result is not None and entry.result.is_error:
        lines.append(f"  {entry.result.content.strip().splitlines()[0] if entry.result.content.strip() else ''}")
    lines += [f"  {c.kind} {on_one_line(c.path)} +{c.added} -{c.removed} ({c.id})" for c in entry.changes]
    return "\n".join(lines)


def _as_json(summary: SessionSummary) -> JsonObject:
    return {
        "id": summary.id,
        "title": summary.title,
        "workspace": summary.workspace,
        "created_at": summary.created_at.isoformat(),
        "updated_at": summary.updated_at.isoformat(),
        "active_at": summary.active_at.isoformat(),
        "state": summary.state,
        "turns": summary.turns,
        "size_bytes": summary.size_bytes,
        "usage": encode(summary.usage),
        "is_title_given": summary.is_title_given,
        "is_pinned": summary.is_pinned,
        "is_archived": summary.is_archived,
        "forked_from": summary.forked_from or None,
        "purpose": summary.purpose,
    }


def _when(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
