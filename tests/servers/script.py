"""What a model server answers, written the way one would say it.

    reply(thinking("Let me look.", signature="sig"), text("Reading."), tool_use("read_file", path="a.py"))
    reply(text("Half of this arr"), fault.drop_after(events=3))
    fault.rate_limited(retry_after="2")

A script knows no wire format: a dialect (`tests/servers/dialects/`) spells it. Stop reasons and types of errors are
Anthropic's words, which every dialect translates; one that it does not know goes out as it is.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from desktop_agent.core.protocol.model import JsonObject, StopReason

# --- the parts of a reply -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    url: str
    title: str
    quote: str = ""


@dataclass(frozen=True)
class Text:
    pieces: tuple[str, ...]
    cites: tuple[Page, ...] = ()


@dataclass(frozen=True)
class Search:
    """A web search by the API itself: the query, and its results or an error code."""

    query: str
    pages: tuple[Page, ...]
    error: str = ""


@dataclass(frozen=True)
class Thinking:
    pieces: tuple[str, ...]
    signature: str


@dataclass(frozen=True)
class RedactedThinking:
    data: str


@dataclass(frozen=True)
class ToolUse:
    """A tool call; its arguments are sent in `pieces`, which need not be valid JSON."""

    name: str
    pieces: tuple[str, ...] | None
    """`None`: without arguments, in the API's form."""
    call_id: str | None = None
    """With `None` the server makes one up."""

    def with_id(self, call_id: str) -> "ToolUse":
        return replace(self, call_id=call_id)


@dataclass(frozen=True)
class RawBlock:
    start: JsonObject
    deltas: tuple[JsonObject, ...] = ()


@dataclass(frozen=True)
class Event:
    """A server-sent event outside of blocks. `data` is an object, or raw bytes."""

    name: str
    data: JsonObject | bytes = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class StreamError:
    type: str
    message: str


@dataclass(frozen=True)
class Garbage:
    data: bytes


@dataclass(frozen=True)
class Fault:
    """A fault in a stream, at a number of events or bytes from the start.

    `reset` and `close` cut the connection, `end` finishes the response in order, `stall` waits until the test
    resumes the server, and `insert` sends `event` in between; with `is_last`, the stream ends there.
    """

    kind: Literal["reset", "close", "end", "stall", "insert"]
    events: int | None = None
    size: int | None = None
    event: Event | StreamError | Garbage | None = None
    is_last: bool = False


Block = Text | Thinking | RedactedThinking | ToolUse | Search | RawBlock
Part = Block | Event | Fault


_MOST_PIECES = 500
"""Unless a test says how long a piece is: a window that draws after each piece takes a millisecond for it."""


def text(content: str, *, piece: int = 0, cites: tuple[Page, ...] = ()) -> Text:
    return Text(tuple(_pieces(content, piece, usual=7)), cites)


def search(query: str, *pages: Page, error: str = "") -> Search:
    return Search(query, pages, error)


def thinking(content: str, *, signature: str, piece: int = 0) -> Thinking:
    return Thinking(tuple(_pieces(content, piece, usual=7)), signature)


def redacted_thinking(data: str) -> RedactedThinking:
    return RedactedThinking(data)


def tool_use(name: str, /, **arguments: object) -> ToolUse:
    return raw_tool_use(name, json.dumps(arguments)) if arguments else ToolUse(name, None)


def raw_tool_use(name: str, arguments: str, *, piece: int = 0) -> ToolUse:
    return ToolUse(name, tuple(_pieces(arguments, piece, usual=9)))


def block(start: JsonObject, *deltas: JsonObject) -> RawBlock:
    return RawBlock(start, deltas)


def event(name: str, /, **data: object) -> Event:
    return Event(name, data)


def ping() -> Event:
    return Event("ping")


def _pieces(content: str, size: int, *, usual: int) -> Iterator[str]:
    size = size or max(usual, len(content) // _MOST_PIECES)
    return (content[start : start + size] for start in range(0, len(content), size))


# --- answers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    """The tokens of a reply. `input` excludes tokens read from or written to the cache."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    thinking: int
    cost: float | None
    """US dollars, from the services that report costs."""

    @property
    def whole_input(self) -> int:
        return self.input + self.cache_read + self.cache_write


MISSED_TOKENS = 900


@dataclass(frozen=True)
class Reply:
    parts: tuple[Part, ...]
    stop_reason: str | None
    """`None`: the stream ends without a reason."""
    spent: Spent
    chunk_sizes: tuple[int, ...] = ()
    pace_s: float = 0.0
    missed: str = ""
    explanation: str = ""

    def in_chunks(self, *sizes: int) -> "Reply":
        """Return the reply cut into chunks of these sizes, repeated, also inside characters."""
        return replace(self, chunk_sizes=sizes)

    def paced(self, seconds: float) -> "Reply":
        return replace(self, pace_s=seconds)

    @property
    def fault(self) -> Fault | None:
        return next((part for part in self.parts if isinstance(part, Fault)), None)


@dataclass(frozen=True)
class Refusal:
    status: int
    type: str
    message: str
    code: str = ""
    """The API's more exact code; if empty, the dialect chooses one for the type."""
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Whole:
    """A response with exactly this body in every dialect."""

    status: int
    body: JsonObject | str
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Told:
    """An answer for the conversation in whose first message these words are, whenever that asks."""

    words: str
    answer: "Reply | Refusal | Whole"


Answer = Reply | Refusal | Whole | Told


def reply(
    *parts: Part,
    stop_reason: StopReason | str | None = "",
    input_tokens: int = 10,
    output_tokens: int = 20,
    cache_read: int = 0,
    cache_write: int = 0,
    thinking_tokens: int = 0,
    cost: float | None = None,
    missed: str = "",
    explanation: str = "",
) -> Reply:
    """A message of these parts. By default it stops for its tool calls, or because it is finished."""
    if stop_reason == "":
        stop_reason = "tool_use" if any(map(_is_call, parts)) else "end_turn"
    spent = Spent(input_tokens, output_tokens, cache_read, cache_write, thinking_tokens, cost)
    return Reply(parts, stop_reason, spent, missed=missed, explanation=explanation)


def _is_call(part: Part) -> bool:
    match part:
        case ToolUse() | RawBlock({"type": "tool_use" | "function_call"}) | RawBlock({"tool_calls": list()}):
            return True
        case _:
            return False
