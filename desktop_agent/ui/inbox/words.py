"""What is said of something that waits: on its row, to a screen reader, in a notification of the desktop."""

import json

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import ApprovalRequest
from desktop_agent.ui.inbox.items import InboxItem
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.wording.model_words import one_line

_MOST_TITLE_CHARS = 80
_MOST_CHARS = 300


def _tr(text: str) -> str:
    return QCoreApplication.translate("Inbox", text)


def title(item: InboxItem) -> str:
    """Return the title of the session on one line, or a stand-in while there is none."""
    words = " ".join(named(item.title).split())
    cut = words if len(words) <= _MOST_TITLE_CHARS else f"{words[:_MOST_TITLE_CHARS]}…"
    return cut or _tr("New session")


def kind(item: InboxItem) -> str:
    """Say what kind of thing waits, without a word of the model, a server or a file."""
    if item.request is not None:
        return _asked(item.request)
    if item.kind == "questions":
        return plural("Inbox", item.asks, "%n question waits", "%n questions wait")
    match item.end:
        case "completed":
            return _tr("The agent has finished")
        case "interrupted":
            return _tr("The turn was stopped")
        case "max_turns" | "limit":
            return _tr("The turn ended at a limit")
        case "refused":
            return _tr("The model refused")
        case _:
            return _tr("The turn failed")


def subject(item: InboxItem) -> str:
    """Return what exactly is asked, on one line; empty where `kind` says it all."""
    request = item.request
    if request is None or request.spending is not None:
        return ""
    if request.question is not None:
        return cut(one_line(request.question.message))
    if request.command is not None:
        return cut(one_line(request.command))
    called = json.dumps(request.arguments, ensure_ascii=False) if request.arguments else ""
    return cut(one_line(f"{core_words(request.title)} {called}".rstrip()))


def note(item: InboxItem) -> str:
    """Say what else decides about a question that can be allowed on its row."""
    request = item.request
    if request is None or not item.can_allow:
        return ""
    return cut(
        " · ".join(
            filter(None, map(one_line, (core_words(request.reason).rstrip("."), core_words(request.confinement))))
        )
    )


def cut(text: str) -> str:
    """Return as much of a text as a row has room for."""
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"


def _asked(request: ApprovalRequest) -> str:
    if request.spending is not None:
        return _tr("A limit of spending is reached")
    if (question := request.question) is not None:
        if question.sampling is not None:
            return _tr("A server wants to ask the model")
        return _tr("A server wants you to visit a page") if question.address else _tr("A server has a question")
    if request.is_escalation:
        return _tr("Wants to run a command outside the sandbox")
    if request.command is not None:
        return _tr("Wants to run a command")
    return _tr("Wants to change files") if request.changes else _tr("Wants to use a tool")
