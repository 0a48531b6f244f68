"""The parts of a reply as deltas of one message of Chat Completions."""

from collections.abc import Iterator, Sequence

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.chat_habits import ChatHabits
from tests.servers.script import (
    Block,
    Event,
    Fault,
    Page,
    Part,
    RawBlock,
    RedactedThinking,
    Search,
    Text,
    Thinking,
    ToolUse,
)


class Deltas:
    """The deltas of answer `number`, by the habits of a service."""

    def __init__(self, habits: ChatHabits, number: int) -> None:
        self._habits = habits
        self._number = number
        self._calls = 0
        self._details = 0

    def of(self, parts: Sequence[Part]) -> Iterator[JsonObject | Event]:
        together: list[JsonObject] = []
        for part in parts:
            if isinstance(part, ToolUse) and self._habits.calls == "together":
                together.append(self._whole_call(part))
                continue
            if together:
                yield {"tool_calls": list(together)}
                together.clear()
            if isinstance(part, Event):
                yield part
            elif not isinstance(part, Fault):
                yield from self._of_block(part)
        if together:
            yield {"tool_calls": together}

    def _of_block(self, block: Block) -> Iterator[JsonObject]:
        match block:
            case Text(pieces, cites):
                yield from _each("content", pieces)
                for page in cites:
                    yield {"content": "", "annotations": [_citation(page)]}
            case Search():
                pass  # what was searched for is not told here
            case Thinking(pieces, signature):
                yield from self._thinking(pieces, signature)
            case RedactedThinking(data):
                if self._habits.thinking == "reasoning_details":
                    yield self._detail({"type": "reasoning.encrypted", "data": data})
                    self._details += 1
            case ToolUse() as call if self._habits.calls == "fragments":
                yield from self._fragments(call)
            case ToolUse() as call:
                yield {"tool_calls": [self._whole_call(call)]}
            case RawBlock(start, deltas):
                yield from (start, *deltas)

    def _thinking(self, pieces: Sequence[str], signature: str) -> Iterator[JsonObject]:
        if self._habits.thinking != "reasoning_details":
            yield from _each(self._habits.thinking, pieces)
            return
        for piece in pieces:
            yield {"reasoning": piece} | self._detail({"type": "reasoning.text", "text": piece})
        yield self._detail({"type": "reasoning.text", "signature": signature})
        self._details += 1

    def _detail(self, detail: JsonObject) -> JsonObject:
        return {"reasoning_details": [detail | {"format": "anthropic-claude-v1", "index": self._details}]}

    def _whole_call(self, call: ToolUse) -> JsonObject:
        place, opening = self._next_call(call)
        return place | opening | {"function": {"name": call.name, "arguments": "".join(_arguments(call))}}

    def _fragments(self, call: ToolUse) -> Iterator[JsonObject]:
        place, opening = self._next_call(call)
        yield {"tool_calls": [place | opening | {"function": {"name": call.name, "arguments": ""}}]}
        for piece in _arguments(call):
            if self._habits.repeats_ids:
                yield {"tool_calls": [place | opening | {"function": {"name": call.name, "arguments": piece}}]}
            else:
                yield {"tool_calls": [place | {"function": {"arguments": piece}}]}

    def _next_call(self, call: ToolUse) -> tuple[JsonObject, JsonObject]:
        place: JsonObject = {"index": self._calls} if self._habits.has_index else {}
        call_id = (call.call_id or f"call_{self._number:04}_{self._calls}") if self._habits.has_ids else ""
        self._calls += 1
        return place, {"id": call_id, "type": "function"}


def _each(field: str, pieces: Sequence[str]) -> Iterator[JsonObject]:
    return ({field: piece} for piece in pieces)


def _citation(page: Page) -> JsonObject:
    cited: JsonObject = {"url": page.url, "title": page.title, "content": page.quote, "start_index": 0, "end_index": 1}
    return {"type": "url_citation", "url_citation": cited}


def _arguments(call: ToolUse) -> Sequence[str]:
    """Return the fragments; a call without arguments has an empty object here."""
    return ("{}",) if call.pieces is None else call.pieces
