"""Turns as a program runs them: to the end, streamed, stopped, refused."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from desktop_agent import (
    Agent,
    AgentError,
    ApprovalRequest,
    Call,
    ModelRef,
    ProviderError,
    RunFailedError,
    Say,
    ScriptedProvider,
    SessionBusyError,
    SessionNotFoundError,
    Settings,
    StorageError,
    TurnLimits,
    UnsafeSettingsError,
    UsageError,
    events,
    in_order,
    ops,
)
from desktop_agent.core.protocol.events import TurnEnded
from desktop_agent.core.providers.scripted import Cost, Fail
from desktop_agent.core.settings.sections import SpendingSettings
from tests.api.conftest import COMMAND, EDIT, MakeAgent, Unanswered, read, write


async def test_a_run_returns_what_was_said_and_changed(agent_with: MakeAgent, poem: Path) -> None:
    async with agent_with([Say("I edit."), EDIT], [Say("Done.")], approval="on_request") as agent:
        result = await agent.run("Spell it the American way.")
        assert (result.session_id, result.turn, result.reason, result.requests) == (agent.id, 1, "completed", 2)
    assert result.is_completed
    assert result.text == "I edit.\nDone."
    assert result.edited_files == ("poem.txt",)
    assert [call.state for call in result.calls] == ["completed"]
    assert result.usage.input_tokens > 0
    assert "color" in read(poem)


async def test_files_come_along_with_a_prompt(poem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "spec.md", "Count to three.")
    monkeypatch.chdir(tmp_path)
    provider = ScriptedProvider(in_order([[Say("3")]]))
    async with Agent(poem.parent, provider=provider, home=tmp_path / "home") as agent:
        assert (await agent.run("Do it.", include=["spec.md", poem], output=int)).output == 3
        with pytest.raises(UsageError, match=r"none.md` could not be included.* There is no such file"):
            await agent.run("Do it.", include=["none.md"])
        assert agent.transcript.turn == 1
    assert "Count to three." in str(provider.requests[0])


async def test_the_demo_needs_nothing_but_its_name(poem: Path, tmp_path: Path) -> None:
    async with Agent(poem.parent, model="demo", home=tmp_path / "home") as agent:
        model = agent.transcript.session.model
    assert model is not None
    assert model.provider == "demo"


async def test_a_stream_yields_the_text_as_it_comes_and_the_end_last(agent_with: MakeAgent) -> None:
    async with agent_with([Say("One word after another.")]) as agent:
        heard = [event async for event in agent.stream("Speak.")]
    said = "".join(event.text for event in heard if isinstance(event, events.TextDelta))
    assert said == "One word after another."
    assert [event.type for event in heard[:2]] == ["prompt_submitted", "turn_started"]
    assert isinstance(heard[-1], events.TurnEnded)


async def test_a_prompt_while_a_turn_runs_is_an_error_that_says_what_to_do(agent_with: MakeAgent) -> None:
    async with agent_with([COMMAND], [Say("Next.")], approve=Unanswered()) as agent:
        async with aclosing(agent.stream("Wait.")) as stream:
            while not isinstance(await anext(stream), events.ApprovalRequested):
                pass
            with pytest.raises(UsageError, match=r"A turn is running\. Wait for its end, or stop it with `interrupt"):
                await agent.run("And this?")
        assert (await agent.run("Now?")).text == "Next."


async def test_a_prompt_behind_a_turn_that_was_asked_for_by_an_op_is_taken_back(agent_with: MakeAgent) -> None:
    approve = Unanswered()
    async with agent_with([COMMAND], approve=approve) as agent:
        agent.submit(ops.SubmitPrompt(text="Wait."))
        with pytest.raises(UsageError, match="A turn is running"):
            await agent.run("And this?")
        await approve.asked.wait()
        assert agent.transcript.turns.queued == []


async def test_cancelling_a_run_stops_the_turn_and_leaves_the_session_usable(agent_with: MakeAgent) -> None:
    approve = Unanswered()
    async with agent_with([COMMAND], [Say("Still here.")], approve=approve) as agent:
        running = asyncio.create_task(agent.run("Wait."))
        await approve.asked.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert agent.transcript.turns.last_end == "interrupted"
        assert (await agent.run("Are you there?")).text == "Still here."


async def test_a_message_steers_the_turn_that_runs(poem: Path, tmp_path: Path) -> None:
    provider = ScriptedProvider(in_order([[COMMAND], [Say("In French, then.")]]))
    waits = asyncio.Event()

    async def approve(_: ApprovalRequest) -> bool:
        agent.steer("In French, please.")
        await waits.wait()
        return True

    def hear(event: events.Event) -> None:
        if isinstance(event, events.Queued) and event.is_steering:
            waits.set()

    async with Agent(poem.parent, provider=provider, home=tmp_path / "home", approve=approve, on_event=hear) as agent:
        with pytest.raises(UsageError, match="No turn is running"):
            agent.steer("Too early.")
        result = await agent.run("Translate it.")
        assert (result.turn, result.reason, result.text) == (1, "completed", "In French, then.")
    assert "In French, please." in str(provider.requests[1].messages[-1])


async def test_an_interrupt_ends_the_run_with_that_reason(agent_with: MakeAgent) -> None:
    async def approve(request: ApprovalRequest) -> bool:
        agent.interrupt()
        return await Unanswered()(request)

    async with agent_with([COMMAND], approve=approve) as agent:
        assert (await agent.run("Wait.")).reason == "interrupted"


async def test_leaving_a_stream_early_stops_its_turn(agent_with: MakeAgent) -> None:
    async with agent_with([COMMAND], [Say("Next.")], approve=Unanswered()) as agent:
        async for event in agent.stream("Wait."):
            if isinstance(event, events.ApprovalRequested):
                break
        assert (await agent.run("Now?")).text == "Next."
        reasons = [entry.reason for entry in agent.transcript.entries if isinstance(entry, TurnEnded)]
    assert reasons == ["interrupted"]


async def test_a_model_that_fails_is_an_error_with_the_result_so_far(poem: Path, tmp_path: Path) -> None:
    error = ProviderError("The key was refused.", hint="Enter another.", fault="authentication")
    provider = ScriptedProvider(in_order([[Fail(error)], [Say("Better.")]]))
    async with Agent(poem.parent, provider=provider, home=tmp_path / "home") as agent:
        with pytest.raises(RunFailedError, match=r"The key was refused\. Enter another\.") as raised:
            await agent.run("Speak.")
        assert raised.value.result.reason == "provider_error"
        assert (await agent.run("Again.")).text == "Better."


async def test_a_named_provider_is_asked_where_its_environment_says(
    poem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    async with Agent(poem.parent, model="openai-chat/gpt-5.4-mini", home=tmp_path / "home") as agent:
        model = agent.transcript.session.model
    assert model == ModelRef(provider="openai-chat", model="gpt-5.4-mini", base_url="http://127.0.0.1:9/v1")


async def test_leaving_the_context_ends_a_turn_that_runs(agent_with: MakeAgent) -> None:
    approve = Unanswered()
    async with agent_with([COMMAND], approve=approve) as agent:
        running = asyncio.create_task(agent.run("Wait."))
        await approve.asked.wait()
    assert (await running).reason == "interrupted"


async def test_an_agent_may_be_closed_twice_and_then_takes_nothing(agent_with: MakeAgent) -> None:
    async with agent_with() as agent:
        await asyncio.gather(agent.aclose(), agent.aclose())
    await agent.aclose()
    with pytest.raises(UsageError, match="not open"):
        await agent.run("Speak.")
    with pytest.raises(UsageError, match="opened before"):
        await agent.__aenter__()


async def test_closing_is_carried_out_where_it_is_cancelled(agent_with: MakeAgent, tmp_path: Path) -> None:
    agent = agent_with()
    await agent.__aenter__()
    session_id = agent.id
    closing = asyncio.create_task(agent.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    async with agent_with(resume=session_id) as again:  # its lock is free
        assert again.id == session_id


async def test_sessions_are_listed_and_resumed_with_what_they_know(agent_with: MakeAgent, tmp_path: Path) -> None:
    async with agent_with([Say("Remembered.")]) as agent:
        await agent.run("Remember.")
        first = agent.id
        with pytest.raises(SessionBusyError):
            await agent_with(resume=first).__aenter__()
    (summary,) = await Agent.list_sessions(tmp_path / "home")
    assert (summary.id, summary.turns) == (first, 1)
    async with agent_with([Say("Yes.")], resume=first[-6:]) as again:
        result = await again.run("Do you?")
        assert (again.id, result.turn) == (first, 2)
    with pytest.raises(SessionNotFoundError):
        await agent_with(resume="none-such").__aenter__()


async def test_a_folder_that_is_not_there_is_an_error_and_leaves_nothing_open(tmp_path: Path) -> None:
    agent = Agent(tmp_path / "none", model="demo", home=tmp_path / "home")
    with pytest.raises(AgentError, match="none"):
        await agent.__aenter__()
    await agent.aclose()
    assert await Agent.list_sessions(tmp_path / "home") == ()


@pytest.mark.parametrize(
    ("path", "content", "error"),
    [("data", "a file", StorageError), ("config/config.toml", "[execution]\nsandbox = 7\n", UnsafeSettingsError)],
)
async def test_what_cannot_be_written_or_trusted_is_an_error_and_leaves_nothing_open(
    poem: Path, tmp_path: Path, path: str, content: str, error: type[AgentError]
) -> None:
    write(tmp_path / "home" / path, content)
    agent = Agent(poem.parent, model="demo", home=tmp_path / "home")
    with pytest.raises(error):
        await agent.__aenter__()
    await agent.aclose()


async def test_a_turn_that_takes_too_long_is_stopped_by_a_timeout(agent_with: MakeAgent) -> None:
    async with agent_with([COMMAND], approve=Unanswered()) as agent:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await agent.run("Wait.")
        assert not agent.transcript.turns.is_running


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"limits": TurnLimits(max_cost_usd=0.5)}, "max_cost"),
        ({"settings": Settings(spending=SpendingSettings(session_usd=0.5))}, "session_usd"),
        ({"settings": Settings(spending=SpendingSettings(day_usd=0.5))}, "day_usd"),
    ],
)
async def test_a_turn_ends_at_what_it_may_cost_and_the_program_is_not_asked(
    agent_with: MakeAgent, options: dict[str, object], code: str
) -> None:
    look, approve = [Call("list_files", {}), Cost(0.25)], Unanswered()
    async with agent_with(look, look, look, approve=approve, **options) as agent:
        result = await agent.run("Look around.")
    assert (result.reason, result.requests) == ("limit", 2)
    assert ([notice.code for notice in result.problems], approve.asked.is_set()) == ([code], False)
