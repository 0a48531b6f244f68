"""The API accepts the request of every conversation."""

import json
from base64 import b64decode
from typing import cast

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    BlobRef,
    Citation,
    JsonObject,
    Message,
    ModelRequest,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.providers.anthropic import AnthropicFormat
from desktop_agent.core.providers.wire_format import PICTURE_GONE, EncodedPictures
from tests.pictures import png
from tests.servers.validation.anthropic import check_request

CACHED = {"type": "ephemeral"}
READ_FILE = ToolDefinition(name="read_file", description="Read a file.", input_schema={"type": "object"})
EDIT_FILE = ToolDefinition(name="edit_file", description="Edit a file.", input_schema={"type": "object"})


def said(*blocks: TextBlock | ToolResultBlock | str) -> UserMessage:
    return UserMessage(content=tuple(TextBlock(text=block) if isinstance(block, str) else block for block in blocks))


def answered(*blocks: AssistantBlock | str) -> AssistantMessage:
    return AssistantMessage(
        content=tuple(TextBlock(text=block) if isinstance(block, str) else block for block in blocks)
    )


def call(call_id: str = "toolu_1", name: str = "read_file", **arguments: object) -> ToolUseBlock:
    return ToolUseBlock(id=call_id, name=name, arguments=arguments)


def result(call_id: str = "toolu_1", content: str = "ok", *, is_error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(call_id=call_id, content=content, is_error=is_error)


def body_of(
    *messages: Message, system: str = "Be careful.", tools: tuple[ToolDefinition, ...] = (READ_FILE,), stable: int = 0
) -> JsonObject:
    request = ModelRequest(
        model="m", system=system, messages=messages, tools=tools, max_tokens=100, stable_messages=stable
    )
    body = cast("JsonObject", json.loads(AnthropicFormat().encode(request, EncodedPictures())))
    assert check_request(body) == []
    return body


def contents(body: JsonObject) -> list[list[JsonObject]]:
    return [cast("list[JsonObject]", message["content"]) for message in cast("list[JsonObject]", body["messages"])]


def test_a_first_request_is_exactly_this() -> None:
    assert body_of(said("Hello."), tools=(READ_FILE, EDIT_FILE)) == {
        "model": "m",
        "max_tokens": 100,
        "stream": True,
        "system": [{"type": "text", "text": "Be careful.", "cache_control": CACHED}],
        "tools": [
            {"name": "read_file", "description": "Read a file.", "input_schema": {"type": "object"}},
            {
                "name": "edit_file",
                "description": "Edit a file.",
                "input_schema": {"type": "object"},
                "cache_control": CACHED,
            },
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hello.", "cache_control": CACHED}]},
        ],
    }


def test_without_system_prompt_and_tools_neither_is_sent() -> None:
    assert body_of(said("Hello."), system=" ", tools=()).keys() == {"model", "max_tokens", "stream", "messages"}


def test_a_whole_turn_goes_back_block_by_block() -> None:
    """R-09, Z-57: a result has only keys that the API knows."""
    body = body_of(
        said("Fix it."),
        answered(
            ThinkingBlock(thinking="Hm.", signature="sig"),
            RedactedThinkingBlock(data="xyz"),
            "Looking.",
            call(path="a.py"),
            call("toolu_2"),
        ),
        said(result(content="text"), result("toolu_2", "No such file.", is_error=True), "Hurry."),
    )
    assert contents(body)[1:] == [
        [
            {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.py"}},
            {"type": "tool_use", "id": "toolu_2", "name": "read_file", "input": {}},
        ],
        [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "No such file.", "is_error": True},
            {"type": "text", "text": "Hurry.", "cache_control": CACHED},
        ],
    ]


def test_a_rejected_call_goes_back_as_a_call_without_the_reason() -> None:
    rejected = ToolUseBlock(id="toolu_1", name="read_file", arguments={}, rejected="The arguments are not valid JSON.")
    body = body_of(said("Go."), answered(rejected), said(result(content="Not run.", is_error=True)))
    assert contents(body)[1] == [{"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}]


SEARCH: JsonObject = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND: JsonObject = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "c2VhbGVk"}
    ],
}


def opaque(*payloads: JsonObject) -> list[OpaqueBlock]:
    return [OpaqueBlock(payload=payload) for payload in payloads]


def test_a_citation_goes_back_with_its_seal_and_without_one_not_at_all() -> None:
    sealed = Citation(url="https://a.example", title="A", quote="q", seal="aW5kZXg=")
    told = Citation(url="https://b.example")
    cited = TextBlock(text="So it is.", citations=(sealed, told))
    body = body_of(said("Search."), answered(*opaque(SEARCH, FOUND), cited), said("Go on."))
    assert contents(body)[1][-1]["citations"] == [
        {
            "type": "web_search_result_location",
            "url": "https://a.example",
            "title": "A",
            "cited_text": "q",
            "encrypted_index": "aW5kZXg=",
        }
    ]


def test_a_paused_search_goes_on_in_the_next_request() -> None:
    assert contents(body_of(said("Search."), answered(*opaque(SEARCH))))[1] == [SEARCH]
    body = body_of(said("Search."), answered(*opaque(SEARCH), call()), said(result()))
    assert contents(body)[1][0] == SEARCH


def test_half_a_search_is_left_out_when_the_conversation_went_elsewhere() -> None:
    for half in (SEARCH, FOUND):
        body = body_of(said("Search."), answered(*opaque(half), "Hm."), said("Something else."))
        assert contents(body)[1] == [{"type": "text", "text": "Hm."}]


def test_a_message_that_has_nothing_left_disappears_and_its_neighbours_are_joined() -> None:
    body = body_of(said("One."), answered("", ThinkingBlock(thinking="Hm.", signature="")), said("Two."))
    assert contents(body) == [
        [{"type": "text", "text": "One."}, {"type": "text", "text": "Two.", "cache_control": CACHED}]
    ]


def test_results_stay_first_when_messages_are_joined() -> None:
    body = body_of(said("Go."), answered(call()), said("Wait."), said(result()))
    assert [block["type"] for block in contents(body)[2]] == ["tool_result", "text"]


def test_a_breakpoint_stands_behind_what_was_sent_before() -> None:
    body = body_of(said("One."), answered("Two."), said("Three."), stable=1)
    marked = [[block.get("cache_control") for block in blocks] for blocks in contents(body)]
    assert marked == [[CACHED], [None], [CACHED]]


def test_a_breakpoint_never_stands_on_thinking() -> None:
    thought = answered("Text.", ThinkingBlock(thinking="Hm.", signature="sig"))
    body = body_of(said("One."), thought, said("Two."), stable=2)
    assert contents(body)[1] == [
        {"type": "text", "text": "Text.", "cache_control": CACHED},
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
    ]


def test_a_breakpoint_moves_to_the_message_before_when_one_cannot_carry_it() -> None:
    body = body_of(said("One."), answered(ThinkingBlock(thinking="Hm.", signature="sig")), said("Two."), stable=2)
    assert contents(body)[0][0]["cache_control"] == CACHED


def test_an_answer_that_was_paused_goes_back_last() -> None:
    body = body_of(said("Go."), answered("I was saying"))
    assert contents(body)[1] == [{"type": "text", "text": "I was saying", "cache_control": CACHED}]


def test_half_a_character_never_gets_into_a_request() -> None:
    body = body_of(said("a\ud800b"), answered(call(path="\udc80")), said(result(content="\ud83d\ude00")))
    assert contents(body)[0][0]["text"] == "a\ufffdb"
    assert contents(body)[1][0]["input"] == {"path": "\ufffd"}
    assert contents(body)[2][0]["content"] == "😀"


def test_a_schema_without_a_type_is_one_of_an_object() -> None:
    tool = ToolDefinition(name="noop", description=" ", input_schema={})
    assert body_of(said("Go."), tools=(tool,))["tools"] == [
        {"name": "noop", "input_schema": {"type": "object"}, "cache_control": CACHED}
    ]


@pytest.mark.parametrize("name", ["", "has space", "dot.ted", "ü", "x" * 129])
def test_a_tool_that_cannot_be_offered_is_named(name: str) -> None:
    tool = ToolDefinition(name=name, description="", input_schema={})
    request = ModelRequest(model="m", system="", messages=(said("Go."),), tools=(tool,), max_tokens=1)
    with pytest.raises(ProviderError, match=f"“{name}”") as caught:
        AnthropicFormat().encode(request, EncodedPictures())
    assert caught.value.fault == "invalid_request"


# --- pictures -----------------------------------------------------------------------------------------------------

PICTURE = BlobRef(blob="a" * 64, size=len(png()), media_type="image/png")
OTHER = BlobRef(blob="b" * 64, size=3, media_type="image/webp")


def looking(*pictures: BlobRef, content: str = "[a.png]", **images: bytes) -> ModelRequest:
    """A request with one result with pictures; `images` are their bytes by the digest's first letter."""
    shown = replace(result(content=content), images=pictures)
    return ModelRequest(
        model="m",
        system="",
        messages=(said("Look."), answered(call(name="view_image")), said(shown)),
        tools=(),
        max_tokens=1,
        images={letter * 64: data for letter, data in images.items()},
    )


def blocks_of(request: ModelRequest, pictures: EncodedPictures | None = None) -> list[JsonObject]:
    body = cast("JsonObject", json.loads(AnthropicFormat().encode(request, pictures or EncodedPictures())))
    assert check_request(body) == []
    return cast("list[JsonObject]", contents(body)[2][0]["content"])


def test_a_picture_stands_behind_the_text_of_its_result() -> None:  # T-110
    text, image = blocks_of(looking(PICTURE, a=png()))
    assert text == {"type": "text", "text": "[a.png]"}
    source = cast("JsonObject", image["source"])
    assert (image["type"], source["type"], source["media_type"]) == ("image", "base64", "image/png")
    assert b64decode(cast("str", source["data"])) == png()


def test_a_picture_may_come_without_text_and_twice() -> None:
    first, second, other = blocks_of(looking(PICTURE, PICTURE, OTHER, content=" ", a=png(), b=b"abc"))
    assert first == second
    assert cast("JsonObject", other["source"])["data"] == "YWJj"


def test_a_picture_that_is_gone_leaves_a_word() -> None:
    strange = replace(PICTURE, media_type="image/bmp")
    gone = {"type": "text", "text": PICTURE_GONE}
    assert blocks_of(looking(OTHER, strange, a=png()))[1:] == [gone, gone]


def test_a_result_with_a_picture_can_carry_a_breakpoint() -> None:
    body = cast("JsonObject", json.loads(AnthropicFormat().encode(looking(PICTURE, a=png()), EncodedPictures())))
    assert contents(body)[2][0]["cache_control"] == CACHED


def test_a_picture_is_encoded_once_and_forgotten_when_it_is_no_longer_sent() -> None:
    pictures = EncodedPictures()
    first = pictures.encode({"a": b"one", "b": b"two"})
    second = pictures.encode({"b": b"two", "c": b"three"})
    assert second["b"] is first["b"]
    assert pictures.encode({"a": b"one"})["a"] is not first["a"]


def test_text_that_looks_like_a_picture_stays_text() -> None:
    """The placeholder of a picture's data is a token that no program can guess."""
    text, _image = blocks_of(looking(PICTURE, content=f"00000000000000000000000000000000:{'a' * 64}", a=png()))
    assert text["text"] == f"00000000000000000000000000000000:{'a' * 64}"
