"""`desktop-agent sessions list`, `show` and `verify`: stored sessions, read without being opened."""

import argparse
from collections.abc import Sequence
from operator import attrgetter

from msgspec.structs import asdict

from desktop_agent.cli.console import Console, size_text, table
from desktop_agent.core.agents.installed import way_back
from desktop_agent.core.base.errors import SessionBusyError, SessionNotFoundError, UsageError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import cost_text, number_of, on_one_line
from desktop_agent.core.context.history import History
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode, encode_event, encode_message, picked
from desktop_agent.core.protocol.model import JsonObject, SessionSummary, Usage
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.verify import Finding, Repaired, Report, repair, verify
from desktop_agent.core.transcript import (
    CompactionEntry,
    Entry,
    HookEntry,
    NoticeEntry,
    PageEntry,
    SpendingEntry,
    TextEntry,
    ToolEntry,
    UndoEntry,
    explanation_of,
    hook_line,
    how_it_ended,
    replay,
    spending_line,
)
from desktop_agent.core.undo.refusals import describe_outcome


def list_sessions(args: argparse.Namespace, console: Console) -> None:
    """List the sessions of one folder, or of all. Archived ones, manual calls and sub-agents only on request."""
    known = SessionCatalog.of(AppPaths.from_environment()).summaries()
    summaries = [item for item in known if args.all or _is_wanted(item, is_archived=args.archived)]
    if args.workspace is not None:
        folder = real_path(args.workspace.expanduser())
        summaries = [item for item in summaries if item.workspace == str(folder)]
        if not summaries and not folder.is_dir():  # a workspace that was removed may still have sessions
            raise UsageError(f"There is no folder {folder}, and no session of one.")
    summaries.sort(key=attrgetter("is_pinned"), reverse=True)  # the others keep their order
    rows = [
        (
            item.id,
            f"{item.active_at.astimezone():%Y-%m-%d %H:%M}",
            number_of(item.turns, "turn"),
            size_text(item.size_bytes),
            cost_text(item.usage.cost_usd, is_partial=item.usage.is_cost_partial),
            _marks(item),
            item.title or "(no prompt yet)",
            item.workspace,
        )
        for item in summaries
    ]
    text = table(rows, right=(2, 3, 4)) or "There are no sessions yet."
    console.result({"sessions": [_summary_document(item) for item in summaries]}, text)


def _is_wanted(summary: SessionSummary, *, is_archived: bool) -> bool:
    return summary.is_archived if is_archived else summary.is_listed and not summary.is_archived


def _marks(summary: SessionSummary) -> str:
    marks = [("pinned", summary.is_pinned), ("archived", summary.is_archived), (summary.state, summary.state != "idle")]
    if summary.task is not None:
        marks.append((f"sub-agent of {summary.task.session_id}", True))
    if summary.worktree is not None:
        marks.append((f"worktree {summary.worktree.name}", True))
    return ", ".join(mark for mark, is_set in marks if is_set)


def _summary_document(summary: SessionSummary) -> JsonObject:
    return {
        **picked(summary, "id", "title", "workspace"),
        **{name: getattr(summary, name).isoformat() for name in ("created_at", "updated_at", "active_at")},
        **picked(summary, "state", "turns", "size_bytes"),
        "usage": encode(summary.usage),
        **picked(summary, "is_title_given", "is_pinned", "is_archived"),
        "forked_from": summary.forked_from or None,
        "purpose": summary.purpose,
        "task": encode(summary.task) if summary.task is not None else None,
        "worktree": summary.worktree.name if summary.worktree is not None else None,
    }


def show_session(args: argparse.Namespace, console: Console) -> None:
    catalog = SessionCatalog.of(AppPaths.from_environment())
    session_id = catalog.find(args.id)
    events, damages = read_journal(catalog.journal_path(session_id), catalog.blobs)
    for damage in damages:
        console.say(f"warning: line {damage.line} could not be read: {damage.reason}")
    if unknown := sum(isinstance(event, ev.UnknownEvent) for event in events):
        newer = "written by a newer version, are not understood here and not shown"
        console.say(f"warning: {number_of(unknown, 'record')} of this session, {newer}.")
    transcript = replay(events)
    back = way_back(transcript.session.agent_sessions, transcript.session.workspace)
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
        "continued_by": back.command if back is not None else None,
        "messages": [encode_message(message) for message in history.messages()],
        "events": [encode_event(event) for event in events],
    }
    heading = (
        f"{on_one_line(transcript.session.title)}\n{session_id} · {name_on_a_line(transcript.session.workspace)}\n"
    )
    if used := _used(transcript.turns.usage):
        heading += f"{used}\n"
    if back is not None:
        heading += f"goes on in {back.title}: {back.command}\n"
    console.result(document, heading + "\n" + "\n\n".join(map(_describe, transcript.entries)))


def _used(usage: Usage) -> str:
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
        case HookEntry():
            return f"— {on_one_line(hook_line(entry))} —"
        case SpendingEntry():
            return f"! {spending_line(entry)}"
        case UndoEntry(purpose=purpose, outcomes=outcomes):
            return "\n".join([f"{purpose}:", *(f"  {describe_outcome(outcome)}" for outcome in outcomes)])
        case ev.ChangesCommitted():
            return f"— committed {entry.commit[:12]}: {entry.subject} —"
        case ev.CommitUndone(commit=commit):
            return f"— the commit {commit[:12]} was undone —"
        case ev.Rewound(turn=turn, scope=scope):
            return f"— back to before turn {turn}: {scope} —"
        case CompactionEntry(event=event, is_undone=is_undone):
            return f"— summarised up to turn {event.through_turn}{', undone' if is_undone else ''} —"
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
    if entry.subagent is not None:
        lines.append(f"  in the session {entry.subagent.session_id}")
    if explained := explanation_of(entry.call):
        lines.append(f"  {on_one_line(explained)}")
    if entry.result is not None and entry.result.is_error:
        lines.append(f"  {entry.result.content.strip().splitlines()[0] if entry.result.content.strip() else ''}")
    lines += [f"  {c.kind} {name_on_a_line(c.path)} +{c.added} -{c.removed} ({c.id})" for c in entry.changes]
    return "\n".join(lines)


def verify_stored(args: argparse.Namespace, console: Console) -> int:
    catalog = SessionCatalog.of(AppPaths.from_environment())
    ids = catalog.ids() if args.id is None else [catalog.find(args.id)]
    return verify_sessions(catalog, ids, console, is_repairing=args.repair)


def verify_sessions(catalog: SessionCatalog, ids: Sequence[SessionId], console: Console, *, is_repairing: bool) -> int:
    """Verify these sessions, repair them if asked to, print the outcome, and return the exit code.

    The exit code is 0 if nothing is wrong, or no longer, otherwise 1. A session deleted meanwhile is left out; if it is
    the only one, this raises `SessionNotFoundError`.
    """
    documents: list[JsonObject] = []
    texts: list[str] = []
    is_fine = True
    for session_id in ids:
        try:
            done = _repaired(catalog, session_id) if is_repairing else None
            report = verify(catalog, session_id) if done is None else done.after
        except SessionNotFoundError:
            if len(ids) == 1:
                raise
            continue  # it was deleted while the ones before it were read, which can take minutes
        is_fine = is_fine and report.is_fine
        documents.append(_report_document(report, done))
        texts.append(_report_text(report, done, is_repairing=is_repairing))
    console.result({"sessions": documents}, "\n".join(texts) or "There are no sessions yet.")
    return 0 if is_fine else 1


def _repaired(catalog: SessionCatalog, session_id: SessionId) -> Repaired | None:
    try:
        return repair(catalog, session_id)
    except SessionBusyError:
        return None  # then it is only checked, and the output says so


def _report_document(report: Report, done: Repaired | None) -> JsonObject:
    return {
        "id": report.session_id,
        "is_fine": report.is_fine,
        "is_open_elsewhere": report.is_open_elsewhere,
        "records": report.records,
        "findings": [asdict(finding) for finding in report.findings],
        "repaired": [] if done is None else [asdict(finding) for finding in _gone(done)],
        "kept": None if done is None or done.kept is None else str(done.kept),
    }


def _report_text(report: Report, done: Repaired | None, *, is_repairing: bool) -> str:
    state = "fine" if report.is_fine else number_of(len(report.findings), "problem")
    lines = [f"{report.session_id}  {state}, {number_of(report.records, 'record')}"]
    if done is not None:
        lines += [f"  repaired: {_where(finding)}{finding.title}" for finding in _gone(done)]
        lines += [f"  The journal as it was: {done.kept}"] if done.kept is not None else []
    for finding in report.findings:
        lines.append(f"  {_where(finding)}{finding.title}{f' ({finding.detail})' if finding.detail else ''}")
        if finding.is_settled:
            lines.append("    Nothing has to be done.")
        elif done is not None or not finding.repair:
            lines.append("    It cannot be repaired.")
        else:
            lines.append(f"    --repair: {finding.repair}")
    if report.is_open_elsewhere:
        lines.append(
            "  It is open in another window or process" + (", so nothing was changed." if is_repairing else ".")
        )
    return "\n".join(lines)


def _gone(done: Repaired) -> list[Finding]:
    left = {(finding.code, finding.detail) for finding in done.after.findings}
    return [finding for finding in done.before.findings if (finding.code, finding.detail) not in left]


def _where(finding: Finding) -> str:
    return "" if finding.line is None else f"line {finding.line}: "
