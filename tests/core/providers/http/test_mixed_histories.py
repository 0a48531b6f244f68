"""A conversation of several vendors' models is a valid request to each of them.

Each API's rules decide (`tests/servers/validation`); the type checker proves the shape of what is sent.
"""

import json
from base64 import b64encode
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.context.history import is_readable_by
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    BlobRef,
    Citation,
    HostedCall,
    ImageBlock,
    Message,
    ModelRef,
    ModelRequest,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    WebPage,
)
from desktop_agent.core.providers.http_provider import strip_foreign_thinking
from desktop_agent.core.providers.provider_catalog import wire_format_of
from desktop_agent.core.providers.wire_format import EncodedPictures
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES


class Speaker(NamedTuple):
    model: ModelRef
    thought: tuple[AssistantBlock, ...]
    searched: tuple[AssistantBlock, ...] = ()
    """The blocks of a vendor's own search, and a text that cites it."""


CLAUDE = Speaker(
    ModelRef(provider="anthropic", model="claude-sonnet-5-5"),
    (ThinkingBlock(thinking="Hm.", signature="c2ln"), RedactedThinkingBlock(data="ZGF0YQ==")),
    (
        OpaqueBlock(
            payload={"type": "server_tool_use", "id": "srv_0", "name": "web_search", "input": {"query": "q"}},
            call=HostedCall(id="srv_0", query="q", state="started"),
        ),
        OpaqueBlock(
            payload={
                "type": "web_search_tool_result",
                "tool_use_id": "srv_0",
                "content": [
                    {
                        "type": "web_search_result",
                        "url": "https://a.example",
                        "title": "A",
                        "encrypted_content": "Zm91bmQ=",
                    }
                ],
            },
            call=HostedCall(id="srv_0", pages=(WebPage(url="https://a.example", title="A"),)),
        ),
        TextBlock(text="Found.", citations=(Citation(url="https://a.example", title="A", seal="aW5kZXg="),)),
    ),
)
GPT = Speaker(
    ModelRef(provider="openai", model="gpt-6.1-sol"),
    (
        ThinkingBlock(thinking="Hm.", signature=""),
        OpaqueBlock(payload={"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "c2VhbGVk"}),
        OpaqueBlock(payload={"type": "message", "phase": "commentary"}),
    ),
    (
        OpaqueBlock(
            payload={
                "type": "web_search_call",
                "id": "ws_0",
                "status": "completed",
                "action": {"type": "search", "query": "q", "sources": [{"type": "url", "url": "https://a.example"}]},
            },
            call=HostedCall(id="ws_0", query="q"),
        ),
        TextBlock(text="Found.", citations=(Citation(url="https://a.example", title="A"),)),
    ),
)
ROUTED = Speaker(
    ModelRef(provider="openrouter", model="vendor/model"),
    (
        ThinkingBlock(thinking="Hm.", signature="reasoning_details"),
        OpaqueBlock(payload={"reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "index": 0}]}),
    ),
    (
        OpaqueBlock(payload={}, call=HostedCall(id="search_1")),
        TextBlock(text="Found.", citations=(Citation(url="https://a.example", title="A", quote="q"),)),
    ),
)
PLAIN = Speaker(ModelRef(provider="openai-chat", model="gpt-5.4-mini"), ())
SCRIPTED = Speaker(ModelRef(provider="demo", model="demo"), (ThinkingBlock(thinking="Hm.", signature="demo"),))

ASKED: dict[str, tuple[ModelRef, Dialect]] = {
    "anthropic": (CLAUDE.model, ANTHROPIC),
    "openai": (GPT.model, RESPONSES),
    "openai-chat": (PLAIN.model, CHAT),
    "openrouter": (ROUTED.model, OPENROUTER),
}

SEEN = Digest("a" * 64)

texts = st.text(st.characters(exclude_categories=()), max_size=12)  # also halves of surrogate pairs
names = st.sampled_from(["read_file", "edit file", "mcp:a/b", "x" * 130, "", "ü"])
pictures = st.lists(
    st.sampled_from(
        [
            BlobRef(blob=SEEN, size=4, media_type="image/png"),
            BlobRef(blob=Digest("b" * 64), size=4, media_type="image/jpeg"),  # it is gone
            BlobRef(blob=SEEN, size=4, media_type="image/svg+xml"),  # no model takes it
        ]
    ),
    max_size=2,
).map(tuple)
ids = st.sampled_from(["toolu_1", "call.1", "fc|1", "c" * 70, "9", "ü \ud800"])


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    messages: list[Message] = [UserMessage(content=(TextBlock(text="Begin."),))]
    number = 0
    for turn in range(draw(st.integers(0, 5))):
        speaker = draw(st.sampled_from([CLAUDE, GPT, ROUTED, PLAIN, SCRIPTED]))
        calls: list[ToolUseBlock] = []
        for _ in range(draw(st.integers(0, 2))):
            number += 1
            call_id = f"{draw(ids)}-{number}"
            calls.append(
                ToolUseBlock(id=call_id, name=draw(names), arguments={draw(texts): draw(texts)}, rejected=draw(texts))
            )
        thought = tuple(_of_turn(block, turn) for block in speaker.thought) if draw(st.booleans()) else ()
        searched = tuple(_of_turn(block, turn) for block in speaker.searched)
        # A stopped turn may leave any part of a search behind.
        searched = searched[draw(st.integers(0, 3)) : draw(st.integers(0, 3))]
        said = (TextBlock(text=draw(texts)),) if draw(st.booleans()) or not calls else ()
        messages.append(AssistantMessage(content=(*thought, *searched, *said, *calls), made_by=speaker.model))
        results = [
            ToolResultBlock(call_id=call.id, content=draw(texts), is_error=draw(st.booleans()), images=draw(pictures))
            for call in calls
        ]
        asked = [TextBlock(text=draw(texts))] if draw(st.booleans()) or not calls else []
        shown = [ImageBlock(image=image) for image in draw(pictures)]
        messages.append(UserMessage(content=(*results, *shown, *asked)))
    messages.append(UserMessage(content=(TextBlock(text="Go on."),)))
    return tuple(messages)


def seen_by_all(messages: tuple[Message, ...]) -> list[BlobRef]:
    """Return the pictures that every vendor takes. Anthropic takes only text for failed calls."""
    blocks = [block for message in messages if isinstance(message, UserMessage) for block in message.content]
    results = [block for block in blocks if isinstance(block, ToolResultBlock) and not block.is_error]
    images = [block.image for block in blocks if isinstance(block, ImageBlock)]
    return [
        image
        for image in (*images, *(image for result in results for image in result.images))
        if image.media_type == "image/png"
    ]


def _of_turn(block: AssistantBlock, turn: int) -> AssistantBlock:
    """Return a block as it comes in this turn, with item ids of its own."""
    if not isinstance(block, OpaqueBlock):
        return block
    own = {
        key: f"{value[:-1]}{turn}" for key in ("id", "tool_use_id") if isinstance(value := block.payload.get(key), str)
    }
    return OpaqueBlock(payload=block.payload | own, call=block.call)


def body_for(provider: str, messages: tuple[Message, ...], **more: object) -> tuple[object, Dialect]:
    model, dialect = ASKED[provider]
    request = ModelRequest(
        model=model.model,
        system="You are careful.",
        messages=messages,
        tools=(
            ToolDefinition(name="read_file", description="Read.", input_schema={"type": "object"}),
            ToolDefinition(
                name="web_search", description="Search.", input_schema={"type": "object"}, hosted_tool="web_search"
            ),
        ),
        max_tokens=1024,
        images={SEEN: b"\x89PNG"},
    )
    request = replace(request, **more)
    return json.loads(
        wire_format_of(usual_account(provider)).encode(strip_foreign_thinking(request, model), EncodedPictures())
    ), dialect


@pytest.mark.parametrize("provider", ASKED)
@given(
    messages=histories(),
    effort=st.sampled_from(["", "low", "medium", "high", "xhigh", "max"]),
    stable=st.integers(0, 12),
    pinned=st.sampled_from(["", "Keep it short."]),
)
def test_whatever_was_said_by_whom_each_gets_a_request_that_its_api_takes(
    provider: str, messages: tuple[Message, ...], effort: str, stable: int, pinned: str
) -> None:
    stable = min(stable, len(messages))
    body, dialect = body_for(provider, messages, effort=effort, stable_messages=stable, pinned=pinned)
    assert dialect.violations(dialect.answers_at, body) == []
    sent = json.dumps(body)
    if SEEN in {image.blob for image in seen_by_all(messages)}:
        assert b64encode(b"\x89PNG").decode() in sent, "no picture is lost on the way to another vendor"
    assert SEEN not in sent, "what stands for a picture until it is put in is gone"


@pytest.mark.parametrize(
    ("provider", "kept"),
    [("anthropic", "c2ln"), ("openai", "c2VhbGVk"), ("openrouter", "reasoning.text"), ("openai-chat", "Said.")],
)
def test_each_gets_back_its_own_thinking_and_no_other(provider: str, kept: str) -> None:
    marks = {"c2ln", "ZGF0YQ==", "c2VhbGVk", "reasoning.text"}
    messages: list[Message] = []
    for speaker in (CLAUDE, GPT, ROUTED, PLAIN, SCRIPTED):
        messages.append(UserMessage(content=(TextBlock(text="Go on."),)))
        messages.append(AssistantMessage(content=(*speaker.thought, TextBlock(text="Said.")), made_by=speaker.model))
    messages.append(UserMessage(content=(TextBlock(text="Go on."),)))
    sent = json.dumps(body_for(provider, tuple(messages))[0])
    own = {"anthropic": {"c2ln", "ZGF0YQ=="}}.get(provider, {kept} & marks)
    assert kept in sent
    assert {mark for mark in marks if mark in sent} == own
    assert sent.count("Said.") == 5


@pytest.mark.parametrize(
    ("provider", "own"),
    [
        ("anthropic", {"Zm91bmQ=", "aW5kZXg="}),
        ("openai", {"ws_0"}),
        ("openrouter", set[str]()),
        ("openai-chat", set[str]()),
    ],
)
def test_each_gets_back_what_its_own_vendor_found_and_of_the_others_the_text(provider: str, own: set[str]) -> None:
    marks = {"Zm91bmQ=", "aW5kZXg=", "ws_0", "https://a.example"}
    messages: list[Message] = []
    for speaker in (CLAUDE, GPT, ROUTED):
        messages.append(UserMessage(content=(TextBlock(text="Look."),)))
        messages.append(AssistantMessage(content=speaker.searched, made_by=speaker.model))
    messages.append(UserMessage(content=(TextBlock(text="Go on."),)))
    sent = json.dumps(body_for(provider, tuple(messages))[0])
    assert {mark for mark in marks if mark in sent} == (own | {"https://a.example"} if own else own)
    assert sent.count("Found.") == 3


def test_a_model_that_is_to_think_more_is_the_same_model() -> None:
    before = AssistantMessage(content=CLAUDE.thought, made_by=replace(CLAUDE.model, effort="low"))
    assert is_readable_by(before, replace(CLAUDE.model, effort="high"))
    assert not is_readable_by(before, GPT.model)


def test_the_cached_beginning_is_still_told_when_messages_are_left_out() -> None:
    only_thought = AssistantMessage(content=CLAUDE.thought, made_by=CLAUDE.model)
    user = UserMessage(content=(TextBlock(text="Go on."),))
    own = AssistantMessage(content=(TextBlock(text="Mine."),), made_by=GPT.model)
    request = ModelRequest(
        model="m", system="", messages=(user, only_thought, user, own, user), tools=(), max_tokens=1, stable_messages=4
    )
    fitted = strip_foreign_thinking(request, GPT.model)
    assert fitted.messages == (user, user, own, user)
    assert fitted.stable_messages == 3
