"""The items of an answer while they arrive: each takes its deltas, says what to show, and becomes blocks of ours."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import cast

from desktop_agent.core.protocol.foreign_json import objects_in, text_in
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    Citation,
    HostedCall,
    JsonObject,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from desktop_agent.core.providers.arguments import is_too_deep, parse_arguments
from desktop_agent.core.providers.base import HostedCallChunk, StreamPiece, TextChunk, ThinkingChunk, ToolInputChunk
from desktop_agent.core.providers.http.faults import broken_off
from desktop_agent.core.providers.http.fields import required_name, required_text
from desktop_agent.core.providers.openai_responses.hosted_calls import citations_in, hosted_call_in
from desktop_agent.core.providers.openai_responses.request import PHASE
from desktop_agent.core.providers.surrogates import TextJoiner, repaired, repaired_json

_PARAGRAPH = "\n\n"
"""Between two parts of a summary."""


class GrowingItem(ABC):
    """An item between its start and its end. Each step returns what there is to show, or `None`."""

    has_refused = False
    """Whether the model declined in it."""

    def begin(self) -> StreamPiece | None:
        """Return what the start already brought."""
        return None

    def add(self, event: JsonObject) -> StreamPiece | None:
        """Take an event that is about this item. Kinds that it does not know are passed over."""
        return None

    @abstractmethod
    def end(self, item: JsonObject) -> StreamPiece | None:
        """Take the whole item, as its end brings it. No event may follow."""

    @abstractmethod
    def result(self) -> Sequence[AssistantBlock]:
        """Return its blocks. Only after `end`."""


def start_item(item: JsonObject) -> GrowingItem:
    """Return the item that is added to an answer; of a type that is not known, an opaque one."""
    match required_text(item, "type"):
        case "message":
            return _GrowingMessage()
        case "reasoning":
            return _GrowingReasoning()
        case "function_call":
            return _GrowingCall(item)
        case _:
            return _GrowingOpaque(item)


class _GrowingText(GrowingItem):
    """Text that arrives in pieces and in parts."""

    def __init__(self) -> None:
        self._joiner = TextJoiner()
        self._parts: list[str] = []
        self._shown_as: type[TextChunk | ThinkingChunk] = TextChunk

    def _more(self, text: str) -> StreamPiece | None:
        return self._shown(self._joiner.add(text))

    def _rest(self, whole: str) -> StreamPiece | None:
        """Return what the end brings that no piece had: all of it, from a server that sends no pieces.

        Where the whole differs from its pieces otherwise, what the user has read stands.
        """
        so_far = "".join(self._parts)
        rest = repaired(whole).removeprefix(so_far) if repaired(whole).startswith(so_far) else self._joiner.end()
        return self._shown(rest)

    def _shown(self, text: str) -> StreamPiece | None:
        if not text:
            return None
        self._parts.append(text)
        return self._shown_as(text=text)


class _GrowingMessage(_GrowingText):
    """What the model says, a refusal included."""

    def __init__(self) -> None:
        super().__init__()
        self._phase: object = None
        self._citations: tuple[Citation, ...] = ()

    def add(self, event: JsonObject) -> StreamPiece | None:
        match event["type"]:
            case "response.output_text.delta":
                return self._more(required_text(event, "delta"))
            case "response.refusal.delta":
                self.has_refused = True
                return self._more(required_text(event, "delta"))
            case _:
                return None

    def end(self, item: JsonObject) -> StreamPiece | None:
        self._phase = item.get(PHASE)
        self._citations = citations_in(item)
        parts = objects_in(item, "content")
        self.has_refused = self.has_refused or any(part.get("type") == "refusal" for part in parts)
        return self._rest("".join(text_in(part, "text") + text_in(part, "refusal") for part in parts))

    def result(self) -> Sequence[AssistantBlock]:
        text = TextBlock(text="".join(self._parts), citations=self._citations)
        if not isinstance(self._phase, str):
            return [text]
        return [OpaqueBlock(payload={"type": "message", PHASE: repaired(self._phase)}), text]


class _GrowingReasoning(_GrowingText):
    """Thinking: a summary that is shown, and the encrypted whole that goes back as it came."""

    def __init__(self) -> None:
        super().__init__()
        self._shown_as = ThinkingChunk
        self._item: JsonObject = {}

    def add(self, event: JsonObject) -> StreamPiece | None:
        match event["type"]:
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._more(required_text(event, "delta"))
            case "response.reasoning_summary_part.added" if self._parts:
                return self._more(_PARAGRAPH)
            case _:
                return None

    def end(self, item: JsonObject) -> StreamPiece | None:
        if is_too_deep(item):
            raise broken_off("an item is nested too deeply to be kept")
        kept = {name: value for name, value in item.items() if name != "status" and value is not None}
        self._item = cast("JsonObject", repaired_json(kept))
        parts = objects_in(item, "summary") or objects_in(item, "content")
        return self._rest(_PARAGRAPH.join(text_in(part, "text") for part in parts))

    def result(self) -> Sequence[AssistantBlock]:
        shown = "".join(self._parts)
        whole = OpaqueBlock(payload=self._item | {"type": "reasoning"})
        return [ThinkingBlock(thinking=shown, signature=""), whole] if shown else [whole]


class _GrowingCall(GrowingItem):
    """A tool call. Its arguments are text until the item ends, and count only if that text is one whole object."""

    def __init__(self, item: JsonObject) -> None:
        self._id = required_name(item, "call_id")
        self._name = required_name(item, "name")
        self._parts: list[str] = []
        self._size = 0

    def begin(self) -> StreamPiece | None:
        return self._shown()

    def add(self, event: JsonObject) -> StreamPiece | None:
        if event["type"] != "response.function_call_arguments.delta":
            return None
        part = required_text(event, "delta")
        if not part:
            return None
        self._parts.append(part)
        self._size += len(part)
        return self._shown()

    def end(self, item: JsonObject) -> StreamPiece | None:
        if whole := text_in(item, "arguments"):
            self._parts = [whole]
        return None

    def result(self) -> Sequence[AssistantBlock]:
        arguments, rejected = parse_arguments(repaired("".join(self._parts)))
        return [ToolUseBlock(id=self._id, name=self._name, arguments=arguments, rejected=rejected)]

    def _shown(self) -> StreamPiece:
        return ToolInputChunk(call_id=self._id, name=self._name, size=self._size)


class _GrowingOpaque(GrowingItem):
    """An item of a type that we do not know, kept whole so that it can go back."""

    def __init__(self, begun: JsonObject) -> None:
        self._begun = begun
        self._item: JsonObject = {}
        self.call: HostedCall | None = None
        """What it tells of a call that ran at the provider, when it has ended."""

    def begin(self) -> StreamPiece | None:
        call = hosted_call_in(self._begun, is_done=False)
        return HostedCallChunk(call=call) if call is not None else None

    def end(self, item: JsonObject) -> StreamPiece | None:
        if is_too_deep(item):
            raise broken_off("an item is nested too deeply to be kept")
        self._item = cast("JsonObject", repaired_json(item))
        self.call = hosted_call_in(self._item)
        return HostedCallChunk(call=self.call) if self.call is not None else None

    def result(self) -> Sequence[AssistantBlock]:
        return [OpaqueBlock(payload=self._item, call=self.call)]
