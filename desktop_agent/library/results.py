"""What a turn came to: a fold of its events, and the errors that its notices tell of."""

from collections.abc import Sequence
from itertools import chain
from typing import Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from desktop_agent.core.base.errors import (
    AccountGoneError,
    AgentError,
    CredentialsError,
    StorageError,
    UnsafeSettingsError,
    UsageError,
    WorkspaceError,
)
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileChange, Usage
from desktop_agent.core.session.failure_notices import NO_ACCOUNT, NOT_FETCHED, SIGNED_OUT, UNSAFE_SETTINGS
from desktop_agent.core.transcript.entries import readable

T = TypeVar("T")

FAILURES: frozenset[ev.TurnEndReason] = frozenset(
    {"provider_error", "storage_error", "workspace_error", "internal_error"}
)
"""Reasons to end that are faults: `run` raises them. Every other one is an outcome, which the result tells."""

_KINDS: dict[str, type[AgentError]] = {
    "storage": StorageError,
    "no_key": CredentialsError,
    SIGNED_OUT: CredentialsError,
    NO_ACCOUNT: AccountGoneError,
    "workspace": WorkspaceError,
    "not_undone": WorkspaceError,
    "not_redone": WorkspaceError,
    "busy": UsageError,
    NOT_FETCHED: UsageError,
    "nothing_selected": UsageError,
    "unclear_selection": UsageError,
}


class Result(Struct, frozen=True, kw_only=True):
    """One finished turn."""

    session_id: SessionId
    turn: int
    """Its number in the session, from 1."""
    reason: ev.TurnEndReason
    """Why it ended: `completed`, `interrupted`, `approval_required`, `max_turns` …"""
    text: str
    """What the model said, all messages of the turn."""
    changes: tuple[FileChange, ...]
    """What the agent changed, in order."""
    calls: tuple[ev.ToolCallFinished, ...]
    """The calls of tools with their results, in the order in which they finished."""
    usage: Usage
    """Tokens of all requests of the turn."""
    requests: int
    """How many requests to the model it took."""
    problems: tuple[ev.Notice, ...]
    """Warnings and errors that the session reported meanwhile."""

    @property
    def is_completed(self) -> bool:
        return self.reason == "completed"

    @property
    def edited_files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(change.path for change in self.changes))


class StructuredResult(Result, Generic[T], frozen=True, kw_only=True):
    """A prompt whose answer is a value. Where the model was asked again for it, this is what all of that came to."""

    output: T


class RunFailedError(AgentError):
    """The model, the disk or the folder failed in a turn. `result` has what it came to until then."""

    def __init__(self, result: Result) -> None:
        last = next((notice for notice in reversed(result.problems) if notice.level == "error"), None)
        super().__init__(
            last.title if last else f"The turn ended with {result.reason}.",
            hint=last.hint if last else "The log has the details.",
            detail=last.detail if last else "",
        )
        self.result = result


class InvalidOutputError(RunFailedError):
    """The final answer is not what was asked for. `result` has what the model said."""

    def __init__(self, result: Result, mistake: str) -> None:
        super().__init__(result)
        title = f"The final answer is not what was asked for: {mistake}."
        AgentError.__init__(self, title, hint="Ask again, say more of what is wanted, or take another model.")


def combined(results: Sequence[Result]) -> Result:
    """Return what several turns came to, ended as the last one did and with its answer."""
    return replace(
        results[-1],
        changes=tuple(chain.from_iterable(each.changes for each in results)),
        calls=tuple(chain.from_iterable(each.calls for each in results)),
        usage=sum((each.usage for each in results), Usage()),
        requests=sum(each.requests for each in results),
        problems=tuple(chain.from_iterable(each.problems for each in results)),
    )


def with_output(result: Result, output: T) -> StructuredResult[T]:
    return StructuredResult(**asdict(result), output=output)


class ResultFold(Struct):
    session_id: SessionId
    turn: int = 0
    ended: ev.TurnEnded | None = None
    _texts: list[str] = field(default_factory=list[str])
    _changes: list[FileChange] = field(default_factory=list[FileChange])
    _calls: list[ev.ToolCallFinished] = field(default_factory=list[ev.ToolCallFinished])
    _usage: Usage = Usage()
    _problems: list[ev.Notice] = field(default_factory=list[ev.Notice])

    def apply(self, event: ev.Event) -> None:
        match event:
            case ev.MessageDone(content=content):
                self._texts.extend(text.strip() for kind, text in readable(content) if kind == "text")
            case ev.ChangesRecorded(changes=changes):
                self._changes.extend(change for change in changes if change.is_by_agent)
            case ev.ToolCallFinished():
                self._calls.append(event)
            case ev.UsageReported(usage=usage):
                self._usage += usage
            case ev.Notice(level=level) if level != "info":
                self._problems.append(event)
            case ev.TurnEnded(turn=turn) if turn == self.turn:
                self.ended = event
            case _:
                pass

    def result(self) -> Result:
        assert self.ended is not None
        return Result(
            session_id=self.session_id,
            turn=self.turn,
            reason=self.ended.reason,
            text="\n".join(text for text in self._texts if text),
            changes=tuple(self._changes),
            calls=tuple(self._calls),
            usage=self._usage,
            requests=self.ended.requests,
            problems=tuple(self._problems),
        )


def error_of(notice: ev.Notice) -> AgentError:
    if notice.code == UNSAFE_SETTINGS:
        return UnsafeSettingsError(notice.detail.splitlines())
    return _KINDS.get(notice.code, AgentError)(notice.title, hint=notice.hint, detail=notice.detail)
