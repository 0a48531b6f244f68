import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import TextDelta
from desktop_agent.core.protocol.model import ModelRef, ModelRequest, TextBlock
from desktop_agent.core.providers.provider import Provider, StreamPiece
from desktop_agent.core.providers.scripted import Crash, Fail, Hang, Reply, Say, ScriptedProvider, in_order
from desktop_agent.core.session.aside_requests import MAX_TITLE_CHARS, clean_title
from tests.harness import Ground, Open, Receiver

MODEL = ModelRef(provider="anthropic", model="m")


class Titled(Ground):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.titles = ScriptedProvider(in_order([[Say("The slow query")]]))

    async def open(self, replies: Sequence[Reply], model: ModelRef = MODEL) -> Open:
        provider = ScriptedProvider(in_order(replies), clock=self.clock)
        made: list[Provider] = [provider, self.titles]

        async def source(_model: ModelRef) -> Provider:
            return made.pop(0)

        bench = Workbench(
            self.paths, self.settings, clock=self.clock, provider_source=source, tools=self.tools(), makes_titles=True
        )
        rx = Receiver()
        session = await bench.create_session(self.workspace, sink=rx, model=model, approval="on_write")
        return Open(session, rx, provider, self.workspace, asyncio.create_task(session.run()), bench)


@pytest.fixture
def ground(tmp_path: Path) -> Titled:
    return Titled(tmp_path)


async def test_a_title_is_made_of_the_first_turn(ground: Titled) -> None:
    session = await ground.open([[Say("It lacks an index.")], [Say("Sure.")]])
    await session.prompt("Why is the query slow?")
    used = await session.rx.expect(ev.UsageReported, lambda event: event.is_aside)
    renamed = await session.rx.expect(ev.SessionRenamed)
    assert (renamed.title, renamed.is_generated) == ("The slow query", True)
    assert used.usage.output_tokens > 0
    (request,) = ground.titles.requests
    (message,) = request.messages
    (block,) = message.content
    assert isinstance(block, TextBlock)
    assert "Why is the query slow?" in block.text
    assert "It lacks an index." in block.text
    assert request.tools == ()
    await session.prompt("Add it")
    await session.close()
    assert len(ground.titles.requests) == 1
    assert len(session.last_request.messages) == 3, "the conversation knows nothing of it"


async def test_the_context_is_as_full_as_the_conversation_says(ground: Titled) -> None:
    session = await ground.open([[Say("It lacks an index.")]])
    await session.prompt("Why?")
    before = session.session.transcript.context.context_tokens
    await session.rx.expect(ev.SessionRenamed)
    assert session.session.transcript.context.context_tokens == before
    await session.close()


async def test_the_next_turn_does_not_wait_for_a_title(ground: Titled) -> None:
    ground.titles = ScriptedProvider(in_order([[Hang()]]))
    session = await ground.open([[Say("one")], [Say("two")]])
    await session.prompt("first")
    assert (await session.prompt("second")).reason == "completed"
    await session.close()
    assert session.rx.all(ev.SessionRenamed) == []


class Deaf(ScriptedProvider):
    """Ignores the first cancellation, as a provider's library may."""

    def __init__(self) -> None:
        super().__init__(in_order([]))
        self.is_asked = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamPiece]:
        self.is_asked.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()
        yield TextDelta(text="never said")


async def test_a_title_whose_cancellation_is_lost_does_not_hold_up_the_end(ground: Titled) -> None:
    ground.titles = Deaf()
    session = await ground.open([[Say("It lacks an index.")]])
    await session.prompt("Why?")
    await ground.titles.is_asked.wait()
    async with asyncio.timeout(20):
        await session.close()


async def test_a_title_of_the_person_stays(ground: Titled) -> None:
    session = await ground.open([[Say("one")]])
    session.submit(ops.RenameSession(title="Mine"))
    await session.prompt("first")
    await session.close()
    assert ground.titles.requests == []
    assert [event.title for event in session.rx.all(ev.SessionRenamed)] == ["Mine"]


@pytest.mark.parametrize(
    "step", [Fail(ProviderError("no", fault="server")), Crash(RuntimeError("defect")), Say("  \n ")]
)
async def test_what_fails_is_silent(ground: Titled, step: Fail | Crash | Say, expected_logs: list[str]) -> None:
    expected_logs.append("No title was made")
    ground.titles = ScriptedProvider(in_order([[step]]))
    session = await ground.open([[Say("one")], [Say("two")]])
    await session.prompt("first")
    await session.prompt("second")
    await session.close()
    assert session.rx.all(ev.SessionRenamed) == []
    assert session.rx.all(ev.Notice) == []


async def test_a_script_is_not_asked_and_the_setting_counts(ground: Titled) -> None:
    session = await ground.open([[Say("one")]], ModelRef(provider="demo", model="demo"))
    await session.prompt("first")
    await session.close()
    assert ground.titles.requests == []


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ('"The slow query."\n\nI hope this helps', "The slow query"),
        ("Title: A \u202ename\x00 of it", "A name of it"),
        ("**Bold**", "Bold"),
        ("word " * 50, ("word " * 15).strip() + "…"),
        ("", ""),
    ],
)
def test_of_a_reply_only_the_title_is_taken(reply: str, title: str) -> None:
    assert clean_title(reply) == title
    assert len(clean_title(reply)) <= MAX_TITLE_CHARS
