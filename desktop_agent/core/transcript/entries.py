"""The entries of a transcript, which a user reads in order, and the contribution of a single event. Pure."""

import json
from collections.abc import Iterator, Sequence
from copy import copy
from datetime import datetime
from typing import Literal, Self, cast, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId, ChangeId, HunkKey, PromptId
from desktop_agent.core.base.plain_text import money, number_of, shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import TurnEnded
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ApprovalRequest,
    AssistantBlock,
    Attachment,
    Decision,
    Denied,
    FileChange,
    FileOutcome,
    JsonObject,
    OpaqueBlock,
    OutsideFile,
    RefChange,
    Summary,
    TextBlock,
    ThinkingBlock,
    TodoItem,
    TodoStatus,
    ToolCall,
    ToolResult,
    ToolState,
    Uncaptured,
    Usage,
)

_CONTAINERS = (dict, list, set)


class Fold(Struct):
    def copy(self) -> Self:
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return replace(self, **{name: copy(value) for name, value in values if type(value) in _CONTAINERS})


class TextEntry(Struct, kw_only=True):
    """Markdown the model wrote, or its thinking. Grows while `is_open`."""

    turn: int
    chunks: list[str]
    is_open: bool
    kind: Literal["text", "thinking"]
    is_final: bool = False
    """Whether the text ends an answer that calls no tools."""

    @property
    def text(self) -> str:
        if len(self.chunks) > 1:
            self.chunks[:] = ["".join(self.chunks)]
        return self.chunks[0] if self.chunks else ""


class ToolEntry(Struct, kw_only=True):
    turn: int
    call: ToolCall
    title: str
    is_read_only: bool
    started_at: datetime
    state: ToolState = "started"
    output_tail: str = ""
    output_chars: int = 0
    """How many characters the call has put out so far, including those cut from `output_tail`."""
    result: ToolResult | None = None
    duration_s: float | None = None
    approval: ApprovalRequest | None = None
    """The question to the user; set while the call waits for the answer."""
    decision: Decision | None = None
    judged: ev.CommandJudged | None = None
    """The judgement of the command as the user has edited it, while the call waits."""
    asked_command: str | None = None
    """The command as the model wrote it, if the user was asked about one."""
    permission: tuple[ApprovalRequest | None, Decision | None] = (None, None)
    """The question and answer that allowed the call, kept while its server or sub-agent asks something else."""
    unanswered: tuple[ApprovalRequest, Aborted] | None = None
    """The last unanswered question about the call, or of its server or sub-agent."""
    waiting_since: datetime | None = None
    waited_s: float = 0.0
    changes: tuple[FileChange, ...] = ()
    uncaptured: tuple[Uncaptured, ...] = ()
    refs: tuple[RefChange, ...] = ()
    outside: tuple[OutsideFile, ...] = ()
    """Destroyed files outside the workspace, or of git's own."""
    is_recoverable: bool = False
    """Whether there is a safety copy of something that the call destroyed."""
    is_recovered: bool = False
    subagent: ev.SubagentStarted | None = None
    """The sub-agent that carries out the call."""
    usage: Usage = field(default_factory=Usage)
    """What its sub-agent has used."""
    progress: str = ""
    """What the call does now, if it says so."""

    @property
    def is_waiting(self) -> bool:
        return self.approval is not None and self.decision is None

    @property
    def edited_command(self) -> str | None:
        if self.approval is None or not isinstance(self.decision, Allowed):
            return None
        command = self.decision.edited_command or self.approval.command
        return command if command != self.asked_command else None

    def ask(self, request: ApprovalRequest, at: datetime) -> None:
        if request.is_from_running_call:
            self.permission = self.approval, self.decision
        self.approval, self.decision, self.judged = request, None, None
        self.waiting_since = at
        if self.asked_command is None:
            self.asked_command = request.command

    def resolve(self, decision: Decision, at: datetime) -> None:
        self.decision, self.judged = decision, None
        if self.approval is not None and isinstance(decision, Aborted):
            self.unanswered = self.approval, decision
        if self.approval is not None and self.approval.is_from_running_call:
            self.approval, self.decision = self.permission
        if self.waiting_since is not None:
            self.waited_s += max(0.0, (at - self.waiting_since).total_seconds())
        self.waiting_since = None

    def record(self, event: ev.ChangesRecorded) -> None:
        self.changes += event.changes
        self.uncaptured += event.uncaptured
        self.refs += event.refs
        self.outside += event.outside
        self.is_recoverable = self.is_recoverable or event.is_recoverable


class SpendingEntry(Struct, kw_only=True):
    """The question whether the session may spend more than a limit, and the user's answer."""

    turn: int
    request: ApprovalRequest
    decision: Decision | None = None

    @property
    def is_waiting(self) -> bool:
        return self.decision is None


class NoticeEntry(Struct, kw_only=True):
    notice: ev.Notice
    is_waiting: bool = False
    """Whether the session is in the announced wait before a retry. The user can skip it."""
    wait_s: float = 0.0


def said_in(event: ev.AgentSessionOpened) -> str:
    """Return what was said in an agent's own program, as a text."""
    name = event.name or event.agent
    said = ((("The user", one.prompt), (name, one.answer)) for one in event.said)
    return "\n\n".join(f"{who}:\n{text}" for pair in said for who, text in pair if text)


class HookEntry(Struct, kw_only=True):
    """Runs of hooks with nothing else between them."""

    runs: tuple[ev.HookRan, ...]

    @property
    def telling(self) -> ev.HookRan | None:
        """The first run that decided, failed, or has a message for the user."""
        return next((run for run in self.runs if run.decision or run.message or run.state != "completed"), None)


def hook_line(entry: HookEntry) -> str:
    """Return in one line which hooks ran, and the first that decided or failed."""
    ran = f"{number_of(len(entry.runs), 'hook')} ran: {', '.join(dict.fromkeys(run.moment for run in entry.runs))}"
    run = entry.telling
    return f"{ran}; {run.decision or run.state} {run.reason or run.message}".strip() if run is not None else ran


class UndoEntry(Struct, kw_only=True):
    purpose: Literal["undo", "redo"]
    outcomes: tuple[FileOutcome, ...]
    at: datetime
    reason: str = ""
    refs: tuple[RefChange, ...] = ()
    outside: tuple[OutsideFile, ...] = ()
    brings_back: bool = False
    """Whether what it redid was offered from a worktree."""


class CompactionEntry(Struct, kw_only=True):
    """Marks that everything above is summarised for the model."""

    event: ev.Compacted
    summary: Summary
    is_undone: bool = False
    is_in_force: bool = True


class PageEntry(Struct, kw_only=True):
    """A placeholder for entries that are not loaded. `Transcript.pages` says where they are."""

    number: int
    entries: int
    characters: int
    """How many characters the unfolded entries show, to estimate their height."""


Entry = (
    PageEntry
    | ev.PromptSubmitted
    | ev.Steered
    | TextEntry
    | ToolEntry
    | SpendingEntry
    | NoticeEntry
    | HookEntry
    | UndoEntry
    | ev.ChangesCommitted
    | ev.CommitUndone
    | ev.Rewound
    | CompactionEntry
    | ev.CommandRun
    | ev.SessionForked
    | ev.TurnEnded
)
"""If an entry shows nothing beyond its event, the event itself is the entry."""


class ChangeRecord(Struct):
    change: FileChange
    turn: int
    call_id: CallId
    at: datetime
    is_undone: bool = False
    undone_hunks: frozenset[HunkKey] = frozenset()
    """The undone hunks of a change that is otherwise in force."""
    tool: str = ""
    seq: int = 0
    is_offered: bool = False
    """Whether it was made in a worktree, and can be brought back by a redo."""


class Destroyed(Struct):
    changes: tuple[ChangeId, ...] = ()
    refs: tuple[RefChange, ...] = ()
    outside: tuple[OutsideFile, ...] = ()
    is_recoverable: bool = False
    is_recovered: bool = False


class JournalPage(Struct, frozen=True, kw_only=True):
    """A part of the journal whose entries are read together: the lines from byte `start` to `end`."""

    start: int
    end: int
    entries: int = 0
    characters: int = 0
    calls: dict[CallId, str] = field(default_factory=dict[CallId, str])
    """The calls on this page with the names of their tools; empty for a question about no call."""
    compactions: tuple[str, ...] = ()
    late: tuple[int, ...] = ()
    """The byte offsets of later lines that concern entries on this page."""


class QueuedPrompt(Struct, frozen=True):
    prompt_id: PromptId
    text: str
    attachments: tuple[Attachment, ...] = ()
    is_steering: bool = False
    """Whether the running turn includes the prompt in its next request."""


def todos_of(result: ToolResult) -> tuple[TodoItem, ...] | None:
    listed = result.metadata.get("todos")
    if not isinstance(listed, list):
        return None
    items = (cast("JsonObject", item) for item in cast("list[object]", listed) if isinstance(item, dict))
    return tuple(
        TodoItem(id=str(item.get("id", "")), content=str(item.get("content", "")), status=_todo_status(item))
        for item in items
    )


def _todo_status(item: JsonObject) -> TodoStatus:
    status = item.get("status")
    return cast("TodoStatus", status) if status in get_args(TodoStatus) else "pending"


def spending_line(entry: SpendingEntry) -> str:
    title, question = entry.request.title, entry.request.spending
    match entry.decision:
        case None:
            return title
        case Allowed():
            return f"{title} Yes, up to {money(question.until_usd)}." if question is not None else f"{title} Yes."
        case Denied():
            return f"{title} No."
        case Aborted(reason=reason):
            return f"{title} No answer: {reason}"


CUT_OFF_KEY = "cut_off"
"""The metadata key that is true if the application ended before the call had its result."""

BACKGROUND_KEY = "background"
"""The metadata key that is true if a sub-agent goes on after its call. `SubagentEnded` follows in the same turn."""


def how_it_ended(end: TurnEnded) -> str:
    if end.is_cut_off:
        return "cut off, because the application ended"
    return end.reason.replace("_", " ")


_PLAIN_NAME = regex(r"[\w.-]+")
_LONGEST_INLINE = 100
"""How many characters a list or object on one line may have. Longer ones have a line for each item."""
_DEEPEST_MARGIN = 100
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_EXPLAINED = ("run_terminal_cmd",)
"""Own tools that let the model explain a call."""


def asked_call(request: ApprovalRequest, at_least: int | None = None) -> str:
    """Return the exact call: the tool, then its arguments, one per line.

    Empty if the question shows everything as its command or changes. Values are JSON, but multi-line texts are indented
    below their name, so that no line can pass for another argument. The result may end after `at_least` characters, for
    callers that show only the beginning.
    """
    if not (request.server or request.arguments):
        return ""
    lines = [f"{request.server}/{request.server_tool}" if request.server else request.tool]
    size = len(lines[0])
    for line in _items(request.arguments, "  "):
        lines.append(line)
        size += 1 + len(line)
        if at_least is not None and size >= at_least:
            break
    return "\n".join(lines)


def _items(values: JsonObject, margin: str) -> Iterator[str]:
    for name, value in values.items():
        shown = name if _PLAIN_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
        yield from _value(f"{margin}{shown}:", value, f"{margin}  ")


def _value(head: str, value: object, margin: str) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value:
        is_ended = value.endswith("\n")
        ends_plainly = is_ended and value != "\n" and not value.endswith("\n\n")
        yield f"{head} {'|' if ends_plainly else '|+' if is_ended else '|-'}"
        yield from (f"{margin}{line}" for line in _lines(value))
        return
    if not (isinstance(value, dict | list) and value) or len(margin) > _DEEPEST_MARGIN:
        yield f"{head} {json.dumps(value, ensure_ascii=False)}"
    elif (inline := _inline(cast("JsonObject | list[object]", value))) is not None:
        yield f"{head} {inline}"
    elif isinstance(value, dict):
        yield head
        yield from _items(cast("JsonObject", value), margin)
    else:
        yield head
        for item in cast("list[object]", value):
            yield from _value(f"{margin}-", item, f"{margin}  ")


def _lines(text: str) -> Iterator[str]:
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    if start < len(text):
        yield text[start:]


def _inline(value: object) -> str | None:
    """Return a value on one line; `None` if it is too long."""
    text = ""
    for piece in _ENCODER.iterencode(value):
        text += piece
        if len(text) > _LONGEST_INLINE:
            return None
    return None if "\\n" in text else text


def explanation_of(call: ToolCall) -> str:
    said = call.arguments.get("explanation") if call.name in _EXPLAINED else None
    return said.strip() if isinstance(said, str) else ""


Piece = tuple[Literal["text", "thinking", "call"], str]


def readable(content: Sequence[AssistantBlock]) -> list[Piece]:
    """Return the readable parts of a message. Neighbours of one kind are joined; calls appear once."""
    readable: list[Piece] = []
    for block in content:
        piece: Piece
        match block:
            case OpaqueBlock(call=call) if call is not None:
                if ("call", call.id) not in readable:
                    readable.append(("call", call.id))
                continue
            case TextBlock(text=text) if text:
                piece = ("text", text)
            case ThinkingBlock(thinking=text) if text:
                piece = ("thinking", text)
            case _:
                continue
        if readable and readable[-1][0] == piece[0]:
            readable[-1] = (piece[0], readable[-1][1] + piece[1])
        else:
            readable.append(piece)
    return readable


def first_line(text: str, limit: int = 80) -> str:
    return shortened(text.strip().partition("\n")[0].strip(), limit)
