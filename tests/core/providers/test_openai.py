"""What OpenAI's formats share, and the extras of compatible servers."""

import json

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.protocol.events import TextDelta
from desktop_agent.core.protocol.model import JsonObject, ModelRequest, TextBlock
from desktop_agent.core.providers.chat import ChatReader
from desktop_agent.core.providers.faults import ErrorEventError, FailedCall
from desktop_agent.core.providers.provider_catalog import wire_format_of
from desktop_agent.core.providers.responses import ResponsesFormat, ResponsesReader
from desktop_agent.core.providers.wire_format import EncodedPictures, MessageReader
from desktop_agent.core.system.network.connections import MAX_NAME_CHARS

CALL = FailedCall(address="https://api.openai.com")


def test_the_list_of_a_plan_has_slugs_and_leaves_out_what_is_hidden() -> None:
    page = {
        "models": [
            {"slug": "gpt-large", "display_name": "GPT Large", "visibility": "list", "context_window": 272_000},
            {"slug": "gpt-hidden", "visibility": "hide"},
            {"display_name": "without a slug"},
            "no object",
            {"slug": "gpt-small"},
        ]
    }
    models = ResponsesFormat().read_models(json.dumps(page).encode(), CALL)
    assert [(model.name, model.label, model.context_tokens) for model in models] == [
        ("gpt-large", "GPT Large", 272_000),
        ("gpt-small", "", None),
    ]


def test_the_usual_list_is_read_as_before_whatever_stands_beside_it() -> None:
    page = {"object": "list", "data": [{"id": "a"}], "models": [{"slug": "b"}]}
    assert [model.name for model in ResponsesFormat().read_models(json.dumps(page).encode(), CALL)] == ["a"]


@pytest.mark.parametrize("page", ["{}", "[]", '{"models": 7}', '{"data": 3}', "null", "no JSON"])
@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_what_is_no_list_is_refused(vendor: str, page: str) -> None:
    with pytest.raises(ProviderError) as caught:
        wire_format_of(usual_account(vendor)).read_models(page.encode(), CALL)
    assert caught.value.fault == "not_found"


@pytest.mark.parametrize(
    ("vendor", "says"), [("llamacpp", True), ("ollama", None), ("openai-chat", None), ("openai", None)]
)
def test_only_who_calls_one_by_one_is_told(model_request: ModelRequest, vendor: str, says: bool | None) -> None:
    wire = wire_format_of(usual_account(vendor))
    assert json.loads(wire.encode(model_request, EncodedPictures())).get("parallel_tool_calls") is says
    without = json.loads(wire.encode(replace(model_request, tools=()), EncodedPictures()))
    assert "parallel_tool_calls" not in without, "APIs refuse it without tools"


def read(reader: MessageReader, *events: JsonObject) -> str:
    pieces = [piece for event in events for piece in reader.add(json.dumps(event))]
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


def chunk(finish: str | None = None, **delta: object) -> JsonObject:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_text_that_comes_in_parts_is_text() -> None:
    reader = ChatReader()
    parts = [{"type": "text", "text": "Hel"}, {"type": "image", "url": "x"}, None, {"type": "text", "text": "lo."}]
    assert read(reader, chunk(content=parts), chunk("stop", content=[])) == "Hello."
    assert reader.completion().content == (TextBlock(text="Hello."),)


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
