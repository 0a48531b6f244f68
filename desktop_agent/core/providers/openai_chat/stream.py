"""Build one message from the chunks of a Chat Completions stream: pure, in the order they arrive, trusting none.

A message exists only with a reason why it finished; a stream that ends without one has broken off, however well the
response itself ended.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from desktop_agent.core.protocol.foreign_json import object_in, objects_in, text_in
from desktop_agent.core.protocol.model import AssistantBlock, JsonObject, StopReason, TextBlock, Usage
from desktop_agent.core.providers.arguments import weight_of
from desktop_agent.core.providers.base import Completion, StreamPiece, TextChunk
from desktop_agent.core.providers.http.faults import broken_off
from desktop_agent.core.providers.http.fields import decode_event, message_id_in
from desktop_agent.core.providers.http.refusals import ErrorEventError
from desktop_agent.core.providers.http.stopping import runnable_only_if_asked
from desktop_agent.core.providers.openai.refusals import reported_error
from desktop_agent.core.providers.openai.usage import cost_in, read_usage, searches_in
from desktop_agent.core.providers.openai_chat.calls import GrowingCalls
from desktop_agent.core.providers.openai_chat.hosted_calls import GrowingCitations
from desktop_agent.core.providers.openai_chat.thinking import GrowingThinking
from desktop_agent.core.providers.surrogates import TextJoiner
from desktop_agent.core.system.network.connections import MAX_CHARS, oversized

_DONE = "[DONE]"

_STOP_REASONS: Mapping[str, StopReason] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


class ChatReader:
    """One message, from its first chunk to its last. Every method may raise `ProviderError` with the fault `stream`."""

    def __init__(self, *, reports_cost: bool = False) -> None:
        """`reports_cost` says that the usage has a cost in US dollars, which is believed."""
        self._reports_cost = reports_cost
        self._message_id = ""
        self._usage = Usage()
        self._finish_reason = ""
        self._joiner = TextJoiner()
        self._text: list[str] = []
        self._has_refused = False
        self._thinking = GrowingThinking()
        self._calls = GrowingCalls()
        self._cited = GrowingCitations()
        self._chars = 0
        self.is_untouched = True
        """Whether nothing came at all that this API would send."""
        self.is_whole = False
        """Whether the mark of the end came: nothing after it counts."""

    def add(self, data: str) -> tuple[StreamPiece, ...]:
        """Take one chunk and return what there is to show.

        Raises `ErrorEventError` for an error that the API reports.
        """
        if data.strip() == _DONE:
            self.is_whole = True
            return self._end()
        chunk = decode_event(data)
        if chunk is None:
            return ()
        if error := chunk.get("error"):
            fields = object_in(chunk, "error") or {"message": error}
            raise ErrorEventError(reported_error(fields))
        if "choices" in chunk:
            self.is_untouched = False
        self._message_id = self._message_id or message_id_in(chunk)
        if usage := object_in(chunk, "usage"):
            self._usage = read_usage(usage, whole_input="prompt_tokens", output="completion_tokens")
            if self._reports_cost:
                self._usage = replace(self._usage, cost_usd=cost_in(usage), web_searches=searches_in(usage))
        choices = objects_in(chunk, "choices")
        return tuple(self._take(choices[0])) if choices else ()

    def completion(self) -> Completion:
        """Return the whole message, or raise if any of it is missing."""
        if not self._finish_reason:
            raise broken_off("the stream ended before the message did")
        if self._finish_reason == "error":
            raise broken_off("the model's server broke off the answer")
        content: list[AssistantBlock] = self._thinking.result()
        if (search := self._cited.block(self._message_id)) is not None:
            content.append(search)
        if text := "".join(self._text):
            content.append(TextBlock(text=text, citations=self._cited.citations))
        content.extend(self._calls.result())
        reason = self._stop_reason()
        return Completion(
            message_id=self._message_id,
            content=tuple(runnable_only_if_asked(block, reason) for block in content),
            stop_reason=reason,
            usage=self._usage,
        )

    def _take(self, choice: JsonObject) -> list[StreamPiece]:
        delta = object_in(choice, "delta")
        self._chars += weight_of(delta)
        if self._chars > MAX_CHARS:
            raise oversized(f"more than {MAX_CHARS:,} characters")
        pieces: list[StreamPiece] = []
        if (thought := self._thinking.add(delta)) is not None:
            pieces.append(thought)
        self._cited.add(delta)
        refusal = text_in(delta, "refusal")
        self._has_refused = self._has_refused or bool(refusal)
        if text := _content_in(delta) + refusal:
            pieces += self._shown(self._joiner.add(text))
        pieces += [self._calls.add(call) for call in objects_in(delta, "tool_calls")]
        if reason := text_in(choice, "finish_reason"):
            self._finish_reason = reason
            pieces += self._end()
        return pieces

    def _end(self) -> tuple[StreamPiece, ...]:
        """Show what waited for the other half of a character."""
        thought = self._thinking.end()
        return (*((thought,) if thought else ()), *self._shown(self._joiner.end()))

    def _shown(self, text: str) -> list[StreamPiece]:
        if not text:
            return []
        self._text.append(text)
        return [TextChunk(text=text)]

    def _stop_reason(self) -> StopReason:
        """Return why it stopped: some servers say `stop` behind calls, and `tool_calls` where there are none."""
        reason = _STOP_REASONS.get(self._finish_reason, "other")
        if reason in ("end_turn", "tool_use"):
            return "tool_use" if self._calls else "refusal" if self._has_refused else "end_turn"
        return reason


def _content_in(delta: JsonObject) -> str:
    """Return the text of a delta, which some servers send in parts, as it is in requests."""
    parts = objects_in(delta, "content")
    return "".join(text_in(part, "text") for part in parts) if parts else text_in(delta, "content")
