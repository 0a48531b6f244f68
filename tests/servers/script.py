"""What a model server answers, written the way one would say it.

    reply(thinking("Let me look.", signature="sig"), text("Reading."), tool_use("read_file", path="a.py"))
    reply(text("Half of this arr"), fault.drop_after(events=3))
    fault.rate_limited(retry_after="2")

`answers_from_json` reads the same from a script file, for a server that runs as its own process.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from desktop_agent.core.protocol.model import JsonObject, StopReason

# --- the parts of a reply -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """One content block: its start and the deltas that fill it."""

    start: JsonObject
    deltas: tuple[JsonObject, ...] = ()

    def with_id(self, call_id: str) -> "Block":
        """Return the tool call under this id instead of one that the server makes up."""
        return replace(self, start=self.start | {"id": call_id})


@dataclass(frozen=True)
class Event:
    """A server-sent event that belongs to no block. `data` is an object, or bytes to be sent as they are."""

    name: str
    data: JsonObject | bytes = field(default_factory=dict[str, object])

    def encoded(self) -> bytes:
        """Return the event as it goes over the wire, characters beyond ASCII as UTF-8."""
        if isinstance(self.data, bytes):
            data = self.data
        else:
            data = json.dumps({"type": self.name} | self.data, ensure_ascii=False).encode("utf-8", "backslashreplace")
        return b"event: %s\ndata: %s\n\n" % (self.name.encode(), data)


@dataclass(frozen=True)
class Fault:
    """Where a stream goes wrong, counted in events or bytes from its beginning, and how.

    `reset` and `close` cut the connection, `end` finishes the response in order, `stall` waits until the test
    resumes the server, and `insert` sends `event` in between; with `is_last`, the stream ends there.
    """

    kind: Literal["reset", "close", "end", "stall", "insert"]
    events: int | None = None
    size: int | None = None
    event: Event | None = None
    is_last: bool = False


Part = Block | Event | Fault


def text(content: str, *, piece: int = 7) -> Block:
    """Text, in deltas of `piece` characters."""
    deltas = tuple[JsonObject, ...]({"type": "text_delta", "text": part} for part in _pieces(content, piece))
    return Block({"type": "text", "text": ""}, deltas)


def thinking(content: str, *, signature: str, piece: int = 7) -> Block:
    """Visible thinking and its signature."""
    deltas = tuple[JsonObject, ...]({"type": "thinking_delta", "thinking": part} for part in _pieces(content, piece))
    signed: JsonObject = {"type": "signature_delta", "signature": signature}
    return Block({"type": "thinking", "thinking": "", "signature": ""}, (*deltas, signed))


def redacted_thinking(data: str) -> Block:
    """Encrypted thinking."""
    return Block({"type": "redacted_thinking", "data": data})


def tool_use(name: str, /, **arguments: object) -> Block:
    """A tool call with these arguments. Without any, no JSON is sent at all, as the API does."""
    return raw_tool_use(name, json.dumps(arguments) if arguments else "")


def raw_tool_use(name: str, arguments: str, *, piece: int = 9) -> Block:
    """A tool call whose arguments are exactly this text, JSON or not."""
    parts = ("", *_pieces(arguments, piece))
    deltas = tuple[JsonObject, ...]({"type": "input_json_delta", "partial_json": part} for part in parts)
    return Block({"type": "tool_use", "name": name, "input": {}}, deltas)


def block(start: JsonObject, *deltas: JsonObject) -> Block:
    """Any block at all, also of an unknown type."""
    return Block(start, deltas)


def event(name: str, /, **data: object) -> Event:
    """Any event at all, between two blocks."""
    return Event(name, data)


def ping() -> Event:
    """The event that keeps a silent stream alive."""
    return Event("ping")


def _pieces(content: str, size: int) -> Iterator[str]:
    return (content[start : start + size] for start in range(0, len(content), size))


# --- answers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """A stretch of the response's body, and what happens after it."""

    chunks: list[bytes]
    then: Literal["reset", "close", "end", "stall"]


@dataclass(frozen=True)
class Reply:
    """A streamed message."""

    parts: tuple[Part, ...]
    stop_reason: str | None
    usage: JsonObject
    chunk_sizes: tuple[int, ...] = ()
    pace_s: float = 0.0

    def in_chunks(self, *sizes: int) -> "Reply":
        """Return the reply cut into chunks of these sizes, over and over, also in the middle of characters."""
        return replace(self, chunk_sizes=sizes)

    def paced(self, seconds: float) -> "Reply":
        """Return the reply with a pause after every event, for people who watch and tests that kill."""
        return replace(self, pace_s=seconds)

    def stages(self, number: int, model: str) -> list[Stage]:
        """Return what to send as answer number `number`, stage by stage."""
        events = [event.encoded() for event in self._events(number, model)]
        fault = next((part for part in self.parts if isinstance(part, Fault)), None)
        if fault is None:
            return [Stage(self._chunks(events), "end")]
        before, after = _split(events, fault)
        if fault.kind == "insert":
            assert fault.event is not None
            return [Stage(self._chunks([*before, fault.event.encoded(), *([] if fault.is_last else after)]), "end")]
        stages = [Stage(self._chunks(before), fault.kind)]
        return [*stages, Stage(self._chunks(after), "end")] if fault.kind == "stall" else stages

    def _events(self, number: int, model: str) -> Iterator[Event]:
        message: JsonObject = {
            "id": f"msg_{number:04}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": self.usage | {"output_tokens": 1},
        }
        yield Event("message_start", {"message": message})
        index = 0
        for part in self.parts:
            if isinstance(part, Event):
                yield part
            elif isinstance(part, Block):
                yield from _block_events(part, number, index)
                index += 1
        delta: JsonObject = {"stop_reason": self.stop_reason, "stop_sequence": None}
        yield Event("message_delta", {"delta": delta, "usage": {"output_tokens": self.usage["output_tokens"]}})
        yield Event("message_stop")

    def _chunks(self, events: Sequence[bytes]) -> list[bytes]:
        if not self.chunk_sizes:
            return list(events)
        body, chunks = b"".join(events), list[bytes]()
        while body:
            size = self.chunk_sizes[len(chunks) % len(self.chunk_sizes)]
            chunks.append(body[:size])
            body = body[size:]
        return chunks


@dataclass(frozen=True)
class Refusal:
    """An answer that is no message: a status, a body and headers."""

    status: int
    body: JsonObject | str
    headers: dict[str, str] = field(default_factory=dict[str, str])


Answer = Reply | Refusal


def reply(
    *parts: Part,
    stop_reason: StopReason | str | None = "",
    input_tokens: int = 10,
    output_tokens: int = 20,
    cache_read: int = 0,
    cache_write: int = 0,
) -> Reply:
    """A message of these parts. By default it stops for its tool calls or because it is finished."""
    if stop_reason == "":
        has_call = any(isinstance(part, Block) and part.start["type"] == "tool_use" for part in parts)
        stop_reason = "tool_use" if has_call else "end_turn"
    usage: JsonObject = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cache_read_input_tokens": cache_read,
        "cache_creation_input_tokens": cache_write,
    }
    return Reply(parts, stop_reason, usage)


def _block_events(part: Block, number: int, index: int) -> Iterator[Event]:
    start = part.start
    if start["type"] in ("tool_use", "server_tool_use") and "id" not in start:
        start = start | {"id": f"toolu_{number:04}_{index}"}
    yield Event("content_block_start", {"index": index, "content_block": start})
    for delta in part.deltas:
        yield Event("content_block_delta", {"index": index, "delta": delta})
    yield Event("content_block_stop", {"index": index})


def _split(events: list[bytes], fault: Fault) -> tuple[list[bytes], list[bytes]]:
    if fault.size is None:
        return events[: fault.events], events[fault.events :]
    body = b"".join(events)
    return [body[: fault.size]], [body[fault.size :]]


# --- script files -------------------------------------------------------------------------------------------------


def answers_from_json(script: object) -> list[Answer]:
    """Return the answers that a script file spells: each `{"text": …}`, `{"content": […], …}` or `{"status": …}`.

    `content` holds blocks as the API writes them, without ids. `stop_reason`, `pace_ms` and `fault` (`{"kind": "reset",
    "events": 3}`) are optional. Raises `ValueError` for anything else.
    """
    match script:
        case list():
            return [_answer(cast("JsonObject", entry)) for entry in cast("list[object]", script)]
        case _:
            raise ValueError("a script is a list of answers")


def _answer(entry: JsonObject) -> Answer:
    match entry:
        case {"status": int(status)}:
            message = {"type": str(entry.get("error_type", "api_error")), "message": str(entry.get("message", ""))}
            headers = {str(k): str(v) for k, v in cast("JsonObject", entry.get("headers", {})).items()}
            return Refusal(status, {"type": "error", "error": message}, headers)
        case {"text": str(content)}:
            parts: list[Part] = [text(content)]
        case {"content": list()}:
            parts = [_block(cast("JsonObject", block)) for block in cast("list[object]", entry["content"])]
        case _:
            raise ValueError(f"an answer needs text, content or a status: {entry}")
    if "fault" in entry:
        parts.append(_fault(cast("JsonObject", entry["fault"])))
    whole = reply(*parts, stop_reason=cast("str", entry.get("stop_reason", "")))
    return whole.paced(cast("float", entry.get("pace_ms", 0)) / 1000)


def _fault(fields: JsonObject) -> Fault:
    kind, events = fields.get("kind"), fields.get("events")
    if kind not in ("reset", "close", "end", "stall") or not isinstance(events, int):
        raise ValueError(f"a fault needs a kind and a number of events: {fields}")
    return Fault(kind, events=events)


def _block(fields: JsonObject) -> Block:
    match fields:
        case {"type": "text", "text": str(content)}:
            return text(content)
        case {"type": "thinking", "thinking": str(content), "signature": str(signature)}:
            return thinking(content, signature=signature)
        case {"type": "tool_use", "name": str(name), "input": dict()}:
            call = tool_use(name, **cast("JsonObject", fields["input"]))
            return call.with_id(str(fields["id"])) if "id" in fields else call
        case _:
            raise ValueError(f"not a block that a script can hold: {fields}")
