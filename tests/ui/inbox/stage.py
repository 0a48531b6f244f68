from datetime import UTC, datetime, timedelta

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ApprovalRequest, ModelRef, ToolCall
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.inbox import InboxItem, InboxSession, items_of

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
MODEL = ModelRef(provider="anthropic", model="claude-sonnet-5-5")


def at(minutes: int) -> datetime:
    return NOW + timedelta(minutes=minutes)


def asking(command: str | None = "touch made.txt", *, call_id: str = "c1", title: str = "touch") -> ApprovalRequest:
    return ApprovalRequest(
        call_id=call_id,
        tool="run_terminal_cmd",
        title=title,
        reason="Asks because `touch` writes.",
        arguments_digest="0" * 64,
        command=command,
        confinement="In the sandbox: may write this folder, no network",
    )


def session(session_id: str = "s1", prompt: str = "Make a file") -> Transcript:
    transcript = Transcript()
    transcript.apply(
        ev.SessionOpened(
            seq=1,
            at=at(0),
            session_id=session_id,
            workspace="/srv/project",
            model=MODEL,
            approval="on_write",
            app_version="1",
        )
    )
    transcript.apply(ev.PromptSubmitted(seq=2, at=at(0), turn=1, prompt_id="p1", text=prompt))
    transcript.apply(ev.TurnStarted(seq=3, at=at(0), turn=1, model=MODEL))
    return transcript


def ask(transcript: Transcript, request: ApprovalRequest, minute: int = 1) -> None:
    call = ToolCall(id=request.call_id, name=request.tool, arguments={})
    transcript.apply(
        ev.ToolCallStarted(
            seq=4, at=at(minute), turn=1, call=call, title="", source="workspace", capabilities=(), is_read_only=False
        )
    )
    transcript.apply(ev.ApprovalRequested(seq=5, at=at(minute), turn=1, request=request))


def end(transcript: Transcript, reason: ev.TurnEndReason = "completed", minute: int = 2) -> None:
    transcript.apply(
        ev.TurnEnded(seq=9, at=at(minute), turn=transcript.turn, reason=reason, requests=1, duration_s=1.0)
    )


def item(request: ApprovalRequest, session_id: str = "s1", prompt: str = "Make a file") -> InboxItem:
    transcript = session(session_id, prompt)
    ask(transcript, request)
    return items_of([InboxSession(transcript)], (), {})[0]


def ended(session_id: str = "s1", reason: ev.TurnEndReason = "completed") -> InboxItem:
    transcript = session(session_id)
    end(transcript, reason)
    return items_of([InboxSession(transcript)], (), {session_id: 0})[0]
