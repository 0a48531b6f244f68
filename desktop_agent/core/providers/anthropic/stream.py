"""Build one message from the events of a stream: pure, in the order they arrive, trusting none of them.

The SDK's own accumulator is not used: it silently shortens the arguments of a call that was cut off, and calls a stream
that ended early a success. Here a message exists only after `message_stop`, with a stop reason and every block closed.
"""

import json
from typing import cast, get_args

from msgspec.structs import replace

from desktop_agent.core.protocol.model import AssistantBlock, JsonObject, StopReason, ToolUseBlock, Usage
from desktop_agent.core.providers.anthropic.blocks import GrowingBlock, start_block
from desktop_agent.core.providers.anthropic.faults import broken_off
from desktop_agent.core.providers.anthropic.wire import (
    count_in,
    optional_text,
    required_index,
    required_object,
    required_text,
)
from desktop_agent.core.providers.arguments import weight_of
from desktop_agent.core.providers.base import Completion, StreamPiece
from desktop_agent.core.providers.surrogates import repaired
from desktop_agent.core.system.network.bounds import MAX_BLOCKS, MAX_CALLS, MAX_CHARS, oversized

_STOP_REASONS: frozenset[str] = frozenset(get_args(StopReason))

_NOT_RUN = {
    "max_tokens": "The answer reached its token limit, so the call was not run. Make it again, split if it is long.",
    "model_context_window_exceeded": "The context window was full, so the call was not run.",
}
"""What the model reads about a call in an answer that did not end by asking for it."""


def decode_event(data: str) -> JsonObject | None:
    """Return the event that the data of a server-sent event spells; `None` when there is none.

    Raises `ProviderError` for anything that is not a JSON object with a type.
    """
    if not data:
        return None
    try:
        event: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise broken_off(f"malformed event: {type(error).__name__}") from None
    if not isinstance(event, dict):
        raise broken_off("malformed event: not an object")
    fields = cast("JsonObject", event)
    required_text(fields, "type")
    return fields


class MessageBuilder:
    """One message, from its first event to its last. Every method may raise `ProviderError` with the fault `stream`."""

    def __init__(self) -> None:
        self._message_id = ""
        self._usage = Usage()
        self._stop_reason: str | None = None
        self._blocks: dict[int, GrowingBlock] = {}
        self._open: set[int] = set()
        self._calls = 0
        self._chars = 0
        self.is_untouched = True
        """Whether nothing came at all that this API would send."""
        self.is_stopped = False
        """Whether `message_stop` came: nothing after it counts."""

    def add(self, event: JsonObject) -> StreamPiece | None:
        """Take one event and return what there is to show. Unknown events are passed over."""
        match event["type"]:
            case "message_start":
                self.is_untouched = False
                message = required_object(event, "message")
                self._message_id = repaired(optional_text(message, "id"))
                self._count(message)
            case "content_block_start":
                return self._start(required_index(event), required_object(event, "content_block"))
            case "content_block_delta":
                delta = required_object(event, "delta")
                self._measure(delta)
                return self._block(event).add(delta)
            case "content_block_stop":
                block = self._block(event)
                self._open.discard(required_index(event))
                return block.end()
            case "message_delta":
                reason = required_object(event, "delta").get("stop_reason")
                self._stop_reason = reason if isinstance(reason, str) else self._stop_reason
                self._count(event)
            case "message_stop":
                self.is_stopped = True
            case _:
                pass
        return None

    def completion(self) -> Completion:
        """Return the whole message, or raise if any of it is missing."""
        if not self.is_stopped:
            raise broken_off("the stream ended before the message did")
        if self._stop_reason is None:
            raise broken_off("the message ended without a reason")
        if self._open:
            raise broken_off("the message ended inside a block")
        reason = cast("StopReason", self._stop_reason if self._stop_reason in _STOP_REASONS else "other")
        blocks = (self._blocks[index].result() for index in sorted(self._blocks))
        return Completion(
            message_id=self._message_id,
            content=tuple(_runnable_only_if_asked(block, reason) for block in blocks),
            stop_reason=reason,
            usage=self._usage,
        )

    def _start(self, index: int, fields: JsonObject) -> StreamPiece | None:
        if index in self._blocks:
            raise broken_off(f"block {index} started twice")
        self._calls += fields.get("type") == "tool_use"
        if len(self._blocks) >= MAX_BLOCKS or self._calls > MAX_CALLS:
            raise oversized(f"more than {MAX_CALLS} calls or {MAX_BLOCKS:,} blocks")
        self._measure(fields)
        self._blocks[index] = start_block(fields)
        self._open.add(index)
        return self._blocks[index].begin()

    def _measure(self, fields: JsonObject) -> None:
        self._chars += weight_of(fields)
        if self._chars > MAX_CHARS:
            raise oversized(f"more than {MAX_CHARS:,} characters")

    def _block(self, event: JsonObject) -> GrowingBlock:
        index = required_index(event)
        if index not in self._open:
            raise broken_off(f"block {index} is not open")
        return self._blocks[index]

    def _count(self, event: JsonObject) -> None:
        """Take the token counts of an event. They are totals, and a later event may leave some out."""
        usage = event.get("usage")
        if not isinstance(usage, dict):
            return
        counts, known = cast("JsonObject", usage), self._usage
        self._usage = Usage(
            input_tokens=count_in(counts, "input_tokens", known.input_tokens),
            output_tokens=count_in(counts, "output_tokens", known.output_tokens),
            cache_read_tokens=count_in(counts, "cache_read_input_tokens", known.cache_read_tokens),
            cache_write_tokens=count_in(counts, "cache_creation_input_tokens", known.cache_write_tokens),
        )


def _runnable_only_if_asked(block: AssistantBlock, reason: StopReason) -> AssistantBlock:
    """Return `block`; a call in a message that did not stop for its calls is rejected, however whole it looks."""
    if not isinstance(block, ToolUseBlock) or reason == "tool_use":
        return block
    why = _NOT_RUN.get(reason, f"The answer stopped for another reason ({reason}), so the call was not run.")
    return replace(block, rejected=why)
