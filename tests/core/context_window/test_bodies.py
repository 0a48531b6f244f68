"""What goes over the wire: bodies before and after a restart, a compaction and its undoing, and the counting."""

import json
from typing import cast

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import JsonObject, ModelRef
from desktop_agent.core.providers.provider import Provider, ProviderSource
from tests.harness import Ground
from tests.providers import anthropic_provider
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.script import Answer, reply, text, tool_use

SUMMARY = reply(text(json.dumps({"goals": ["ship it"], "todos": ["test it"]})))


def source(server: AnthropicServer) -> ProviderSource:
    async def build(_model: ModelRef) -> Provider:
        return anthropic_provider(api_key="k", base_url=server.url)

    return build


def bodies(server: AnthropicServer) -> list[JsonObject]:
    """The bodies of the turns' requests, as they came."""
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
            async with ground.session([], provider_source=source(server)) as s:
                await s.prompt("one")
                await s.prompt("two")
                s.submit(ops.AddPin(text="in French"))
                await s.carry_out(ops.Compact(), ev.Compacted)
                await s.prompt("three")
                identifier = s.id
                if not is_restarted:
                    await s.prompt("four")
            if is_restarted:
                async with ground.session([], provider_source=source(server), resume=identifier) as s:
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
            async with ground.session([], provider_source=source(server)) as s:
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
        async with ground.session([], provider_source=source(server)) as s:
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
        async with ground.session([], provider_source=source(server)) as s:
            await s.prompt("one")
            await s.prompt("two")
            counted = await s.carry_out(ops.Compact(), ev.ContextMeasured, lambda event: event.use.source == "counted")
            assert counted.use.tokens > 0
        assert server.violations == []


async def test_the_window_is_the_one_that_the_address_names(ground: Ground) -> None:
    models: list[JsonObject] = [{"id": "scripted", "display_name": "S", "max_input_tokens": 123_000}]
    async with AnthropicServer(models=models) as server:
        server.will(reply(text("One.")))
        async with ground.session([], provider_source=source(server)) as s:
            s.submit(ops.SubmitPrompt(text="one"))
            await s.rx.expect(ev.ContextMeasured, lambda event: event.use.window == 123_000)
