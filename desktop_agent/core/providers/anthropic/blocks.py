"""The blocks of a message while they arrive: each takes its deltas, says what to show, and becomes a block of ours."""

import json
from abc import ABC, abstractmethod
from typing import ClassVar, cast

from msgspec import Struct

from desktop_agent.core.protocol.foreign_json import object_in, objects_in
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    HostedCall,
    JsonObject,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from desktop_agent.core.providers.anthropic.hosted_calls import citation_in, hosted_call_in
from desktop_agent.core.providers.arguments import is_too_deep, parse_arguments
from desktop_agent.core.providers.base import HostedCallChunk, StreamPiece, TextChunk, ThinkingChunk, ToolInputChunk
from desktop_agent.core.providers.http.faults import broken_off
from desktop_agent.core.providers.http.fields import optional_text, required_name, required_text, required_token
from desktop_agent.core.providers.surrogates import TextJoiner, repaired, repaired_json


class GrowingBlock(ABC):
    """A block between its start and its stop. Each step returns what there is to show, or `None`."""

    def begin(self) -> StreamPiece | None:
        """Return what the start already brought."""
        return None

    def add(self, delta: JsonObject) -> StreamPiece | None:
        """Take one delta. Kinds that this block does not know are passed over."""
        return None

    def end(self) -> StreamPiece | None:
        """Close the block: no delta may follow."""
        return None

    @abstractmethod
    def result(self) -> AssistantBlock:
        """Return the whole block. Only after `end`."""


def start_block(fields: JsonObject) -> GrowingBlock:
    """Return the block that a `content_block_start` opens; of a type that is not known, an opaque one."""
    match required_text(fields, "type"):
        case "text":
            return _GrowingText(fields)
        case "thinking":
            return _GrowingThinking(fields)
        case "tool_use":
            return _GrowingToolUse(fields)
        case "redacted_thinking":
            return _GrowingRedactedThinking(fields)
        case _:
            return _GrowingOpaque(fields)


class _GrowingText(GrowingBlock):
    """Text, and the pages that it rests on. Other citations are passed over: we send no documents."""

    _name: ClassVar = "text"
    _chunk: ClassVar[type[TextChunk | ThinkingChunk]] = TextChunk

    def __init__(self, fields: JsonObject) -> None:
        self._first = optional_text(fields, self._name)
        self._joiner = TextJoiner()
        self._parts: list[str] = []
        self._citations = [cited for each in objects_in(fields, "citations") if (cited := citation_in(each))]

    def begin(self) -> StreamPiece | None:
        return self._shown(self._joiner.add(self._first))

    def add(self, delta: JsonObject) -> StreamPiece | None:
        if delta.get("type") == "citations_delta" and (cited := citation_in(object_in(delta, "citation"))):
            self._citations.append(cited)
        if delta.get("type") != f"{self._name}_delta":
            return None
        return self._shown(self._joiner.add(required_text(delta, self._name)))

    def end(self) -> StreamPiece | None:
        return self._shown(self._joiner.end())

    def result(self) -> AssistantBlock:
        return TextBlock(text="".join(self._parts), citations=tuple(self._citations))

    def _shown(self, text: str) -> StreamPiece | None:
        if not text:
            return None
        self._parts.append(text)
        return self._chunk(text=text)


class _GrowingThinking(_GrowingText):
    """Visible thinking and the signature over it."""

    _name = "thinking"
    _chunk = ThinkingChunk

    def __init__(self, fields: JsonObject) -> None:
        super().__init__(fields)
        self._signature = repaired(optional_text(fields, "signature"))

    def add(self, delta: JsonObject) -> StreamPiece | None:
        if delta.get("type") != "signature_delta":
            return super().add(delta)
        self._signature = required_token(delta, "signature")
        return None

    def result(self) -> AssistantBlock:
        return ThinkingBlock(thinking="".join(self._parts), signature=self._signature)


class _GrowingToolUse(GrowingBlock):
    """A tool call. Its arguments are text until the block ends, and count only if that text is one whole object."""

    def __init__(self, fields: JsonObject) -> None:
        self._id = required_name(fields, "id")
        self._name = required_name(fields, "name")
        given = fields.get("input")
        self._given = cast("JsonObject", given) if isinstance(given, dict) else {}
        self._parts: list[str] = []
        self._size = 0

    def begin(self) -> StreamPiece | None:
        return self._shown()

    def add(self, delta: JsonObject) -> StreamPiece | None:
        if delta.get("type") != "input_json_delta":
            return None
        part = required_text(delta, "partial_json")
        if not part:
            return None
        self._parts.append(part)
        self._size += len(part)
        return self._shown()

    def result(self) -> AssistantBlock:
        text = repaired("".join(self._parts))
        if not text and self._given:  # some gateways send the whole input with the start
            text = json.dumps(self._given)
        arguments, rejected = parse_arguments(text)
        return ToolUseBlock(id=self._id, name=self._name, arguments=arguments, rejected=rejected)

    def _shown(self) -> StreamPiece:
        return ToolInputChunk(call_id=self._id, name=self._name, size=self._size)


class _GrowingRedactedThinking(GrowingBlock):
    """Encrypted thinking; it comes whole."""

    def __init__(self, fields: JsonObject) -> None:
        self._data = required_token(fields, "data")

    def result(self) -> AssistantBlock:
        return RedactedThinkingBlock(data=self._data)


class _GrowingOpaque(GrowingBlock):
    """A block of a type that we do not know, kept whole so that it can go back.

    Deltas follow one pattern in this API, so an unknown one is folded in by it: text grows, a list grows, anything else
    replaces. `input_json_delta` is the text of `input`, and a `citations_delta` brings one of the `citations`.
    """

    def __init__(self, fields: JsonObject) -> None:
        self._payload = {name: _growable(value) for name, value in fields.items()}
        self._input_parts: list[str] = []
        self._whole: JsonObject = {}
        self._call: HostedCall | None = None

    def add(self, delta: JsonObject) -> StreamPiece | None:
        match delta.get("type"):
            case "input_json_delta":
                self._input_parts.append(required_text(delta, "partial_json"))
            case "citations_delta":
                self._grow("citations", [delta.get("citation")])
            case _:
                for name, value in delta.items():
                    if name != "type":
                        self._grow(name, value)
        return None

    def end(self) -> StreamPiece | None:
        if text := "".join(self._input_parts):
            self._payload["input"] = parse_arguments(text).value
        if is_too_deep(self._payload):
            raise broken_off("a block is nested too deeply to be kept")
        payload = {
            name: "".join(value.parts) if isinstance(value, _Parts) else value for name, value in self._payload.items()
        }
        self._whole = cast("JsonObject", repaired_json(payload))
        self._call = hosted_call_in(self._whole)
        return HostedCallChunk(call=self._call) if self._call is not None else None

    def result(self) -> AssistantBlock:
        return OpaqueBlock(payload=self._whole, call=self._call)

    def _grow(self, name: str, value: object) -> None:
        so_far = self._payload.get(name)
        if isinstance(so_far, _Parts) and isinstance(value, str):
            so_far.parts.append(value)
        elif isinstance(so_far, list) and isinstance(value, list):
            cast("list[object]", so_far).extend(cast("list[object]", value))
        else:
            self._payload[name] = _growable(value)


class _Parts(Struct, frozen=True):
    """Text that grows: copied once in the end, and not for every delta."""

    parts: list[str]


def _growable(value: object) -> object:
    match value:
        case str():
            return _Parts([value])
        case list():
            return list(cast("list[object]", value))
        case _:
            return value
