"""Reads what another program's agent reports of its calls, and of its session while that is replayed.

A call is merged from its updates, and put in our terms. Of a session, only the turns from elsewhere are kept.
"""

import json
import re
import shlex
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from msgspec import Struct, field

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.wire import CallContent, CallFields, CallStatus, ContentBlock, Location
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.protocol.model import Capability, JsonObject, SaidElsewhere, ToolCall, ToolResult
from desktop_agent.core.transcript.session_info import beginning_of

_CAPABILITIES: Final[dict[str, tuple[Capability, ...]]] = {
    "read": ("read_fs",), "search": ("read_fs",), "think": (), "switch_mode": (), "edit": ("write_fs",),
    "delete": ("write_fs",), "move": ("write_fs",), "fetch": ("network",), "execute": ("exec_shell",),
}  # fmt: skip
_LONGEST_TITLE = 300
_MOST_PRINTED = 2**20
_DEEPEST, _MOST_VALUES = 100, 100_000
_FENCED = regex(r"(`{3,})\w*\n(.*)\n\1\s*", re.DOTALL)


class AgentCall(Struct):
    """One call. Fields that are reported later replace earlier ones."""

    wire_id: str
    id: CallId = ""
    """The id in the journal; empty while the call is not recorded."""
    title: str = ""
    name: str = ""
    kind: str = "other"
    status: CallStatus = "pending"
    content: tuple[CallContent, ...] = ()
    said_before: tuple[CallContent, ...] = ()
    """Its content before it ran: Claude's adapter explains the call in it."""
    locations: tuple[Location, ...] = ()
    raw_input: object = None
    raw_output: object = None
    printed: str = ""
    """The part of its output that was shown so far."""
    exit_code: int = 0
    refusal: str = ""
    is_asked: bool = False
    """Whether it waits for the user."""
    is_allowed: bool = False
    begun_ns: int | None = None
    """The earliest time at which it may have begun, by the clock of files; `None` while it waits for a permission."""
    started_s: float = 0.0
    waited_s: float = 0.0
    """How long it waited for the user."""
    is_ours: bool = False
    """Whether it represents a command that the agent made us run without reporting a call."""
    runs_here: bool = False
    circumstances: tuple[str, ...] = ()
    """What else decides what the command does, if we run it."""
    outcome: ToolResult | None = None
    """The result of that command."""

    def take(self, fields: CallFields) -> str:
        """Merge an update. Return what the call has printed since the last one."""
        self.title = self.title if fields.title is None else without_controls(fields.title)[:_LONGEST_TITLE]
        self.kind = self.kind if fields.kind is None else fields.kind
        self.status = self.status if fields.status is None else fields.status
        self.content = self.content if fields.content is None else fields.content
        if self.status == "pending":
            self.said_before = self.content
        self.locations = self.locations if fields.locations is None else fields.locations
        self.raw_input = fields.raw_input if _is_usual(fields.raw_input) else self.raw_input
        self.raw_output = fields.raw_output if _is_usual(fields.raw_output) else self.raw_output
        meta = fields.meta or {}
        # Claude's adapter names its tool here, and Codex's tells here what its own terminal prints.
        claude, exited = as_object(meta.get("claudeCode")), as_object(meta.get("terminal_exit"))
        name = fields.name or claude.get("toolName")
        self.name = name if isinstance(name, str) else self.name
        code = exited.get("exit_code")
        self.exit_code = code if isinstance(code, int) else self.exit_code
        new = as_object(meta.get("terminal_output_delta", meta.get("terminal_output"))).get("data")
        if isinstance(new, str):
            self.printed = (self.printed + new)[-_MOST_PRINTED:]
        elif (text := self._told_text).startswith(self.printed):
            new, self.printed = text[len(self.printed) :], text
        return new if isinstance(new, str) else ""

    @property
    def can_begin(self) -> bool:
        """Whether enough of it is known. Some agents report a call piece by piece, while their model writes it."""
        if self.status != "pending":
            return True
        return bool(self.raw_input or self.content or self.locations) and (self.kind != "execute" or bool(self.command))

    @property
    def has_ended(self) -> bool:
        return self.status in ("completed", "failed")

    @property
    def tool(self) -> str:
        return without_controls(self.name)[:100] or self.kind

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        return _CAPABILITIES.get(self.kind, ("write_fs", "exec_shell", "network"))

    @property
    def may_write(self) -> bool:
        return "write_fs" in self.capabilities or "exec_shell" in self.capabilities

    @property
    def command(self) -> str | None:
        """The command line, if the agent reports it."""
        given = as_object(self.raw_input)
        command = given.get("command", given.get("cmd"))
        if self.kind != "execute":
            return None
        if isinstance(command, list):
            return line_of([str(word) for word in cast("list[object]", command)])
        return _script(command) if isinstance(command, str) and command.strip() else None

    @property
    def explanation(self) -> str:
        """The purpose of the call, in the agent's words."""
        said = as_object(self.raw_input).get("description")
        if isinstance(said, str):
            return without_controls(said)[:_LONGEST_TITLE]
        return self.title if self.command not in (None, self.title, _script(self.title)) else ""

    @property
    def folder(self) -> str:
        given = as_object(self.raw_input)
        folder = given.get("cwd", given.get("workdir"))
        return folder if isinstance(folder, str) else ""

    @property
    def arguments(self) -> JsonObject:
        return as_object(self.raw_input)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it names, as the agent wrote them."""
        named = (*(one.path for one in self.diffs), *(one.path for one in self.locations))
        return tuple(dict.fromkeys(filter(None, named)))

    @property
    def diffs(self) -> tuple[CallContent, ...]:
        return tuple(one for one in self.content if one.type == "diff")

    def as_model(self) -> ToolCall:
        return ToolCall(id=self.id, name=self.tool, arguments=self.arguments)

    def result(self) -> str:
        """The outcome of the call, in words for people and for other models."""
        if self.outcome is not None:
            return self.outcome.content
        text = self.printed or self._told_text
        if not text and isinstance(self.raw_output, str):
            text = self.raw_output
        elif not text and self.raw_output:
            text = json.dumps(self.raw_output, ensure_ascii=False, indent=1, default=str)
        if self.exit_code:
            text = f"{text.rstrip()}\nExit code {self.exit_code}.".lstrip()
        return text or _text(self.content) or self.refusal

    @property
    def _told_text(self) -> str:
        return "" if self.content == self.said_before else _text(self.content)


def line_of(words: Sequence[str]) -> str:
    """Return the command line of a program with its arguments: what a shell runs, otherwise the quoted words."""
    is_wrapped = len(words) == 3 and Path(words[0]).name in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc")
    return words[2] if is_wrapped else shlex.join(words)


def _is_usual(value: object) -> bool:
    """Whether it is given, and neither too deep nor too large for a reader of the journal."""
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        level = [inner for one in level for inner in _inside(one)]
        if not level or len(level) > _MOST_VALUES:
            break
    return value is not None and not level


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    if isinstance(value, int) and abs(value) >= 2**63:  # what the journal cannot write is treated as too deep
        return (value,)
    return cast("list[object]", value) if isinstance(value, list) else ()


def _script(command: str) -> str:
    """Return the command line that a shell runs: Codex' adapter quotes it as one word if it has quotes."""
    with suppress(ValueError):
        (word,) = shlex.split(command)
        return word if any(map(str.isspace, word)) else command
    return command


def _text(content: Sequence[CallContent]) -> str:
    """Return the texts; one that is a whole block of code in Markdown without its fence."""
    texts = (text for one in content if one.content is not None and (text := text_of(one.content)))
    return "\n".join(fenced[2] if (fenced := _FENCED.fullmatch(text)) else text for text in texts)


def text_of(content: ContentBlock) -> str:
    match content.type:
        case "text":
            return content.text
        case "resource_link":
            return f"[{content.name or content.uri}]({content.uri})"
        case "resource":
            return str(content.resource.get("text", content.resource.get("uri", "")))
        case _:
            return f"[{content.type}]"


_MOST_TURNS: Final = 200
_MOST_PARTS: Final = 200
_LONGEST: Final = 20_000
"""How many characters of a prompt and of an answer are kept. The agent has all of it."""


class _Turn(Struct):
    prompt: str
    answer: list[str] = field(default_factory=list[str])
    size: int = 0

    def say(self, text: str) -> None:
        if self.size < _LONGEST:
            self.answer.append(text[: _LONGEST - self.size])
        self.size += len(text)


class SessionReplay:
    """Compares the replayed user messages with those that the agent is known to have received from here, in order.

    An agent may have summarised older ones, and may have missed one that was cut off.
    """

    def __init__(self, heard: Sequence[str]) -> None:
        self._heard = heard
        self._next = 0
        """The first of `heard` that may still come."""
        self._prompt: list[str] | None = None
        """The parts of the user's message that is being replayed."""
        self._message_id: str | None = None
        self._turn: _Turn | None = None
        """The turn that is being replayed; `None` for one that is known here."""
        self._turns: deque[_Turn] = deque(maxlen=_MOST_TURNS)

    @property
    def is_comparable(self) -> bool:
        """Whether anything that was replayed is known here."""
        return self._next > 0

    def take(self, update: wire.Update) -> None:
        match update:
            case wire.UserChunk(content=content, message_id=message_id):
                if self._prompt is None or message_id != self._message_id:
                    self._end_prompt()
                    self._prompt, self._message_id = [], message_id
                if len(self._prompt) < _MOST_PARTS:
                    self._prompt.append(text_of(content)[:_LONGEST])
            case wire.MessageChunk(content=content):
                self._end_prompt()
                if self._turn is not None:
                    self._turn.say(text_of(content))
            case wire.CallBegun(title=title):
                self._end_prompt()
                if self._turn is not None:
                    self._turn.say(f"\n[{title or 'A call'}]\n")
            case wire.ThoughtChunk():
                self._end_prompt()
            case _:
                pass

    def said(self) -> tuple[SaidElsewhere, ...]:
        """Return the turns after the last one that is known here. Call it after the replay."""
        self._end_prompt()
        if not self.is_comparable:
            return ()
        return tuple(SaidElsewhere(prompt=one.prompt, answer="".join(one.answer).strip()) for one in self._turns)

    def _end_prompt(self) -> None:
        if self._prompt is None:
            return
        prompt, self._prompt = self._prompt, None
        replayed = {beginning_of(text) for text in (*prompt, *(between.join(prompt) for between in ("", "\n", "\n\n")))}
        for at in range(self._next, len(self._heard)):
            if self._heard[at] in replayed:
                self._next, self._turn = at + 1, None
                self._turns.clear()
                return
        self._turn = _Turn("\n".join(prompt)[:_LONGEST])
        self._turns.append(self._turn)
