"""What compatible servers send in an answer, beside what OpenAI's own do."""

import json

import pytest

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol.model import JsonObject, TextBlock, ToolUseBlock
from desktop_agent.core.providers.chat_stream import ChatReader
from desktop_agent.core.providers.faults import ErrorEventError
from desktop_agent.core.providers.provider import TextChunk
from desktop_agent.core.providers.responses_stream import ResponsesReader
from desktop_agent.core.providers.wire_format import MessageReader
from desktop_agent.core.system.network.connections import MAX_NAME_CHARS


def read(reader: MessageReader, *events: JsonObject) -> str:
    """Return the text that is shown of events."""
    pieces = [piece for event in events for piece in reader.add(json.dumps(event))]
    return "".join(piece.text for piece in pieces if isinstance(piece, TextChunk))


def chunk(finish: str | None = None, **delta: object) -> JsonObject:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_text_that_comes_in_parts_is_text() -> None:
    reader = ChatReader()
    parts = [{"type": "text", "text": "Hel"}, {"type": "image", "url": "x"}, None, {"type": "text", "text": "lo."}]
    assert read(reader, chunk(content=parts), chunk("stop", content=[])) == "Hello."
    assert reader.completion().content == (TextBlock(text="Hello."),)


def test_a_number_that_is_infinite_here_is_no_argument_of_a_call() -> None:
    reader = ChatReader()
    function = {"name": "read_file", "arguments": '{"limit": 1e999}'}
    read(reader, chunk("tool_calls", tool_calls=[{"index": 0, "id": "a", "function": function}]))
    (call,) = reader.completion().content
    assert isinstance(call, ToolUseBlock)
    assert (call.arguments, "not valid JSON" in call.rejected) == ({}, True), "a journal could not hold it"


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_response_that_is_done_and_failed_is_no_answer(status: str) -> None:
    item: JsonObject = {"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}
    response: JsonObject = {"id": "r", "status": status, "error": {"code": "rate_limit_exceeded"}}
    reader = ResponsesReader()
    with pytest.raises(ErrorEventError) as caught:
        read(
            reader,
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.done", "response": response},
        )
    assert caught.value.refusal.fault == "rate_limited"
    with pytest.raises(ProviderError):
        reader.completion()


def test_an_id_that_is_longer_than_any_is_not_kept() -> None:
    reader = ChatReader()
    read(reader, {"id": "x" * (MAX_NAME_CHARS + 1)}, chunk("stop", content="Hi."))
    assert reader.completion().message_id == "c"
