"""Web searches by the provider: allowed, shown, counted, sent back, or refused."""

from collections.abc import AsyncGenerator
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.protocol.codec import objects_in
from desktop_agent.core.protocol.events import HostedCallReported
from desktop_agent.core.protocol.model import (
    AssistantMessage,
    Citation,
    HostedCall,
    JsonObject,
    ModelRef,
    ModelRequest,
    OpaqueBlock,
    TextBlock,
    ToolDefinition,
    UserMessage,
    WebPage,
)
from desktop_agent.core.providers.http_provider import HttpProvider
from desktop_agent.core.providers.provider import Completion, StreamPiece
from desktop_agent.core.providers.provider_catalog import account_provider, key_credential
from tests.core.providers.http.conftest import KEY
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import ModelServer
from tests.servers.script import Answer, Page, Refusal, Whole, block, reply, search, text

OURS = ToolDefinition(
    name="web_search", description="Search.", input_schema={"type": "object"}, hosted_tool="web_search"
)
PYTHON = Page("https://docs.python.org/3/", "Python", quote="round half to even")
PEP = Page("https://peps.python.org/pep-3141/", "PEP 3141")


class Ground(NamedTuple):
    vendor: str
    provider: HttpProvider
    server: ModelServer
    request: ModelRequest

    async def ask(self, *answers: Answer, request: ModelRequest | None = None) -> list[StreamPiece]:
        self.server.will(*answers)
        return [piece async for piece in self.provider.stream(request or self.request)]

    async def completed(self, *answers: Answer, request: ModelRequest | None = None) -> Completion:
        last = (await self.ask(*answers, request=request))[-1]
        assert isinstance(last, Completion)
        return last

    @property
    def tools(self) -> list[JsonObject]:
        return objects_in(self.server.messages[-1].fields, "tools")


SPOKEN: dict[str, Dialect] = {
    "anthropic": ANTHROPIC,
    "openai": RESPONSES,
    "xai": RESPONSES,
    "openrouter": OPENROUTER,
    "openai-chat": CHAT,
    "lmstudio": RESPONSES,
}


@pytest.fixture
async def ground(request: pytest.FixtureRequest, model_request: ModelRequest) -> AsyncGenerator[Ground]:
    vendor: str = request.param
    async with ModelServer(key=KEY, dialect=SPOKEN[vendor]) as server:
        account = replace(usual_account(vendor), address=server.url)
        model = ModelRef(provider=vendor, model=model_request.model, base_url=server.url)
        provider = account_provider(account, key_credential(account, KEY), model=model)
        yield Ground(vendor, provider, server, replace(model_request, tools=(*model_request.tools, OURS)))
        await provider.aclose()
        assert server.violations == []


SEARCHING = ["anthropic", "openai", "xai", "openrouter"]
TELLING = ["anthropic", "openai", "xai"]
"""Vendors that report the query."""


@pytest.mark.parametrize(
    ("ground", "offered"),
    [
        ("anthropic", "web_search_20250305"),
        ("openai", "web_search"),
        ("xai", "web_search"),
        ("openrouter", "openrouter:web_search"),
        ("openai-chat", "function"),
        ("lmstudio", "function"),
    ],
    indirect=["ground"],
)
async def test_the_vendors_own_search_takes_the_place_of_ours_where_there_is_one(ground: Ground, offered: str) -> None:
    await ground.completed(reply(text("Hi.")))
    assert ground.tools[-1]["type"] == offered
    ours = replace(ground.request, tools=(*ground.request.tools[:-1], replace(OURS, hosted_tool=None)))
    await ground.completed(reply(text("Hi.")), request=ours)
    assert ground.tools[-1].get("type", "function") == "function"


@pytest.mark.parametrize("ground", TELLING, indirect=True)
async def test_a_search_is_shown_while_it_runs_and_kept_in_its_place(ground: Ground) -> None:
    pieces = await ground.ask(reply(text("Let me see."), search("bankers rounding", PYTHON, PEP), text("It is even.")))
    shown = [piece.call for piece in pieces if isinstance(piece, HostedCallReported)]
    assert [call.state for call in shown] == ["started", "completed"]
    assert len({call.id for call in shown}) == 1
    assert "bankers rounding" in {call.query for call in shown}
    completion = pieces[-1]
    assert isinstance(completion, Completion)
    kinds = [type(block).__name__ for block in completion.content]
    assert (kinds[0], kinds[-1]) == ("TextBlock", "TextBlock")
    assert set(kinds[1:-1]) == {"OpaqueBlock"}
    found = shown[-1].pages
    if ground.vendor == "anthropic":
        assert found == (WebPage(url=PYTHON.url, title="Python"), WebPage(url=PEP.url, title="PEP 3141"))
    else:  # sources without titles, and of xAI none
        assert found == ((WebPage(url=PYTHON.url), WebPage(url=PEP.url)) if ground.vendor == "openai" else ())


@pytest.mark.parametrize("ground", SEARCHING, indirect=True)
async def test_a_text_names_the_pages_that_it_rests_on(ground: Ground) -> None:
    completion = await ground.completed(reply(search("rounding", PYTHON), text("It is even.", cites=(PYTHON,))))
    [said] = [block for block in completion.content if isinstance(block, TextBlock)]
    [cited] = said.citations
    assert (cited.url, cited.title) == (PYTHON.url, "Python")
    assert cited.quote == ("" if ground.vendor in ("openai", "xai") else "round half to even")
    assert bool(cited.seal) == (ground.vendor == "anthropic")
    assert [block.call for block in completion.content if isinstance(block, OpaqueBlock) and block.call]


@pytest.mark.parametrize("ground", SEARCHING, indirect=True)
async def test_searches_are_counted_because_they_are_charged_for(ground: Ground) -> None:
    completion = await ground.completed(
        reply(search("a", PYTHON), search("b", PEP), text("Both.", cites=(PEP,)), cost=0.02)
    )
    assert completion.usage.web_searches == 2
    assert (await ground.completed(reply(text("None.")))).usage.web_searches == 0


@pytest.mark.parametrize("ground", SEARCHING, indirect=True)
async def test_a_search_goes_back_to_its_vendor_as_it_came(ground: Ground) -> None:
    first = await ground.completed(
        reply(text("Let me see."), search("rounding", PYTHON), text("It is even.", cites=(PYTHON,)))
    )
    own = AssistantMessage(
        content=first.content, made_by=ModelRef(provider=ground.vendor, model="m", base_url=ground.server.url)
    )
    again = UserMessage(content=(TextBlock(text="Are you sure?"),))
    request = replace(ground.request, messages=(*ground.request.messages, own, again))
    await ground.completed(reply(text("Yes.")), request=request)
    sent = str(ground.server.messages[-1].fields)
    assert "It is even." in sent
    if ground.vendor == "anthropic":
        assert all(mark in sent for mark in ("server_tool_use", "web_search_tool_result", "c2VhbGVk", "aW5kZXg="))
    elif ground.vendor != "openrouter":
        assert "web_search_call" in sent


@pytest.mark.parametrize("ground", SEARCHING, indirect=True)
async def test_another_vendor_gets_the_text_and_nothing_of_the_search(ground: Ground) -> None:
    payloads: tuple[JsonObject, ...] = (
        {"type": "server_tool_use", "id": "s1"},
        {"type": "web_search_call", "id": "ws_1"},
    )
    foreign = tuple(OpaqueBlock(payload=payload, call=HostedCall(id="s1")) for payload in payloads)
    said = TextBlock(text="It is even.", citations=(Citation(url=PYTHON.url, seal="sealed-elsewhere"),))
    message = AssistantMessage(content=(*foreign, said), made_by=ModelRef(provider="demo", model="demo"))
    again = UserMessage(content=(TextBlock(text="Are you sure?"),))
    request = replace(ground.request, messages=(*ground.request.messages, message, again))
    await ground.completed(reply(text("Yes.")), request=request)
    sent = str(
        ground.server.messages[-1].fields["messages" if ground.vendor in ("anthropic", "openrouter") else "input"]
    )
    assert "It is even." in sent
    assert not any(mark in sent for mark in ("server_tool_use", "web_search_call", "sealed-elsewhere", PYTHON.url))


@pytest.mark.parametrize("ground", ["anthropic"], indirect=True)
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("max_uses_exceeded", "The model may not search more often in one answer."),
        ("too_many_requests", "The provider has too many searches at the moment."),
        ("unavailable", "The provider's search is not available at the moment."),
        ("invalid_tool_input", "The provider could not use what the model wanted to search for."),
        ("query_too_long", "What the model wanted to search for is too long."),
        ("something_new", "The provider's search failed: something_new."),
    ],
)
async def test_a_search_that_failed_says_why_in_words(ground: Ground, code: str, words: str) -> None:
    pieces = await ground.ask(reply(search("rounding", error=code), text("I could not look.")))
    last = [piece.call for piece in pieces if isinstance(piece, HostedCallReported)][-1]
    assert (last.state, last.error) == ("failed", words)


@pytest.mark.parametrize("ground", ["openai", "xai"], indirect=True)
async def test_a_failed_search_is_not_charged_for(ground: Ground) -> None:
    completion = await ground.completed(reply(search("rounding", error="failed"), text("I could not look.")))
    [call] = [block.call for block in completion.content if isinstance(block, OpaqueBlock)]
    assert call is not None
    assert (call.state, completion.usage.web_searches) == ("failed", 0)


@pytest.mark.parametrize(
    ("action", "tool", "query"),
    [
        ({"type": "open_page", "url": "https://a.example"}, "web_fetch", "https://a.example"),
        (
            {"type": "find_in_page", "url": "https://a.example", "pattern": "half"},
            "web_fetch",
            "half — https://a.example",
        ),
        ({"type": "search", "queries": ["a", "b"]}, "web_search", "a, b"),
    ],
)
@pytest.mark.parametrize("ground", ["openai"], indirect=True)
async def test_what_a_model_did_on_the_web_is_told(ground: Ground, action: JsonObject, tool: str, query: str) -> None:
    item: JsonObject = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": action}
    completion = await ground.completed(reply(block(item), text("Done.")))
    assert isinstance(opaque := completion.content[0], OpaqueBlock)
    assert opaque.call is not None
    assert (opaque.call.tool, opaque.call.query) == (tool, query)
    assert completion.usage.web_searches == (tool == "web_search")


REFUSED: dict[str, Answer] = {
    "anthropic": Refusal(400, "invalid_request_error", "tools.2: this model does not support web_search_20250305"),
    "openai": Whole(400, {"error": {"message": "Unsupported.", "type": "invalid_request_error", "param": "tools"}}),
    "xai": Whole(403, {"error": {"message": "web_search is not enabled for this team", "type": "permission"}}),
    "openrouter": Refusal(400, "invalid_request_error", "Invalid value: 'openrouter:web_search'"),
}


@pytest.mark.parametrize("ground", SEARCHING, indirect=True)
async def test_a_model_that_does_not_take_the_search_gets_ours_from_then_on(ground: Ground) -> None:
    await ground.completed(REFUSED[ground.vendor], reply(text("Hi.")))
    assert ground.tools[-1].get("type", "function") == "function"
    await ground.completed(reply(text("Again.")))
    assert len(ground.server.messages) == 3
    with pytest.raises(ProviderError):
        await ground.completed(REFUSED[ground.vendor])
    assert len(ground.server.messages) == 4, "it is not asked again for what was not offered"
