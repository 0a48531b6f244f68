"""The requests of a turn, as built and as sent, with pins."""

import asyncio
import json
import threading
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.context_window.meter import Caching
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import (
    CacheMiss,
    ContextUse,
    JsonObject,
    ModelRef,
    ModelRequest,
    Pin,
    ToolDefinition,
    ToolResult,
    Usage,
)
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Reply, Say, ScriptedProvider, in_order
from desktop_agent.core.settings.sections import CompactionSettings, Settings
from desktop_agent.core.store.journal.journal import encode_line
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext
from tests.harness import MODEL as SCRIPTED
from tests.harness import Ground, ImpatientClock, Open, Receiver
from tests.providers import anthropic_provider
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.script import Answer, reply, text, tool_use

MODEL = ModelRef(provider="anthropic", model="m")
OTHER = ModelRef(provider="anthropic", model="n")


def test_what_the_provider_tells_counts() -> None:
    told = CacheMiss(reason="tools", tokens=9)
    assert Caching().missed(MODEL, Usage(input_tokens=100), told) == told


@pytest.mark.parametrize(
    ("before", "now", "missed"),
    [
        (Usage(cache_write_tokens=90), Usage(input_tokens=100), CacheMiss(reason="unknown", tokens=90)),
        (
            Usage(cache_read_tokens=60, cache_write_tokens=30),
            Usage(cache_write_tokens=100),
            CacheMiss(reason="unknown", tokens=90),
        ),
        (Usage(cache_write_tokens=90), Usage(cache_read_tokens=90, input_tokens=9), None),
        (Usage(input_tokens=90), Usage(input_tokens=100), None),
        (Usage(cache_write_tokens=90), Usage(input_tokens=50), None),
    ],
    ids=["read anew", "kept anew", "found", "nothing was kept", "a smaller request"],
)
def test_a_miss_that_only_the_counts_show_has_no_reason(before: Usage, now: Usage, missed: CacheMiss | None) -> None:
    caching = Caching()
    assert caching.missed(MODEL, before, None) is None
    assert caching.missed(MODEL, now, None) == missed


def test_another_models_cache_is_not_missed() -> None:
    caching = Caching()
    caching.missed(MODEL, Usage(cache_write_tokens=90), None)
    assert caching.missed(OTHER, Usage(input_tokens=100), None) is None


def used(event: ev.ContextMeasured) -> ContextUse:
    assert event.use is not None
    return event.use


async def test_requests_of_a_session_say_whose_they_are_and_what_they_follow(ground: Ground) -> None:
    async with ground.session([[Say("one")], [Say("two")]]) as s:
        await s.prompt("a")
        await s.prompt("b")
        [first, second] = s.provider.requests
        answer = s.rx.all(ev.MessageDone)[0].message_id
        assert answer
        assert (first.follows, second.follows) == ("", answer)
        assert first.conversation == second.conversation
        assert len(first.conversation) == 32
        assert s.id not in first.conversation
    async with ground.session([[Say("one")]]) as other:
        await other.prompt("a")
        assert other.last_request.conversation not in ("", first.conversation)


class Slow(ReadTool[ToolArguments]):
    """Records the threads that ask for its definition."""

    name = "slow"
    description = "Do nothing."
    capabilities = ()
    arguments_type = ToolArguments

    def __init__(self) -> None:
        self.threads: list[str] = []

    def definition(self) -> ToolDefinition:
        self.threads.append(threading.current_thread().name)
        return super().definition()

    def title(self, arguments: ToolArguments) -> str:
        return ""

    async def run(self, arguments: ToolArguments, context: ToolContext) -> ToolResult:
        raise NotImplementedError


async def test_the_first_definition_of_a_tool_is_made_off_the_loops_thread(ground: Ground) -> None:
    tool = Slow()
    ground.extra_tools = (tool,)
    async with ground.session([[Say("yes")]]) as s:
        await s.prompt()
        assert "slow" in [definition.name for definition in s.last_request.tools]
    assert tool.threads[0] != threading.current_thread().name


SUMMARY = reply(text(json.dumps({"goals": ["ship it"], "todos": ["test it"]})))


def asked_at(server: AnthropicServer) -> Provider:
    return anthropic_provider(api_key="k", base_url=server.url)


def bodies(server: AnthropicServer) -> list[JsonObject]:
    return [exchange.fields for exchange in server.messages if exchange.fields.get("tools")]


def answers() -> list[Answer]:
    return [
        reply(tool_use("read_file", path="src/a.py").with_id("toolu_1")),
        reply(text("Read.")),
        reply(text("Two.")),
    ]


async def test_a_restart_does_not_show_in_the_next_body(ground: Ground) -> None:
    ground.write("src/a.py", "x = 1\n")
    ground.write("src/AGENTS.md", "Use tabs.")
    sent: list[JsonObject] = []
    for is_restarted in (False, True):
        async with AnthropicServer() as server:
            server.will(*answers(), SUMMARY, reply(text("Three.")), reply(text("Four.")))
            async with ground.session([], provider=asked_at(server)) as s:
                await s.prompt("one")
                await s.prompt("two")
                s.submit(ops.AddPin(text="in French"))
                await s.carry_out(ops.Compact(), ev.Compacted)
                await s.prompt("three")
                identifier = s.id
                if not is_restarted:
                    await s.prompt("four")
            if is_restarted:
                async with ground.session([], provider=asked_at(server), resume=identifier) as s:
                    await s.prompt("four")
            assert server.violations == []
            sent.append(bodies(server)[-1])
    assert json.dumps(sent[0]) == json.dumps(sent[1])


async def test_after_an_undone_compaction_the_body_is_the_one_that_would_have_been_sent(ground: Ground) -> None:
    ground.write("src/a.py", "x = 1\n")
    sent: list[JsonObject] = []
    for is_compacted in (False, True):
        async with AnthropicServer() as server:
            server.will(*answers(), *([SUMMARY] if is_compacted else []), reply(text("Three.")))
            async with ground.session([], provider=asked_at(server)) as s:
                await s.prompt("one")
                await s.prompt("two")
                if is_compacted:
                    await s.carry_out(ops.Compact(), ev.Compacted)
                    await s.carry_out(ops.UndoCompaction(), ev.CompactionUndone)
                await s.prompt("three")
            assert server.violations == []
            sent.append(bodies(server)[-1])
    assert json.dumps(sent[0]) == json.dumps(sent[1])


async def test_a_pin_stands_behind_all_that_is_cached(ground: Ground) -> None:
    async with AnthropicServer() as server:
        server.will(reply(text("One.")), reply(text("Two.")))
        async with ground.session([], provider=asked_at(server)) as s:
            s.submit(ops.AddPin(text="in French"))
            await s.prompt("one")
            await s.prompt("two")
        assert server.violations == []
        first, second = (cast("list[JsonObject]", body["messages"]) for body in bodies(server))
    prompt, pin = cast("list[dict[str, str]]", first[-1]["content"])
    assert "cache_control" in prompt
    assert "in French" in pin["text"]
    assert "cache_control" not in pin
    assert second[0]["content"] == [prompt], "what was cached is found again"


async def test_after_a_compaction_the_provider_counts_in_the_background(ground: Ground) -> None:
    async with AnthropicServer() as server:
        server.will(*answers()[1:], SUMMARY)
        async with ground.session([], provider=asked_at(server)) as s:
            await s.prompt("one")
            await s.prompt("two")
            counted = await s.carry_out(
                ops.Compact(), ev.ContextMeasured, lambda event: used(event).source == "counted"
            )
            assert used(counted).tokens > 0
        assert server.violations == []


async def test_the_window_is_the_one_that_the_address_names(ground: Ground) -> None:
    models: list[JsonObject] = [{"id": "scripted", "display_name": "S", "max_input_tokens": 123_000}]
    async with AnthropicServer(models=models) as server:
        server.will(reply(text("One.")))
        async with ground.session([], provider=asked_at(server)) as s:
            s.submit(ops.SubmitPrompt(text="one"))
            await s.rx.expect(ev.ContextMeasured, lambda event: used(event).window == 123_000)


async def test_a_window_is_asked_for_once_for_all_sessions(ground: Ground) -> None:
    models: list[JsonObject] = [{"id": "scripted", "display_name": "S", "max_input_tokens": 123_000}]
    async with AnthropicServer(models=models) as server:
        server.will(reply(text("One.")), reply(text("Two.")))
        async with ground.session([], provider=asked_at(server)) as first:
            first.submit(ops.SubmitPrompt(text="one"))
            await first.rx.expect(ev.ContextMeasured, lambda event: used(event).window == 123_000)
            rx = Receiver()
            second = await first.bench.create_session(ground.workspace, sink=rx, model=SCRIPTED)
            running = asyncio.create_task(second.run())
            second.submit(ops.SubmitPrompt(text="two"))
            await rx.expect(ev.TurnEnded)
            second.submit(ops.Shutdown())
            await running
            assert {used(event).window for event in rx.all(ev.ContextMeasured)} == {123_000}
        assert [exchange.path for exchange in server.exchanges].count("/v1/models") == 1


class Distant(ScriptedProvider):
    """Its address is not reached the first time somebody asks for a window."""

    is_reached = False

    async def count_tokens(self, request: ModelRequest) -> int | None:
        return None

    async def context_window(self, model: str) -> int | None:
        if not self.is_reached:
            self.is_reached = True
            raise ProviderError("The provider was not reached.", fault="network")
        return 123_000


async def test_a_window_is_asked_for_again_after_the_provider_was_not_reached(ground: Ground) -> None:
    async with ground.session([], provider=Distant(in_order([[Say("One.")], [Say("Two.")]]))) as s:
        await s.prompt("one")
        s.submit(ops.SubmitPrompt(text="two"))
        await s.rx.expect(ev.ContextMeasured, lambda event: used(event).window == 123_000)


class WoundClock(ImpatientClock):
    def __init__(self) -> None:
        super().__init__()
        self.at = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


async def pin(s: Open, text: str, ttl_s: float | None = None) -> str:
    return (await s.carry_out(ops.AddPin(text=text, ttl_s=ttl_s), ev.Pinned)).pin.id


async def test_a_pin_is_sent_with_every_request_until_it_is_removed(ground: Ground) -> None:
    async with ground.session([[Say("oui")], [Say("yes")]]) as s:
        identifier = await pin(s, "Answer in French")
        await s.prompt()
        assert "Answer in French" in s.last_request.pinned
        await s.carry_out(ops.RemovePin(pin_id=identifier), ev.Unpinned)
        await s.prompt()
        assert s.last_request.pinned == ""


async def test_a_pin_expires_before_the_request_after_its_time(ground: Ground) -> None:
    clock = ground.clock = WoundClock()
    async with ground.session([[Say("one")], [Say("two")]]) as s:
        identifier = await pin(s, "until ten", ttl_s=60)
        clock.at += timedelta(seconds=59)
        await s.prompt()
        assert "until ten" in s.last_request.pinned
        clock.at += timedelta(seconds=1)
        await s.prompt()
        [gone] = s.rx.all(ev.Unpinned)
        assert (gone.pin_id, gone.is_expired) == (identifier, True)
        assert s.last_request.pinned == ""


async def test_a_pin_whose_end_does_not_say_where_on_earth_ends_all_the_same(ground: Ground) -> None:
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
    journal = ground.journal(s.id)
    number = journal.read_bytes().count(b"\n") + 1
    pinned = ev.Pinned(pin=Pin(id="p", text="until noon", expires_at=datetime(2020, 1, 1, 12, 0)))  # noqa: DTZ001
    journal.write_bytes(journal.read_bytes() + encode_line(encode_event(pinned.stamped(number, datetime.now(UTC)))))
    async with ground.session([[Say("two")]], resume=s.id) as s:
        assert (await s.prompt()).reason == "completed"
        assert s.last_request.pinned == ""


async def test_a_pin_over_the_budget_is_refused_with_the_reason(ground: Ground) -> None:
    ground.settings = Settings(compaction=CompactionSettings(pins_tokens=100))
    async with ground.session([]) as s:
        await pin(s, "short")
        notice = await s.carry_out(ops.AddPin(text="long " * 200), ev.Notice)
        assert notice.code == "pin"
        assert "100" in notice.title


async def test_what_cannot_be_pinned_or_removed_says_why(ground: Ground) -> None:
    async with ground.session([]) as s:
        for op in (ops.AddPin(text="  "), ops.AddPin(text="x", ttl_s=0), ops.RemovePin(pin_id="nope")):
            s.submit(op)
            assert (await s.rx.expect(ev.Notice)).code == "pin"


async def test_a_pin_whose_time_is_over_is_no_longer_listed_also_after_a_restart(ground: Ground) -> None:
    ground.clock = clock = WoundClock()
    async with ground.session([]) as s:
        await pin(s, "for a minute", ttl_s=60)
        await pin(s, "for an hour", ttl_s=3_600)
        clock.at += timedelta(seconds=61)
        listed = (await s.carry_out(ops.RunCommand(text="/pin list"), ev.CommandRun)).output
        assert "for an hour" in listed
        assert "for a minute" not in listed
        clock.at += timedelta(hours=1)
    async with ground.session([], resume=s.id) as s:
        s.submit(ops.RunCommand(text="/status"))
        assert "Active pins: none" in (await s.rx.expect(ev.CommandRun)).output


async def test_a_call_on_what_can_be_no_path_does_not_end_the_turn(ground: Ground) -> None:
    calls: list[Reply] = [[Call("read_file", {"path": path})] for path in ("a\0b/c", "a\ud800b/c")]
    async with ground.session([*calls, [Say("I see")], [Say("again")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert (await s.prompt()).reason == "completed"
        assert s.rx.all(ev.Notice) == []


async def test_what_the_model_sees_can_be_looked_at_part_by_part(ground: Ground) -> None:
    ground.write("AGENTS.md", "Use tabs.")
    async with ground.session([[Say("one")]]) as s:
        await pin(s, "in French")
        await s.prompt("Hello there")
        report = (await s.carry_out(ops.InspectContext(), ev.ContextInspected)).report
        kinds = [section.kind for section in report.sections]
        assert kinds == ["tools", "system", "guidance", "conversation", "pins"]
        assert "Hello there" in report.sections[3].text
        assert report.use.window == 200_000
        assert report.target == 180_000
        assert sum(section.tokens for section in report.sections) == pytest.approx(report.use.tokens, rel=0.02)


async def test_the_meter_tells_what_was_reported_also_after_a_restart(ground: Ground) -> None:
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        measured = s.rx.all(ev.ContextMeasured)
        assert [used(event).source for event in measured] == ["estimated", "reported"]
        identifier = s.id
    async with ground.session([], resume=identifier) as s:
        again = await s.rx.expect(ev.ContextMeasured)
        assert again.use == measured[-1].use
