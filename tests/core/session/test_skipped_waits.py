"""The wait before the model is asked again: it has a longest time, the user can skip it, and it can be interrupted."""

import asyncio
import json

import pytest

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.faults import retry_after_s
from desktop_agent.core.providers.scripted import Fail, Hang, Say
from desktop_agent.core.settings.sections import CompactionSettings, ModelSettings, Settings
from desktop_agent.core.transcript import NoticeEntry, Transcript, replay
from tests.harness import Ground, ImpatientClock, Open

SUMMARY = Say(json.dumps({"goals": ["ship it"]}))


class PatientClock(ImpatientClock):
    """A clock on which a wait never ends by itself."""

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.Event().wait()


@pytest.fixture
def patient(ground: Ground) -> PatientClock:
    """Sessions on this ground wait until the wait is skipped or interrupted."""
    ground.clock = clock = PatientClock()
    return clock


def overloaded(header: str = "") -> ProviderError:
    asked = retry_after_s({"retry-after": header}, ImpatientClock().now()) if header else None
    return ProviderError("The model is overloaded.", fault="overloaded", retry_after_s=asked)


async def waiting(s: Open) -> None:
    await s.rx.expect(ev.RetryWaitReported, lambda event: event.is_waiting)


def waits(transcript: Transcript) -> list[bool]:
    return [entry.is_waiting for entry in transcript.entries if isinstance(entry, NoticeEntry)]


async def test_a_wait_that_the_user_skips_ends_at_once(ground: Ground, patient: PatientClock) -> None:
    async with ground.session([[Fail(overloaded())], [Fail(overloaded())], [Say("Here.")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        for tries in (1, 2):
            await waiting(s)
            assert (len(s.provider.requests), len(patient.naps)) == (tries, tries)
            assert waits(s.session.transcript) == [True], "one notice for all tries"
            over = await s.carry_out(ops.TryNow(), ev.RetryWaitReported)
            assert not over.is_waiting
        assert (await s.rx.expect(ev.TurnEnded)).reason == "completed"
        assert len(s.provider.requests) == 3
        assert waits(s.session.transcript) == [False]


async def test_a_wait_that_a_server_wants_to_last_for_decades_is_short_and_can_be_skipped(
    ground: Ground, patient: PatientClock
) -> None:
    async with ground.session([[Fail(overloaded("999999999"))], [Say("Here.")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await waiting(s)
        assert patient.naps == [60]
        assert "in 60 s" in s.rx.all(ev.Notice)[0].hint
        assert (await s.carry_out(ops.TryNow(), ev.TurnEnded)).reason == "completed"


async def test_skipping_twice_skips_one_wait(ground: Ground, patient: PatientClock) -> None:
    async with ground.session([[Fail(overloaded())], [Fail(overloaded())], [Say("Here.")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await waiting(s)
        s.submit(ops.TryNow())
        s.submit(ops.TryNow())
        await waiting(s)
        assert len(s.provider.requests) == 2, "the second wait stands"
        assert (await s.carry_out(ops.TryNow(), ev.TurnEnded)).reason == "completed"


async def test_the_wait_of_a_summary_is_told_and_ends_when_the_user_skips_it(
    ground: Ground, patient: PatientClock
) -> None:
    async with ground.session([[Say("One.")], [Say("Two.")], [Fail(overloaded())], [SUMMARY]]) as s:
        await s.prompt()
        await s.prompt()
        s.submit(ops.Compact())
        await waiting(s)
        assert (len(s.provider.requests), len(patient.naps)) == (3, 1)
        assert waits(s.session.transcript) == [True]
        assert (await s.carry_out(ops.TryNow(), ev.Compacted)).summary.goals == ("ship it",)
        assert waits(s.session.transcript) == [False]


async def test_the_wait_of_a_summary_that_a_turn_needs_can_be_skipped_too(
    ground: Ground, patient: PatientClock
) -> None:
    ground.settings = Settings(
        model=ModelSettings(context_tokens=60_000, max_tokens=1_000),
        compaction=CompactionSettings(keep_last_turns=1, target_tokens=7_000),
    )
    long = "lorem ipsum " * 1_000
    async with ground.session([[Say(long)], [Fail(overloaded())], [SUMMARY], [Say("Two.")]]) as s:
        await s.prompt(long)
        s.submit(ops.SubmitPrompt(text="go on"))
        await waiting(s)
        assert (await s.carry_out(ops.TryNow(), ev.TurnEnded)).reason == "completed"
        assert s.rx.all(ev.Compacted)
    assert len(patient.naps) == 1


async def test_a_skip_that_comes_while_the_wait_ends_is_harmless(ground: Ground, patient: PatientClock) -> None:
    async with ground.session([[Fail(overloaded())], [Hang()]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await waiting(s)
        for _ in range(10):
            s.submit(ops.TryNow())
            await asyncio.sleep(0)  # at each step of the way from the skip to the end of the wait
        await s.rx.expect(ev.RetryWaitReported, lambda event: not event.is_waiting)
        assert (await s.carry_out(ops.Interrupt(), ev.TurnEnded)).reason == "interrupted"
        assert (len(s.provider.requests), len(patient.naps)) == (2, 1)


async def test_skipping_when_nothing_waits_does_nothing(ground: Ground) -> None:
    async with ground.session([[Fail(overloaded())], [Say("One.")], [Say("Two.")]]) as s:
        s.submit(ops.TryNow())
        assert (await s.prompt()).reason == "completed"
        recorded = list(s.rx.recorded)
        s.submit(ops.TryNow())
        await s.carry_out(ops.RenameSession(title="after it"), ev.SessionRenamed)
        assert [event.type for event in s.rx.recorded[len(recorded) :]] == ["session_renamed"]
        assert (await s.prompt()).reason == "completed"
        assert [event.is_waiting for event in s.rx.all(ev.RetryWaitReported)] == [True, False]


@pytest.mark.parametrize("is_skipped_too", [False, True])
async def test_a_wait_is_interrupted_like_a_request(
    ground: Ground, patient: PatientClock, *, is_skipped_too: bool
) -> None:
    async with ground.session([[Fail(overloaded())], [Say("never asked for")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await waiting(s)
        if is_skipped_too:
            s.submit(ops.TryNow())
        over = await s.carry_out(ops.Interrupt(), ev.RetryWaitReported)
        assert not over.is_waiting
        assert (await s.rx.expect(ev.TurnEnded)).reason == "interrupted"
        assert len(s.provider.requests) == 1
        assert waits(s.session.transcript) == [False]
        assert len(patient.naps) == 1


async def test_a_wait_is_known_to_the_running_session_only(ground: Ground, patient: PatientClock) -> None:
    """A journal has no wait: a front that reads it later, or beside the session, could not skip one."""
    async with ground.session([[Fail(overloaded())], [Say("Here.")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await waiting(s)
        assert waits(replay(s.rx.recorded)) == [False]
        assert waits(replay(s.rx.events)) == [True]
        assert waits(replay(s.rx.events).copy()) == [True]
    assert waits(replay(s.rx.events)) == [False], "closing interrupted it"
    assert patient.naps
