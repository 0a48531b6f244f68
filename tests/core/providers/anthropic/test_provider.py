"""The provider on real sockets: requests, answers, and failures without the key."""

import asyncio
import gc
import json
import logging
import ssl
import traceback
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest
from msgspec import structs

from desktop_agent.core.base.errors import ProviderError, ProviderFault
from desktop_agent.core.protocol.events import TextDelta
from desktop_agent.core.protocol.model import (
    AssistantMessage,
    BlobRef,
    ModelRequest,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.providers.http_provider import HttpProvider
from desktop_agent.core.providers.provider import Completion, StreamPiece
from desktop_agent.core.system.files import digest_of
from tests.core.providers.anthropic.conftest import KEY
from tests.pictures import png
from tests.providers import anthropic_provider
from tests.servers import fault
from tests.servers.anthropic_server import MODELS, AnthropicServer
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.dialect import Ask
from tests.servers.rude_server import RudeServer
from tests.servers.script import Answer, Event, Fault, reply, text, tool_use


async def pieces_of(provider: HttpProvider, request: ModelRequest) -> list[StreamPiece]:
    return [piece async for piece in provider.stream(request)]


def last_of(pieces: list[StreamPiece]) -> Completion:
    assert isinstance(pieces[-1], Completion)
    return pieces[-1]


Asking = Callable[..., Awaitable[list[StreamPiece]]]


@pytest.fixture
def ask(server: AnthropicServer, provider: HttpProvider, model_request: ModelRequest) -> Asking:
    """Return a function that sends the request and has the server give these answers."""

    async def ask(*answers: Answer) -> list[StreamPiece]:
        server.will(*answers)
        return await pieces_of(provider, model_request)

    return ask


async def test_a_picture_reaches_the_model_and_is_sent_again_with_the_next_request(
    server: AnthropicServer, provider: HttpProvider, model_request: ModelRequest, ask: Asking
) -> None:  # T-110
    server.will(reply(tool_use("view_image", path="a.png")), reply(text("Black.")), reply(text("Still black.")))
    first = last_of(await ask())
    (call,) = (block for block in first.content if isinstance(block, ToolUseBlock))
    digest = digest_of(png())
    picture = BlobRef(blob=digest, size=len(png()), media_type="image/png")
    shown = ToolResultBlock(call_id=call.id, content="[a.png]", images=(picture,))
    messages = (*model_request.messages, AssistantMessage(content=first.content), UserMessage(content=(shown,)))
    looking = structs.replace(model_request, messages=messages, images={digest: png()})
    for _ in range(2):
        assert last_of(await pieces_of(provider, looking)).stop_reason == "end_turn"
    assert server.violations == []
    for exchange in server.messages[1:]:
        assert b64encode(png()).decode() in json.dumps(exchange.body)


async def test_a_key_from_the_environment_is_never_used_instead(
    monkeypatch: pytest.MonkeyPatch, server: AnthropicServer, ask: Asking
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-somebody-elses")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "somebody-elses-token")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    await ask(reply(text("Hi.")))
    assert server.messages[0].headers["authorization"] == f"Bearer {KEY}"


async def test_headers_that_the_environment_names_go_with_every_request(
    monkeypatch: pytest.MonkeyPatch, server: AnthropicServer, model_request: ModelRequest
) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Team: a: b\nno header\nanthropic-version: 2027-01-01")
    provider = anthropic_provider(api_key=KEY, base_url=server.url)
    server.will(reply(text("Hi.")))
    await pieces_of(provider, model_request)
    await provider.context_window("claude-test")
    for exchange in server.exchanges:
        assert (exchange.headers["x-team"], exchange.headers["anthropic-version"]) == ("a: b", "2027-01-01")
        assert exchange.headers["user-agent"].startswith("desktop-agent/")
    await provider.aclose()


async def test_a_connection_is_used_again(server: AnthropicServer, ask: Asking) -> None:
    server.will(*[reply(text("Hi.")) for _ in range(3)])
    for _ in range(3):
        await ask()
    assert server.connections_made == 1


async def test_a_message_is_whole_even_if_its_response_never_ends(ask: Asking) -> None:
    whole = len(list(ANTHROPIC.events(reply(text("Hi.")), Ask(1, {}))))
    assert last_of(await ask(reply(text("Hi."), fault.stall_after(events=whole)))).stop_reason == "end_turn"


async def test_two_answers_at_once_do_not_mix(server: AnthropicServer, ask: Asking) -> None:
    server.will(reply(text("a" * 50)), reply(text("b" * 50)))
    both = await asyncio.gather(ask(), ask())
    for pieces in both:
        assert len({letter for piece in pieces if isinstance(piece, TextDelta) for letter in piece.text}) == 1


async def test_closing_the_provider_breaks_an_open_stream(
    server: AnthropicServer, provider: HttpProvider, model_request: ModelRequest
) -> None:
    server.will(reply(text("And then"), fault.stall_after(events=3)))
    stream = provider.stream(model_request)
    async with aclosing(stream):
        await anext(stream)
        await provider.aclose()
        with pytest.raises(ProviderError) as caught:
            await anext(stream)
    assert caught.value.fault == "stream"
    await server.messages[0].is_over.wait()


async def test_a_closed_provider_refuses_to_be_used(provider: HttpProvider, ask: Asking) -> None:
    await provider.aclose()
    with pytest.raises(RuntimeError, match="closed"):
        await ask()


async def test_a_provider_closed_while_it_gets_ready_stays_closed(
    server: AnthropicServer, provider: HttpProvider
) -> None:
    getting_ready = asyncio.create_task(provider.list_models())
    await asyncio.sleep(0)
    await provider.aclose()
    with pytest.raises(RuntimeError, match="closed"):
        await getting_ready
    assert server.exchanges == []


async def test_nothing_is_left_for_the_garbage_collector_to_complain_about(ask: Asking) -> None:
    await ask(reply(text("One.")), reply(text("Two."), fault.drop_after(events=3)))
    with pytest.raises(ProviderError):
        await ask()
    gc.collect()  # a warning from here fails the test
    assert {task for task in asyncio.all_tasks() if "httpx" in repr(task)} == set()


# --- keys and models ----------------------------------------------------------------------------------------------


async def test_the_windows_of_the_models_that_can_be_used_are_known(provider: HttpProvider) -> None:
    retired = [str(model["id"]) for model in MODELS if model["lifecycle"] == "retired"]
    assert await provider.context_window("claude-test-large") == 200_000
    assert [await provider.context_window(model) for model in retired] == [None] * len(retired)
    assert retired


async def test_a_sparse_list_of_a_gateway_is_read_as_far_as_it_goes() -> None:
    sparse: list[dict[str, object]] = [
        {"id": "local"},
        {"name": "no id"},
        {"id": "b", "max_input_tokens": True},
        {"id": "c", "max_input_tokens": 9},
    ]
    async with AnthropicServer(models=sparse) as server:
        provider = anthropic_provider(api_key=KEY, base_url=server.url)
        assert [await provider.context_window(model) for model in ("local", "b", "c")] == [None, None, 9]
        await provider.aclose()


@pytest.mark.parametrize("path", ["/elsewhere", "/v1"])
async def test_an_address_with_a_wrong_path_is_no_api(server: AnthropicServer, path: str) -> None:
    provider = anthropic_provider(api_key=KEY, base_url=server.url + path)
    with pytest.raises(ProviderError, match="not in the format of this model's API") as caught:
        await provider.context_window("claude-test")
    assert caught.value.fault == "not_found"
    await provider.aclose()


async def failure(provider: HttpProvider, request: ModelRequest) -> ProviderError:
    pieces: list[StreamPiece] = []

    async def consume() -> None:
        async for piece in provider.stream(request):
            pieces.append(piece)  # noqa: PERF401 - what came before the failure matters

    with pytest.raises(ProviderError) as caught:
        await consume()
    assert not any(isinstance(piece, Completion) for piece in pieces)
    assert KEY not in everything_shown(caught.value)
    return caught.value


Failed = Callable[[Answer], Awaitable[ProviderError]]


@pytest.fixture
def failed(server: AnthropicServer, provider: HttpProvider, model_request: ModelRequest) -> Failed:
    """Return a function that returns the error of a request with this answer."""

    async def failed(answer: Answer) -> ProviderError:
        server.will(answer)
        return await failure(provider, model_request)

    return failed


def everything_shown(error: ProviderError) -> str:
    return "\n".join([repr(error), str(error), error.hint, error.detail, *traceback.format_exception(error)])


# --- the API refuses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected", "title"),
    [
        (fault.status(403, "permission_error", "no"), "permission", "This key may not use claude-test-large."),
        (fault.status(400, "invalid_request_error", "no"), "invalid_request", "The request was refused as invalid."),
        (fault.status(413, "request_too_large", "no"), "too_large", "The conversation has become too large"),
        (fault.status(413, "invalid_request_error", "no"), "too_large", "The conversation has become too large"),
        (fault.status(402, "billing_error", "no"), "billing", "The account has no credit"),
        (fault.rate_limited(code="enforced_spend_limit_reached"), "billing", "The account has no credit"),
        (fault.status(400, "invalid_request_error", "no", code="organization_on_hold"), "billing", "The account has"),
        (fault.status(408, "timeout", "no"), "server", "The model's service had an internal error."),
        (fault.status(409, "conflict_error", "no"), "server", "The model's service had an internal error."),
        (fault.status(503, "api_error", "no"), "overloaded", "The model's service is overloaded."),
        (fault.status(504, "timeout_error", "no"), "overloaded", "The model's service is overloaded."),
        (fault.status(418, "brand_new_error", "no"), "invalid_request", "The request was refused as invalid."),
    ],
)
async def test_every_refusal_is_told_apart_and_explained(
    failed: Failed, answer: Answer, expected: ProviderFault, title: str
) -> None:
    error = await failed(answer)
    assert error.fault == expected
    assert error.title.startswith(title)
    assert error.hint
    assert "req_0001" in error.detail


async def test_the_details_hold_what_support_asks_for(failed: Failed) -> None:
    error = await failed(fault.overloaded())
    assert error.detail == "HTTP 529 · overloaded_error · request req_0001\nOverloaded"


async def test_a_key_that_the_server_repeats_is_hidden(failed: Failed) -> None:
    for answer in (fault.unauthorized(f"unknown key {KEY}"), fault.page(f"<p>Bearer {KEY}</p>", 401)):
        assert "***" in (await failed(answer)).detail


async def test_nothing_is_logged_that_holds_the_key(
    server: AnthropicServer,
    provider: HttpProvider,
    model_request: ModelRequest,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for library in ("", "httpx2", "httpcore2"):  # the window's own log turns them down
        caplog.set_level(logging.DEBUG, library)
    server.will(fault.unauthorized(), reply(text("Hi.")))
    await failure(provider, model_request)
    async for _ in provider.stream(model_request):
        pass
    assert caplog.records
    assert KEY not in caplog.text
    assert KEY not in repr(provider)


# --- the stream breaks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("break_", "expected"),
    [
        (fault.drop_after(size=300), "stream"),
        (fault.close_after(size=555), "stream"),
        (fault.end_after(size=700), "stream"),
        (fault.error_after(events=1, type="rate_limit_error"), "rate_limited"),
        (fault.error_after(events=4, type="api_error"), "server"),
        (fault.error_after(events=4, type="invalid_request_error"), "invalid_request"),
        (fault.error_after(events=4, type="brand_new_error"), "server"),
        (fault.garbage_after(events=3, data=b"[]"), "stream"),
        (fault.garbage_after(events=3, data=b'{"type": "content_block_delta", "index": 9, "delta": {}}'), "stream"),
        (Fault("insert", events=2, event=Event("error", b"not json"), is_last=True), "stream"),
    ],
)
async def test_a_stream_that_breaks_is_told_apart(failed: Failed, break_: Fault, expected: ProviderFault) -> None:
    error = await failed(reply(text("This is a long enough answer."), tool_use("edit_file", path="a.py"), break_))
    assert error.fault == expected
    assert error.title
    assert error.hint


async def test_an_answer_that_stalls_is_a_network_fault(server: AnthropicServer, model_request: ModelRequest) -> None:
    provider = anthropic_provider(api_key=KEY, base_url=server.url, silence_s=0.05)
    server.will(reply(text("And then"), fault.stall_after(events=3)))
    error = await failure(provider, model_request)
    assert error.fault == "network"
    assert error.title == "The model stopped answering."
    exchange = await server.request(1)
    await exchange.is_over.wait()
    assert exchange.outcome == "abandoned"
    await provider.aclose()


# --- nothing answers ----------------------------------------------------------------------------------------------


async def test_an_address_where_nothing_listens(model_request: ModelRequest) -> None:
    async with RudeServer() as gone:
        pass
    provider = anthropic_provider(api_key=KEY, base_url=gone.url)
    error = await failure(provider, model_request)
    assert (error.fault, error.title) == ("network", "The model's address could not be reached.")
    assert error.hint == f"Nothing listens at {gone.url}. Start the server, or check the address."
    await provider.aclose()


async def test_a_name_that_nobody_knows(model_request: ModelRequest) -> None:
    provider = anthropic_provider(api_key=KEY, base_url="http://no-such-host.invalid")
    error = await failure(provider, model_request)
    assert error.fault == "network"
    assert "The name in http://no-such-host.invalid is unknown." in error.hint
    await provider.aclose()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_server_that_hangs_up_without_a_word(model_request: ModelRequest, scheme: str) -> None:
    async with RudeServer(is_reading=False) as server:
        provider = anthropic_provider(api_key=KEY, base_url=f"{scheme}://127.0.0.1:{server.port}")
        error = await failure(provider, model_request)
        await provider.aclose()
    assert (error.fault, error.title) == ("network", "The model's address could not be reached.")


def test_a_certificate_that_cannot_be_trusted_is_named() -> None:
    import httpx2

    from desktop_agent.core.providers.http_connection import network_error

    error = httpx2.ConnectError("x")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed certificate")
    explained = network_error(error, "https://example.com")
    assert explained.fault == "network"
    assert "The connection to https://example.com is not trusted." in explained.hint


def test_one_of_several_causes_is_enough_to_explain() -> None:
    from desktop_agent.core.providers.http_connection import network_error

    error = OSError("All connection attempts failed")
    error.__cause__ = ExceptionGroup("multiple", [OSError(101, "unreachable"), ConnectionRefusedError(111, "refused")])
    assert "Nothing listens" in network_error(error, "http://localhost:1").hint


# --- the configuration cannot work --------------------------------------------------------------------------------


@pytest.mark.parametrize("base_url", ["api.example.com", "http://[::", "http://exa mple/", "http://a?b"])
async def test_an_address_that_is_none(model_request: ModelRequest, base_url: str) -> None:
    error = await failure(anthropic_provider(api_key=KEY, base_url=base_url), model_request)
    assert error.fault == "configuration"
    assert error.title.startswith("The model's address is not a web address: it")


@pytest.mark.parametrize("key", ["", " ", f"{KEY}\nX-Evil: 1", f"{KEY} {KEY}", f"“{KEY}”"])
async def test_a_key_that_is_none_is_never_sent(server: AnthropicServer, model_request: ModelRequest, key: str) -> None:
    error = await failure(anthropic_provider(api_key=key, base_url=server.url), model_request)
    assert error.fault == "authentication"
    assert server.exchanges == []


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "nonsense://127.0.0.1:1"])
async def test_a_proxy_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, model_request: ModelRequest, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    error = await failure(anthropic_provider(api_key=KEY, base_url="http://example.invalid"), model_request)
    assert (error.fault, error.title) == ("configuration", "The proxy in ALL_PROXY cannot be used.")


@pytest.mark.parametrize("header", ["X Y: walnut-Key-1", "X-Y: wälnut-Key-1", "X-Ý: walnut-Key-1"])
async def test_a_malformed_custom_header(
    monkeypatch: pytest.MonkeyPatch, server: AnthropicServer, model_request: ModelRequest, header: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", header)
    provider = anthropic_provider(api_key=KEY, base_url=server.url)
    error = await failure(provider, model_request)
    assert (error.fault, error.title) == ("invalid_request", "The request could not be sent.")
    assert "custom header" in error.hint
    assert "Key-1" not in f"{error} {error.detail}"
    await provider.aclose()
