"""Build one message from the events of a stream: pure, in the order they arrive, trusting none of them.

The SDK's own accumulator is not used: it silently shortens the arguments of a call that was cut off, and calls a stream
that ended early a success. Here a message exists only after `message_stop`, with a stop reason and every block closed.
"""

from typing import cast, get_args

from desktop_agent.core.protocol.foreign_json import object_in, text_in
from desktop_agent.core.protocol.model import CacheMiss, JsonObject, StopReason, Usage
from desktop_agent.core.providers.anthropic.blocks import GrowingBlock, start_block
from desktop_agent.core.providers.anthropic.cache_misses import cache_miss_in
from desktop_agent.core.providers.anthropic.refusals import reported_error
from desktop_agent.core.providers.base import Completion, StreamPiece
from desktop_agent.core.providers.http.faults import broken_off
from desktop_agent.core.providers.http.fields import (
    count_in,
    decode_event,
    message_id_in,
    required_index,
    required_object,
    required_text,
)
from desktop_agent.core.providers.http.parts import Parts
from desktop_agent.core.providers.http.refusals import ErrorEventError
from desktop_agent.core.providers.http.stopping import runnable_only_if_asked
from desktop_agent.core.providers.surrogates import repaired

_STOP_REASONS: frozenset[str] = frozenset(get_args(StopReason))


class AnthropicReader:
    """One message, from its first event to its last. Every method may raise `ProviderError` with the fault `stream`."""

    def __init__(self) -> None:
        self._message_id = ""
        self._usage = Usage()
        self._stop_reason: str | None = None
        self._cache_miss: CacheMiss | None = None
        self._explanation = ""
        self._blocks = Parts[GrowingBlock]()
        self.is_untouched = True
        """Whether nothing came at all that this API would send."""
        self.is_whole = False
        """Whether `message_stop` came: nothing after it counts."""

    def add(self, data: str) -> tuple[StreamPiece, ...]:
        """Take one event and return what there is to show. Unknown events are passed over.

        Raises `ErrorEventError` for an error that the API reports.
        """
        event = decode_event(data)
        piece = self._take(event) if event is not None else None
        return (piece,) if piece is not None else ()

    def completion(self) -> Completion:
        """Return the whole message, or raise if any of it is missing."""
        if not self.is_whole:
            raise broken_off("the stream ended before the message did")
        if self._stop_reason is None:
            raise broken_off("the message ended without a reason")
        if self._blocks.has_open:
            raise broken_off("the message ended inside a block")
        reason = cast("StopReason", self._stop_reason if self._stop_reason in _STOP_REASONS else "other")
        blocks = (block.result() for block in self._blocks.in_order())
        return Completion(
            message_id=self._message_id,
            content=tuple(runnable_only_if_asked(block, reason) for block in blocks),
            stop_reason=reason,
            usage=self._usage,
            explanation=self._explanation,
            cache_miss=self._cache_miss,
        )

    def _take(self, event: JsonObject) -> StreamPiece | None:
        match required_text(event, "type"):
            case "error":
                raise ErrorEventError(reported_error(event))
            case "message_start":
                self.is_untouched = False
                message = required_object(event, "message")
                self._message_id = message_id_in(message)
                self._cache_miss = cache_miss_in(message)
                self._count(message)
            case "content_block_start":
                return self._start(required_index(event), required_object(event, "content_block"))
            case "content_block_delta":
                delta = required_object(event, "delta")
                self._blocks.measure(delta)
                return self._blocks.at(required_index(event)).add(delta)
            case "content_block_stop":
                return self._blocks.end(required_index(event)).end()
            case "message_delta":
                delta = required_object(event, "delta")
                reason = delta.get("stop_reason")
                self._explanation = _explained(object_in(delta, "stop_details")) or self._explanation
                self._stop_reason = reason if isinstance(reason, str) else self._stop_reason
                self._count(event)
            case "message_stop":
                self.is_whole = True
            case _:
                pass
        return None

    def _start(self, index: int, fields: JsonObject) -> StreamPiece | None:
        self._blocks.measure(fields)
        block = start_block(fields)
        self._blocks.begin(index, block, is_call=fields.get("type") == "tool_use")
        return block.begin()

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
            web_searches=count_in(object_in(counts, "server_tool_use"), "web_search_requests", known.web_searches),
        )


def _explained(details: JsonObject) -> str:
    """Return what the API says about a refusal: its category, and perhaps a sentence."""
    category, explanation = text_in(details, "category"), text_in(details, "explanation")
    return repaired(": ".join(filter(None, (category.replace("_", " "), explanation))))
