"""`desktop-agent sessions show`: what was said and done in one session."""

import argparse

from desktop_agent.cli.console import Console
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.plain_text import cost_text, on_one_line
from desktop_agent.core.context.history import History
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode, encode_event, encode_message
from desktop_agent.core.protocol.model import JsonObject, Usage
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.transcript import (
    CompactionEntry,
    Entry,
    NoticeEntry,
    PageEntry,
    SpendingEntry,
    TextEntry,
    ToolEntry,
    UndoEntry,
    explanation_of,
    how_it_ended,
    replay,
    spending_line,
)
from desktop_agent.core.undo.refusals import describe_outcome


def main(args: argparse.Namespace, console: Console) -> int:
    """Print the session and return the exit code."""
    catalog = Catalog.of(AppPaths.from_environment())
    session_id = catalog.find(args.id)
    events, damages = read_journal(catalog.journal_path(session_id), catalog.blobs)
    for damage in damages:
        console.say(f"warning: line {damage.line} could not be read: {damage.reason}")
    transcript = replay(events)
    history = History()
    for event in events:
        history.fold.apply(event)
    document: JsonObject = {
        "id": session_id,
        "title": transcript.session.title,
        "workspace": transcript.session.workspace,
        "model": transcript.session.model.model if transcript.session.model else None,
        "provider": transcript.session.model.provider if transcript.session.model else None,
        "turns": transcript.turn,
        "usage": encode(transcript.turns.usage),
        "messages": [encode_message(message) for message in history.messages()],
        "events": [encode_event(event) for event in events],
    }
    heading = f"{on_one_line(transcript.session.title)}\n{session_id} · {on_one_line(transcript.session.workspace)}\n"
    if used := _used(transcript.turns.usage):
        heading += f"{used}\n"
    console.result(document, heading + "\n" + "\n\n".join(map(_describe, transcript.entries)))
    return 0


def _used(usage: Usage) -> str:
    """What it took and cost; nothing before the first answer."""
    if not usage.context_tokens:
        return ""
    cost = cost_text(usage.cost_usd, is_partial=usage.is_cost_partial) or "cost not known"
    return f"{cost} · {usage.all_input_tokens:,} tokens read, {usage.output_tokens:,} written"


def _describe(entry: Entry) -> str:  # noqa: C901 - one closed vocabulary
    match entry:
        case ev.PromptSubmitted(text=text) | ev.Steered(text=text):
            return "\n".join(f"> {line}" for line in text.splitlines())
        case TextEntry(kind="thinking", text=text):
            return "\n".join(f"  {line}" for line in text.splitlines())
        case TextEntry(text=text):
            return text.strip()
        case ToolEntry():
            return _describe_tool(entry)
        case NoticeEntry(notice=notice):
            return f"! {notice.title} {notice.hint}".rstrip()
        case SpendingEntry():
            return f"! {spending_line(entry)}"
        case UndoEntry(purpose=purpose, outcomes=outcomes):
            return "\n".join([f"{purpose}:", *(f"  {describe_outcome(outcome)}" for outcome in outcomes)])
        case ev.Rewound(turn=turn, scope=scope):
            return f"— back to before turn {turn}: {scope} —"
        case CompactionEntry(event=event, is_undone=is_undone):
            return f"— summarised up to turn {event.through_turn}{', taken back' if is_undone else ''} —"
        case ev.CommandRun(text=text, output=output):
            return f"{text}\n{output}".strip()
        case ev.SessionForked(source=source, title=title):
            return f"— a copy of {source} “{title}” up to here —"
        case PageEntry():
            return ""
        case ev.TurnEnded(turn=turn):
            return f"— turn {turn} ended: {how_it_ended(entry)} —"


def _describe_tool(entry: ToolEntry) -> str:
    marks = {"started": "…", "completed": "✓", "failed": "✗"}
    lines = [f"{marks[entry.state]} {entry.call.name} {on_one_line(entry.title)}"]
    if explained := explanation_of(entry.call):
        lines.append(f"  {on_one_line(explained)}")
    if entry.result is not None and entry.result.is_error:
        lines.append(f"  {entry.result.content.strip().splitlines()[0] if entry.result.content.strip() else ''}")
    lines += [f"  {c.kind} {on_one_line(c.path)} +{c.added} -{c.removed} ({c.id})" for c in entry.changes]
    return "\n".join(lines)
