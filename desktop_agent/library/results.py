"""The result of a turn, made from its events, the errors that its notices report, and the form of the final answer."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar, cast

from msgspec import Struct
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
from desktop_agent.core.base.plain_text import on_one_line
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import refuse_constant
from desktop_agent.core.protocol.events import TurnEnded
from desktop_agent.core.protocol.model import FileChange, Usage
from desktop_agent.core.session.failure_notices import (
    NO_ACCOUNT,
    NOT_FETCHED,
    NOT_SIGNED_IN,
    SIGNED_OUT,
    UNSAFE_SETTINGS,
)
from desktop_agent.core.tools.function_tool import adapter_of, first_mistake
from desktop_agent.core.transcript import TextEntry, Transcript
from desktop_agent.core.transcript.entries import readable

T = TypeVar("T")

FAILURES: frozenset[ev.TurnEndReason] = frozenset(
    {"provider_error", "storage_error", "workspace_error", "internal_error"}
)
"""Failures, which `run` raises. All other reasons are outcomes in the result."""


class NothingSelectedError(UsageError):
    """There is nothing to undo or redo in the selection."""


_KINDS: dict[str, type[AgentError]] = {
    "storage": StorageError, "no_key": CredentialsError, SIGNED_OUT: CredentialsError, NO_ACCOUNT: AccountGoneError,
    NOT_SIGNED_IN: CredentialsError, "workspace": WorkspaceError, "not_undone": WorkspaceError,
    "not_redone": WorkspaceError, "busy": UsageError,
    NOT_FETCHED: UsageError, "nothing_selected": NothingSelectedError, "unclear_selection": UsageError,
}  # fmt: skip


class Result(Struct, frozen=True, kw_only=True):
    """One finished turn."""

    session_id: SessionId
    turn: int
    reason: ev.TurnEndReason
    """Why the turn ended: `completed`, `interrupted`, `approval_required`, `max_turns` …"""
    text: str
    """The model's text in all messages of the turn."""
    changes: tuple[FileChange, ...]
    calls: tuple[ev.ToolCallFinished, ...]
    """In the order in which they finished."""
    usage: Usage
    requests: int
    problems: tuple[ev.Notice, ...]

    @property
    def is_completed(self) -> bool:
        return self.reason == "completed"

    @property
    def edited_files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(change.path for change in self.changes))


class StructuredResult(Result, Generic[T], frozen=True, kw_only=True):
    """The result of a prompt for which `run` got an `output`. It combines all turns for the prompt."""

    output: T


class RunFailedError(AgentError):
    """The model, the disk or the folder failed in a turn. `result` covers the turn up to the failure."""

    def __init__(self, result: Result) -> None:
        last = next((notice for notice in reversed(result.problems) if notice.level == "error"), None)
        super().__init__(
            last.title if last else f"The turn ended with {result.reason}.",
            hint=last.hint if last else "The log has the details.",
            detail=last.detail if last else "",
        )
        self.result = result


class InvalidOutputError(RunFailedError):
    """The final answer does not have the requested form. `result` has the model's text."""

    def __init__(self, result: Result, mistake: str) -> None:
        super().__init__(result)
        title = f"The final answer is not what was asked for: {mistake}."
        AgentError.__init__(self, title, hint="Ask again, say more of what is wanted, or take another model.")


def combined(results: Sequence[Result]) -> Result:
    """Combine several turns, with the reason and the answer of the last one."""
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


def result_of(session_id: SessionId, ended: ev.TurnEnded, heard: Sequence[ev.Event]) -> Result:
    """Return the result of a turn. `heard` are the events since its prompt."""
    messages = [event for event in heard if isinstance(event, ev.MessageDone)]
    texts = [text.strip() for message in messages for kind, text in readable(message.content) if kind == "text"]
    changes = (change for event in heard if isinstance(event, ev.ChangesRecorded) for change in event.changes)
    return Result(
        session_id=session_id,
        turn=ended.turn,
        reason=ended.reason,
        text="\n".join(filter(None, texts)),
        changes=tuple(change for change in changes if change.is_by_agent),
        calls=tuple(event for event in heard if isinstance(event, ev.ToolCallFinished)),
        usage=sum((event.usage for event in heard if isinstance(event, ev.UsageReported)), Usage()),
        requests=ended.requests,
        problems=tuple(event for event in heard if isinstance(event, ev.Notice) and event.level != "info"),
    )


def error_of(notice: ev.Notice) -> AgentError:
    if notice.code == UNSAFE_SETTINGS:
        return UnsafeSettingsError(notice.detail.splitlines())
    return _KINDS.get(notice.code, AgentError)(notice.title, hint=notice.hint, detail=notice.detail)


_FENCE = regex(r"```(?:json)?[ \t]*\n(.*?)\n?```", re.DOTALL)
_LONGEST_MISTAKE = 500

E = TypeVar("E", TurnEnded, Result)


class OutputSchema:
    corrections = 2

    def __init__(self, schema: Mapping[str, object], read: Callable[[object], object] | None = None) -> None:
        """`read` converts a valid value into the caller's type. Raises `UsageError` for an invalid schema."""
        from desktop_agent.core.base.json_schema import SchemaCheck

        self._schema = schema
        try:
            self._check = SchemaCheck(schema)
        except ValueError as error:
            raise UsageError("The output schema is no JSON Schema.", detail=str(error)) from error
        self._read = read

    @classmethod
    def of(cls, wanted: object) -> "OutputSchema":
        """Return the schema for a type, or for a JSON Schema. Blocks. Raises `TypeError` and `UsageError`."""
        if isinstance(wanted, Mapping):
            return cls(cast("Mapping[str, object]", wanted))
        adapter = adapter_of(wanted)
        return cls(adapter.json_schema(), adapter.validate_python)

    @classmethod
    def read(cls, path: Path) -> "OutputSchema":
        """Return the schema in a file. Blocks. Raises `UsageError`."""
        try:
            schema: object = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(f"The output schema {path} cannot be read: {error}.") from error
        if not isinstance(schema, dict):
            raise UsageError(f"The output schema {path} is no JSON object.")
        return cls(cast("dict[str, object]", schema))

    @property
    def instructions(self) -> str:
        shown = json.dumps(self._schema, ensure_ascii=False)
        return (
            "## Final answer\nYour last message is read by a program. It must be one JSON value and nothing else: no "
            f"words around it, no code fence. It must be valid by this JSON Schema:\n{shown}"
        )

    async def correct(self, transcript: Transcript, ends: list[E], ask: Callable[[str], Awaitable[E]]) -> str:
        """Ask the model again while its last answer is invalid; return the remaining mistake.

        `ask` runs one more turn, whose end is appended to `ends`.
        """
        for attempt in range(self.corrections + 1):
            last = ends[-1]
            if last.reason != "completed":
                return f"the turn ended with {last.reason}"
            mistake = self.mistake_in(transcript, last.turn)
            if not mistake or attempt == self.corrections:
                return mistake
            words = f"Your last message is not valid: {mistake}. Answer with the corrected JSON value and nothing else."
            ends.append(await ask(words))
        raise AssertionError("there is at least one attempt")

    def mistake_in(self, transcript: Transcript, turn: int) -> str:
        """Return in one line what is wrong with the last answer of a turn; empty if it is valid."""
        try:
            value = _json_in(transcript, turn)
        except (ValueError, RecursionError) as error:
            return f"it is no JSON value ({error})"
        try:
            mistake = self._check.mistake_in(value, "the value")
        except ValueError as error:
            mistake = str(error)
        if not mistake and self._read is not None:
            mistake = first_mistake(self._read, value)
        return on_one_line(mistake[:_LONGEST_MISTAKE])

    def value_in(self, transcript: Transcript, turn: int) -> object:
        value = _json_in(transcript, turn)
        return value if self._read is None else self._read(value)


def _json_in(transcript: Transcript, turn: int) -> object:
    entries = (entry for entry in transcript.entries if isinstance(entry, TextEntry) and entry.turn == turn)
    texts = [entry.text for entry in entries if entry.kind == "text"]
    text = texts[-1].strip() if texts else ""
    fenced = _FENCE.fullmatch(text)
    return json.loads(fenced.group(1) if fenced else text, parse_constant=refuse_constant)
