"""Streams: events cut anywhere, reasons to stop, and hostile servers."""

import gc
import json
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from types import AsyncGeneratorType
from typing import cast
from weakref import WeakSet

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.web_address import address_of
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import decode_event, encode_event
from desktop_agent.core.protocol.model import (
    AssistantMessage,
    ModelRef,
    ModelRequest,
    StopReason,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.providers.faults import ErrorEventError, FailedCall, explain_refusal, retry_after_s
from desktop_agent.core.providers.http_provider import MAX_EVENT_BYTES, EventReader, strip_foreign_thinking
from desktop_agent.core.providers.provider import Completion, StreamPiece, whole_answer
from desktop_agent.core.providers.provider_catalog import wire_format_of
from desktop_agent.core.providers.wire_format import EncodedPictures
from desktop_agent.core.store.journal.journal import encode_line
from desktop_agent.core.store.journal.lines import decode
from tests.core.providers.http.conftest import KEY, SPOKEN
from tests.providers import keyed_provider
from tests.servers import fault
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT
from tests.servers.dialects.dialect import Ask, Dialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import ModelServer
from tests.servers.script import Fault, Page, Reply, reply, search, text, thinking, tool_use


def data_of(sent: bytes, *, size: int = 65_536) -> list[str]:
    reader = EventReader()
    pieces = (sent[start : start + size] for start in range(0, len(sent), size))
    return [data for piece in pieces for data in reader.add(piece)] + list(reader.end())


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_events_are_read_however_they_are_written_and_cut(mark: str, end: str, size: int) -> None:
    lines = ["data: ä😀", "", ": comment", "event: x", "id: 7", "data:a", "data: b", "data", "", "", "data: last"]
    sent = (mark + end.join(lines)).encode()
    assert data_of(sent, size=size) == ["ä😀", "a\nb\n", "last"]


def test_a_mark_of_the_order_of_bytes_is_one_only_at_the_beginning() -> None:
    assert data_of("data: a\n\n\ufeffdata: b\n\ndata: \ufeffc\n\n".encode()) == ["a", "\ufeffc"]


def test_what_is_larger_than_any_event_is_refused() -> None:
    with pytest.raises(ProviderError, match="larger than any"):
        data_of(b"data: " + b"x" * MAX_EVENT_BYTES + b"\n\n")


async def completed(vendor: str, dialect: Dialect, request: ModelRequest, answer: Reply) -> Completion:
    async with (
        ModelServer(answer, dialect=dialect, key=KEY) as server,
        aclosing(keyed_provider(vendor, KEY, address=server.url)) as provider,
    ):
        return await whole_answer(provider, request)


@contextmanager
def uncollected() -> Generator[WeakSet[AsyncGeneratorType[object]]]:
    """The generators that have begun and are not gone, while the collector rests."""
    alive = WeakSet[AsyncGeneratorType[object]]()
    usual = sys.get_asyncgen_hooks().firstiter
    assert usual is not None

    def note(generator: AsyncGenerator[object, object]) -> None:
        assert isinstance(generator, AsyncGeneratorType)
        alive.add(generator)
        usual(generator)

    gc.disable()
    sys.set_asyncgen_hooks(firstiter=note)
    try:
        yield alive
    finally:
        sys.set_asyncgen_hooks(firstiter=usual)
        gc.enable()


@pytest.mark.parametrize("breaks", [fault.error_after, fault.drop_after, fault.stall_after])
async def test_nothing_of_an_answer_that_breaks_off_is_left_to_the_collector(
    model_request: ModelRequest, breaks: Callable[..., Fault]
) -> None:
    """It would close the generators while they wait for the connection to close, or after the event loop."""
    failures: list[ProviderError] = []  # whose tracebacks keep what they went through
    with uncollected() as left:
        async with (
            ModelServer(reply(text("Half of it."), breaks(events=3)), dialect=ANTHROPIC, key=KEY) as server,
            aclosing(keyed_provider("anthropic", KEY, address=server.url)) as provider,
        ):
            try:
                async with aclosing(provider.stream(model_request)) as pieces:
                    assert isinstance(await anext(pieces), ev.TextDelta)
                    if breaks is not fault.stall_after:
                        await anext(pieces)
            except ProviderError as error:
                failures.append(error)
        assert [one.__qualname__ for one in left if one.ag_frame is not None] == []
    assert bool(failures) == (breaks is not fault.stall_after)


@pytest.mark.parametrize(
    ("vendor", "dialect", "sent", "told"),
    [
        ("anthropic", ANTHROPIC, "pause_turn", "pause_turn"),
        ("anthropic", ANTHROPIC, "stop_sequence", "stop_sequence"),
        ("anthropic", ANTHROPIC, "model_context_window_exceeded", "model_context_window_exceeded"),
        ("anthropic", ANTHROPIC, "compaction", "other"),
        ("openai", RESPONSES, "content_filter", "refusal"),
        ("openai", RESPONSES, "max_messages", "other"),
        ("openai", RESPONSES, "steered", "other"),
        ("openai-chat", CHAT, "content_filter", "refusal"),
        ("openai-chat", CHAT, "length", "max_tokens"),
    ],
)
async def test_a_reason_of_one_vendor_is_told_in_the_words_of_all(
    model_request: ModelRequest, vendor: str, dialect: Dialect, sent: str, told: StopReason
) -> None:
    completion = await completed(vendor, dialect, model_request, reply(text("Hm."), stop_reason=sent))
    assert completion.stop_reason == told


@pytest.mark.parametrize(
    ("explanation", "told"),
    [
        ("cyber: It could help an attacker.", "cyber: It could help an attacker."),
        ("general_harms", "general harms"),
        ("", ""),
    ],
)
async def test_why_the_model_declined_is_told_as_far_as_it_is_said(
    model_request: ModelRequest, explanation: str, told: str
) -> None:
    answer = reply(text("I can't."), stop_reason="refusal", explanation=explanation)
    completion = await completed("anthropic", ANTHROPIC, model_request, answer)
    assert (completion.stop_reason, completion.explanation) == ("refusal", told)


DEEP: object = json.loads("[" * 150 + "]" * 150)
VALUES: list[object] = [
    *(None, True, -1, 0, 7, 10**30, 0.5, 1e308, float("nan"), float("inf")),
    *("", "x", "\ud800", "\udc00a", "\0", "\x1b[2J", "\u202e", "x" * 5_000, "tool_use", "error", "stop"),
    *([], {}, [None], [[]], [{}], {"": None}, {"\ud800": "\ud800"}, ["a", 3, {}], DEEP),
]
FORMATS = ("anthropic", "openai", "openrouter")
ANSWER = (
    thinking("Let me see.", signature="c2ln"),
    text("I read it 😀.", cites=(Page("https://a.example", "A"),)),
    tool_use("read_file", path="a.py"),
    tool_use("edit_file", path="b.py"),
)


def events_of(name: str) -> list[object]:
    found = (search("q", Page("https://a.example", "A")),) if name != "openai-chat" else ()
    sent = b"".join(SPOKEN[name].dialect.events(reply(*found, *ANSWER), Ask(1, {"model": "m", "stream": True})))
    lines = [line.removeprefix("data: ") for line in sent.decode().splitlines() if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


EVENTS = {name: events_of(name) for name in FORMATS}


def places(value: object, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = cast("dict[str | int, object]", value).items() if isinstance(value, dict) else ()
    items = enumerate(cast("list[object]", value)) if isinstance(value, list) else items
    for key, item in items:
        yield (*way, key)
        yield from places(item, (*way, key))


def replaced(value: object, way: tuple[str | int, ...], by: object) -> object:
    if not way:
        return by
    copy = dict(cast("dict[object, object]", value)) if isinstance(value, dict) else list(cast("list[object]", value))
    inside = cast("dict[object, object]", copy)
    inside[way[0]] = replaced(inside[way[0]], way[1:], by)
    return copy


@st.composite
def streams(draw: st.DrawFn, name: str) -> list[object]:
    """An answer's events with one to three values replaced, and perhaps one event lost or doubled."""
    events = list(EVENTS[name])
    for _ in range(draw(st.integers(1, 3))):
        number = draw(st.integers(0, len(events) - 1))
        way = draw(st.sampled_from(list(places(events[number])) or [()]))
        events[number] = replaced(events[number], way, draw(st.sampled_from(VALUES)))
    number, other = draw(st.integers(0, len(events) - 1)), draw(st.integers(0, len(events)))
    match draw(st.sampled_from(["as they are", "one is lost", "one comes twice"])):
        case "one is lost":
            del events[number]
        case "one comes twice":
            events.insert(other, events[number])
        case _:
            pass
    return events


def read(name: str, events: list[object]) -> Completion | ProviderError:
    reader = wire_format_of(usual_account(name)).reader()
    pieces: list[StreamPiece] = []
    try:
        for event in events:
            pieces += reader.add(event if isinstance(event, str) else json.dumps(event))
            if reader.is_whole:
                break
        return reader.completion()
    except ErrorEventError as error:
        return explain_refusal(error.refusal, FailedCall(address="https://a.example", model="m"))
    except ProviderError as error:
        return error


@pytest.mark.parametrize("name", FORMATS)
def test_an_answer_that_is_as_it_should_be_is_read(name: str) -> None:
    answer = read(name, EVENTS[name])
    assert isinstance(answer, Completion)
    assert sum(isinstance(block, ToolUseBlock) for block in answer.content) == 2


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_an_answer_with_anything_in_it_is_kept_and_goes_back_or_comes_to_words(name: str, data: st.DataObject) -> None:
    answer = read(name, data.draw(streams(name)))
    if isinstance(answer, ProviderError):
        assert answer.title
        return
    model = ModelRef(provider=name, model="m")
    done = ev.MessageDone(
        turn=1, message_id=answer.message_id, model=model, content=answer.content, stop_reason=answer.stop_reason
    )
    for event in (done, ev.UsageReported(turn=1, usage=answer.usage, model=model)):
        assert decode_event(decode(encode_line(encode_event(event)))) == event, "a journal gives it back"
    calls = [block for block in answer.content if isinstance(block, ToolUseBlock)]
    results = [ToolResultBlock(call_id=call.id, content="Done.") for call in calls]
    messages = (
        UserMessage(content=(TextBlock(text="Begin."),)),
        AssistantMessage(content=answer.content, made_by=model),
        UserMessage(content=(*results, TextBlock(text="Go on."))),
    )
    to = ModelRef(provider=data.draw(st.sampled_from(FORMATS)), model="m2")
    request = strip_foreign_thinking(
        ModelRequest(model="m2", system="", messages=messages, tools=(), max_tokens=1024), to
    )
    body = json.loads(wire_format_of(usual_account(to.provider)).encode(request, EncodedPictures()))
    if to.provider != name and len({call.id for call in calls}) == len(calls):  # the turn gives them ids of their own
        dialect = SPOKEN[to.provider].dialect
        assert dialect.violations(dialect.answers_at, body) == []


NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 13:00:30 +0100"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": f"Sat, 21 Nov {'9' * 20} 12:00:00 GMT"}, None),
        ({"retry-after": f"Sat, 21 Nov 2026 {'9' * 20}:00:00 GMT"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://api.example.com/v1?key=1", "https://api.example.com"),
        ("http://me:hunter2@127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("api.example.com", None),
        ("ftp://example.com", None),
        ("http://", None),
        ("http://[::", None),
        ("http://127.0.0.1:99999", None),
        ("", None),
    ],
)
def test_an_address_is_shown_without_what_is_private_in_it(url: str, address: str | None) -> None:
    assert address_of(url) == address
