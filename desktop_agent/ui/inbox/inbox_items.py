"""The items of the inbox, computed from the transcripts of open sessions, and the text for each item."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.events import TurnEndReason
from desktop_agent.core.protocol.model import ApprovalRequest, SessionSummary
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.translation.core_words import core_words, plural
from desktop_agent.ui.wording.visible_text import one_line

_tr = partial(QCoreApplication.translate, "Inbox")

ItemKind = Literal["question", "questions", "ended"]
"""What an item is: a question of an open session, all questions of a closed one, or a turn that ended unseen."""

ItemKey = tuple[SessionId, str]
"""A session, and the call that a question is about or else the kind of the item."""


class InboxItem(Struct, frozen=True, kw_only=True):
    kind: ItemKind
    session_id: SessionId
    title: str
    """The session's title; empty while it has none."""
    workspace: str
    since: datetime
    turn: int = 0
    request: ApprovalRequest | None = None
    asks: int = 1
    end: TurnEndReason = "completed"
    can_answer: bool = False
    """Whether the question can be answered here. It cannot while another process has the session open."""

    @property
    def key(self) -> ItemKey:
        return self.session_id, self.request.call_id if self.request is not None else self.kind

    @property
    def waits(self) -> bool:
        return self.kind != "ended"

    @property
    def can_deny(self) -> bool:
        request = self.request
        return self.can_answer and request is not None and request.question is None and request.spending is None


class InboxSession(Struct, frozen=True):
    transcript: Transcript
    is_read_only: bool = False


def items_of(
    opened: Iterable[InboxSession], listed: Iterable[SessionSummary], seen: Mapping[SessionId, int]
) -> list[InboxItem]:
    """Return questions, oldest first, then ended turns. `seen` maps a session to the last turn seen to end."""
    sessions = [session for session in opened if session.transcript.session.session_id]
    known = {session.transcript.session.session_id for session in sessions}
    questions = [item for session in sessions for item in _questions(session)]
    questions += [
        InboxItem(
            kind="questions",
            session_id=one.id,
            title=one.title,
            workspace=one.workspace,
            since=one.active_at,
            asks=one.asks,
        )
        for one in listed
        if one.asks and one.id not in known and not one.is_archived and one.task is None
    ]
    ended = [item for session in sessions if (item := _end(session, seen)) is not None]
    since = attrgetter("since")
    return sorted(questions, key=since) + sorted(ended, key=since, reverse=True)


def _about(transcript: Transcript, kind: ItemKind, since: datetime | None) -> InboxItem:
    info = transcript.session
    return InboxItem(
        kind=kind,
        session_id=info.session_id,
        title=info.title,
        workspace=info.workspace,
        since=since or info.updated_at,
        turn=transcript.turns.turn,
    )


def _questions(session: InboxSession) -> list[InboxItem]:
    transcript, can_answer = session.transcript, not session.is_read_only
    asked = [(request, transcript.turns.asked_at.get(request.call_id)) for request in transcript.pending_approvals]
    items = [(request, _about(transcript, "question", since)) for request, since in asked]
    return [replace(item, request=request, can_answer=can_answer) for request, item in items]


def _end(session: InboxSession, seen: Mapping[SessionId, int]) -> InboxItem | None:
    info, turns = session.transcript.session, session.transcript.turns
    if session.is_read_only or turns.is_running or turns.last_end is None:
        return None
    if turns.turn <= seen.get(info.session_id, turns.turn):
        return None
    return replace(_about(session.transcript, "ended", turns.ended_at), end=turns.last_end)


_MOST_TITLE_CHARS = 80
_MOST_CHARS = 300


def title(item: InboxItem) -> str:
    words = " ".join(named(item.title).split())
    cut = words if len(words) <= _MOST_TITLE_CHARS else f"{words[:_MOST_TITLE_CHARS]}…"
    return cut or _tr("New session")


def kind(item: InboxItem) -> str:
    """Return the kind of item, without text from the model, a server or a file."""
    if item.request is not None:
        if item.request.spending is not None:
            return _tr("A spending limit is reached")
        if (question := item.request.question) is not None:
            if question.sampling is not None:
                return _tr("A server wants to ask the model")
            return _tr("A server wants you to visit a page") if question.address else _tr("A server has a question")
        if item.request.is_escalation:
            return _tr("Wants to run a command outside the sandbox")
        if item.request.command is not None:
            return _tr("Wants to run a command")
        return _tr("Wants to change files") if item.request.changes else _tr("Wants to use a tool")
    if item.kind == "questions":
        return plural("Inbox", item.asks, "%n question waiting", "%n questions waiting")
    limit = _tr("The turn ended at a limit")
    words: dict[str, str] = {
        "completed": _tr("The agent has finished"),
        "interrupted": _tr("The turn was stopped"),
        "max_turns": limit,
        "limit": limit,
        "refused": _tr("The model refused"),
        "hook": _tr("A hook ended the turn"),
    }
    return words.get(item.end, _tr("The turn failed"))


def subject(item: InboxItem) -> str:
    """Return the exact subject of a question on one line, and whose it is; empty if `kind` says everything."""
    request = item.request
    if request is None or request.spending is not None:
        return ""
    asks = f"{cut(one_line(request.subagent))}: " if request.subagent else ""
    return f"{asks}{_subject(request)}"


def _subject(request: ApprovalRequest) -> str:
    if request.question is not None:
        return cut(one_line(request.question.message))
    if request.command is not None:
        return cut(one_line(request.command))
    called = json.dumps(request.arguments, ensure_ascii=False) if request.arguments else ""
    return cut(one_line(f"{core_words(request.title)} {called}".rstrip()))


def note(item: InboxItem) -> str:
    """Return why the question cannot be answered here; empty if it can, or if that is not known."""
    if item.kind != "question" or item.can_answer:
        return ""
    return _tr("The session is open in another window. Answer the question there")


def gone(item: InboxItem, outcome: str) -> str:
    """Return what became of a question that was not answered here. `outcome` is that of its decision, if any."""
    words = {"allowed": _tr("Allowed elsewhere: {0}"), "denied": _tr("Denied elsewhere: {0}")}
    return words.get(outcome, _tr("No longer waiting: {0}")).format(title(item))


def busy(item: InboxItem) -> str:
    return _tr("Open in another window; answer it there: {0}").format(title(item))


def cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
