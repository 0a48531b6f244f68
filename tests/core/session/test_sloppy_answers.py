"""Empty answers never end a turn silently, calls in text run, and repairs are recorded once."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Flaw, ModelRef, ModelRequest
from desktop_agent.core.providers.provider import Completion, StreamPiece
from desktop_agent.core.providers.scripted import Call, Cost, Reply, Say, ScriptedProvider, Stop, Think, in_order
from desktop_agent.core.settings.sections import ModelSettings, Settings
from tests.harness import Ground, Open, check_conversation

LOCAL = ModelRef(provider="llamacpp", model="qwen")
WRITTEN = '<tool_call>\n{"name": "list_files", "arguments": {}}\n</tool_call>'


SILENCES: dict[str, Reply] = {
    "empty": [],
    "blank": [Say(" \n")],
    "thoughts": [Think("I should answer.")],
    "invisible": [Say("\u200b\ufeff")],
    "marks of a template": [Say("<|im_end|>\n</s>")],
    "an empty pause": [Stop("pause_turn")],
}


@pytest.mark.parametrize("silence", SILENCES.values(), ids=SILENCES.keys())
async def test_an_answer_with_nothing_in_it_is_asked_for_once_more(ground: Ground, silence: Reply) -> None:
    async with ground.session([[*silence, Cost(0.25)], [Say("Here."), Cost(0.5)]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert len(s.provider.requests) == 2
        assert s.session.transcript.turns.usage.cost_usd == 0.75
        check_conversation(s.last_request)


async def test_an_answer_with_nothing_in_it_is_one_also_where_it_stops_for_an_unknown_reason(ground: Ground) -> None:
    async with ground.session([[Stop("other")], [Stop("other")]]) as s:
        assert (await s.prompt()).reason == "provider_error"


async def test_a_turn_without_an_answer_ends_with_an_error(ground: Ground) -> None:
    async with ground.session([[Call("list_files", {})], [Think("Hm.")], [], [Say("Yes?")]]) as s:
        assert (await s.prompt()).reason == "provider_error"
        (notice,) = s.rx.all(ev.Notice)
        assert (notice.code, notice.title) == ("no_answer", "The model answered with nothing, twice.")
        assert (await s.prompt("again")).reason == "completed", "the conversation goes on"
        check_conversation(s.last_request)


@asynccontextmanager
async def local_session(ground: Ground, *replies: Reply, mended: Flaw | None = None) -> AsyncGenerator[Open]:
    class Mending(ScriptedProvider):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamPiece]:
            async for piece in super().stream(request):
                yield replace(piece, mended=(mended,)) if mended and isinstance(piece, Completion) else piece

    provider = Mending(in_order(replies))

    async with ground.session([], provider=provider) as s:
        s.submit(ops.SetMode(model=LOCAL))
        yield s


async def test_a_call_written_as_text_runs(ground: Ground) -> None:
    async with local_session(ground, [Say(f"Let me look.\n\n{WRITTEN}")], [Say("Two files.")]) as s:
        assert (await s.prompt()).reason == "completed"
        (finished,) = s.rx.all(ev.ToolCallFinished)
        assert finished.state == "completed"
        first, _ = s.rx.all(ev.MessageDone)
        assert [block.type for block in first.content] == ["text", "tool_use"]
        assert first.mended == ("calls_in_text",)
        check_conversation(s.last_request)


async def test_a_call_written_as_text_stays_text_where_that_is_switched_off(ground: Ground) -> None:
    ground.settings = Settings(model=ModelSettings(text_calls=False))
    async with local_session(ground, [Say(WRITTEN)]) as s:
        assert (await s.prompt()).reason == "completed"
        assert s.rx.all(ev.ToolCallFinished) == []


async def test_what_was_mended_is_on_record_once_in_a_session(ground: Ground) -> None:
    async with local_session(ground, [Say("One.")], [Say("Two.")], mended="thoughts_in_text") as s:
        await s.prompt()
        await s.prompt("again")
        assert [done.mended for done in s.rx.all(ev.MessageDone)] == [("thoughts_in_text",), ()]
        assert s.session.transcript.turns.mended == ["thoughts_in_text"]
