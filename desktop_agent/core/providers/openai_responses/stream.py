"""Build one message from the events of a Responses stream: pure, in the order they arrive, trusting none of them.

A message exists only after the event that concludes the response, with every item closed. A stream that ends without
it has broken off, however well the HTTP response itself ended.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from desktop_agent.core.protocol.foreign_json import object_in, text_in
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    CacheMiss,
    JsonObject,
    OpaqueBlock,
    StopReason,
    ToolUseBlock,
    Usage,
)
from desktop_agent.core.providers.base import Completion, StreamPiece
from desktop_agent.core.providers.http.faults import broken_off
from desktop_agent.core.providers.http.fields import decode_event, message_id_in, required_object, required_text
from desktop_agent.core.providers.http.parts import Parts
from desktop_agent.core.providers.http.refusals import ErrorEventError
from desktop_agent.core.providers.http.stopping import runnable_only_if_asked
from desktop_agent.core.providers.openai.refusals import reported_error
from desktop_agent.core.providers.openai.usage import read_usage
from desktop_agent.core.providers.openai_responses.caching import cache_miss_in
from desktop_agent.core.providers.openai_responses.hosted_calls import is_charged
from desktop_agent.core.providers.openai_responses.items import GrowingItem, start_item

_INCOMPLETE: Mapping[str, StopReason] = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}

_FAILED = ("failed", "cancelled")


class ResponsesReader:
    """One message, from its first event to its last. Every method may raise `ProviderError` with the fault `stream`."""

    def __init__(self) -> None:
        self._message_id = ""
        self._usage = Usage()
        self._incomplete = ""
        self._cache_miss: CacheMiss | None = None
        self._items = Parts[GrowingItem](times_said=2)
        self.is_untouched = True
        """Whether nothing came at all that this API would send."""
        self.is_whole = False
        """Whether the response was concluded: nothing after it counts."""

    def add(self, data: str) -> tuple[StreamPiece, ...]:
        """Take one event and return what there is to show. Unknown events are passed over.

        Raises `ErrorEventError` for an error that the API reports.
        """
        if data.strip() == "[DONE]":  # some compatible servers end with it, as Chat Completions do
            return ()
        event = decode_event(data)
        piece = self._take(event) if event is not None else None
        return (piece,) if piece is not None else ()

    def completion(self) -> Completion:
        """Return the whole message, or raise if any of it is missing."""
        if not self.is_whole:
            raise broken_off("the stream ended before the message did")
        if self._items.has_open:
            raise broken_off("the message ended inside an item")
        items = self._items.in_order()
        content: list[AssistantBlock] = [block for item in items for block in item.result()]
        reason = self._stop_reason(content, has_refused=any(item.has_refused for item in items))
        return Completion(
            message_id=self._message_id,
            content=tuple(runnable_only_if_asked(block, reason) for block in content),
            stop_reason=reason,
            usage=replace(self._usage, web_searches=sum(map(_searches, content))),
            cache_miss=self._cache_miss,
        )

    def _take(self, event: JsonObject) -> StreamPiece | None:
        match required_text(event, "type"):
            case "response.created" | "response.in_progress":
                self.is_untouched = False
                self._message_id = message_id_in(required_object(event, "response"))
            case "response.output_item.added":
                return self._start(_index(event), required_object(event, "item"))
            case "response.output_item.done":
                return self._end(_index(event), required_object(event, "item"))
            case "response.completed" | "response.incomplete" | "response.done":
                self._conclude(required_object(event, "response"))
            case "response.failed" | "response.cancelled":
                raise ErrorEventError(reported_error(object_in(required_object(event, "response"), "error")))
            case "error":
                raise ErrorEventError(reported_error(object_in(event, "error") or event))
            case _ if "output_index" in event:
                self._items.measure(event)
                return self._items.at(_index(event)).add(event)
            case _:
                pass
        return None

    def _start(self, index: int, item: JsonObject) -> StreamPiece | None:
        growing = start_item(item)
        self._items.begin(index, growing, is_call=item.get("type") == "function_call")
        return growing.begin()

    def _end(self, index: int, item: JsonObject) -> StreamPiece | None:
        if index not in self._items:  # a server that sends items whole
            self._start(index, item)
        self._items.measure(item)
        return self._items.end(index).end(item)

    def _conclude(self, response: JsonObject) -> None:
        if text_in(response, "status") in _FAILED:
            raise ErrorEventError(reported_error(object_in(response, "error")))
        self.is_whole = True
        self._message_id = self._message_id or message_id_in(response)
        self._cache_miss = cache_miss_in(response)
        usage = object_in(response, "usage")
        self._usage = read_usage(usage, whole_input="input_tokens", output="output_tokens")
        if text_in(response, "status") == "incomplete":
            self._incomplete = text_in(object_in(response, "incomplete_details"), "reason") or "unknown"

    def _stop_reason(self, content: list[AssistantBlock], *, has_refused: bool) -> StopReason:
        if self._incomplete:
            return _INCOMPLETE.get(self._incomplete, "other")
        if any(isinstance(block, ToolUseBlock) for block in content):
            return "tool_use"
        return "refusal" if has_refused else "end_turn"


def _searches(block: AssistantBlock) -> bool:
    return isinstance(block, OpaqueBlock) and block.call is not None and is_charged(block.call)


def _index(event: JsonObject) -> int:
    value = event.get("output_index")
    if not isinstance(value, int) or isinstance(value, bool):
        raise broken_off("malformed event: output_index is not a number")
    return value
