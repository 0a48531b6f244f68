"""Failing requests: another model steps in, and a wait can be skipped."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from desktop_agent.core.base.errors import CredentialsError, ProviderError, ProviderFault
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import AssistantMessage, ModelRef
from desktop_agent.core.providers.faults import retry_after_s
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Cost, Fail, Hang, Reply, Say, ScriptedProvider, Think, in_order
from desktop_agent.core.settings.sections import CompactionSettings, ModelSettings, Settings
from desktop_agent.core.transcript import NoticeEntry, TextEntry, Transcript, replay
from tests.harness import MODEL, Ground, ImpatientClock, Open, check_conversation

OTHER = ModelRef(provider="openai", model="gpt-6-astra")
TRIES = 5


def busy(fault: ProviderFault = "overloaded") -> Reply:
    return [Fail(ProviderError("The model's service is overloaded.", fault=fault, hint="Try again later."))]


@asynccontextmanager
async def session(
    ground: Ground,
    usual: list[Reply],
    other: list[Reply],
    *,
    fallback: str = "openai/gpt-6-astra",
    is_known: bool = True,
) -> AsyncGenerator[tuple[Open, ScriptedProvider]]:
    ground.settings = Settings(model=ModelSettings(fallback=fallback))
    first, second = ScriptedProvider(in_order(usual)), ScriptedProvider(in_order(other))

    async def source(model: ModelRef) -> Provider:
        if model == MODEL:
            return first
        if not is_known:
            raise CredentialsError("There is no key for OpenAI.")
        return second

    async with ground.session([], provider_source=source) as s:
        s.provider = first
        yield s, second


def answered_by(s: Open) -> list[ModelRef]:
    return [done.model for done in s.rx.all(ev.MessageDone)]


def fallback_notices(s: Open) -> list[ev.Notice]:
    return [notice for notice in s.rx.all(ev.Notice) if notice.code == "fallback"]


@pytest.mark.parametrize("fault", ["overloaded", "rate_limited", "server"])
async def test_the_fallback_answers_one_request_and_the_next_is_the_usual_models(
    ground: Ground, fault: ProviderFault
) -> None:
    usual = [[Think("Hm."), Call("list_files", {})], *[busy(fault)] * TRIES, [Say("Back."), Cost(0.5)]]
    async with session(ground, usual, [[Say("I step in."), Call("list_files", {}), Cost(0.25)]]) as (s, other):
        assert (await s.prompt()).reason == "completed"
        assert answered_by(s) == [MODEL, OTHER, MODEL]
        assert [event.model for event in s.rx.all(ev.UsageReported)] == [MODEL, OTHER, MODEL]
        assert s.session.transcript.turns.usage.cost_usd == 0.75
        (notice,) = fallback_notices(s)
        assert notice.title == "scripted is overloaded, so gpt-6-astra answers this request."
        [request] = other.requests
        assert request.model == "gpt-6-astra"
        (thought,) = [m for m in request.messages if isinstance(m, AssistantMessage)]
        assert thought.made_by == MODEL, "so its provider leaves the thinking out that only the other can read"
        check_conversation(request)
        check_conversation(s.last_request)
        assert s.session.transcript.session.model == MODEL
        assert replay(s.rx.recorded).entries == s.session.transcript.entries


async def test_while_it_stays_overloaded_the_usual_model_is_tried_once_a_request(ground: Ground) -> None:
    step: Reply = [Call("list_files", {})]
    usual = [*[busy()] * TRIES, busy(), [Call("list_files", {})], *[busy()] * TRIES]
    async with session(ground, usual, [step, step, [Say("Done.")]]) as (s, other):
        assert (await s.prompt()).reason == "completed"
        assert len(s.provider.requests) == TRIES + 1 + 1 + TRIES
        assert answered_by(s) == [OTHER, OTHER, MODEL, OTHER]
        assert len(other.requests) == 3


async def test_another_failure_after_that_is_tried_again_as_ever(ground: Ground) -> None:
    usual = [*[busy()] * TRIES, busy("network"), busy("stream"), [Say("Back.")]]
    async with session(ground, usual, [[Call("list_files", {})]]) as (s, other):
        assert (await s.prompt()).reason == "completed"
        assert (len(s.provider.requests), len(other.requests)) == (TRIES + 3, 1)


@pytest.mark.parametrize("fault", ["authentication", "invalid_request", "billing", "network", "not_found"])
async def test_other_failures_are_not_answered_by_another_model(ground: Ground, fault: ProviderFault) -> None:
    async with session(ground, [busy(fault)] * TRIES, [[Say("Never.")]]) as (s, other):
        assert (await s.prompt()).reason == "provider_error"
        assert (other.requests, fallback_notices(s)) == ([], [])


async def test_what_was_half_said_by_the_usual_model_is_void(ground: Ground) -> None:
    half = [Say("Half an ans"), *busy("server")]
    async with session(ground, [half] * TRIES, [[Say("A whole answer.")]]) as (s, _):
        assert (await s.prompt()).reason == "completed"
        entries = s.session.transcript.entries
        assert [entry.text for entry in entries if isinstance(entry, TextEntry)] == ["A whole answer."]
        assert entries == replay(s.rx.recorded).entries


async def test_the_user_stops_it_while_the_fallback_answers(ground: Ground) -> None:
    async with session(ground, [busy()] * TRIES, [[Say("I begin"), Hang()]]) as (s, _):
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
        assert (await s.carry_out(ops.Interrupt(), ev.TurnEnded)).reason == "interrupted"
        assert answered_by(s) == [OTHER]


async def test_a_fallback_that_fails_too_is_asked_once_and_both_are_named(ground: Ground) -> None:
    async with session(ground, [busy()] * TRIES, [busy()] * TRIES) as (s, other):
        assert (await s.prompt()).reason == "provider_error"
        assert len(other.requests) == 1
        notice = s.rx.all(ev.Notice)[-1]
        assert (notice.level, notice.code) == ("error", "overloaded")
        assert "gpt-6-astra could not answer in its place: The model's service is overloaded." in notice.hint


async def test_a_fallback_without_a_key_is_named(ground: Ground) -> None:
    async with session(ground, [busy()] * TRIES, [], is_known=False) as (s, _):
        assert (await s.prompt()).reason == "provider_error"
        assert "gpt-6-astra could not answer in its place: There is no key for OpenAI." in s.rx.all(ev.Notice)[-1].hint


SUMMARY = Say(json.dumps({"goals": ["ship it"]}))


class PatientClock(ImpatientClock):
    """A clock on which a wait never ends by itself."""

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.Event().wait()


@pytest.fixture
def patient(ground: Ground) -> PatientClock:
    """Make sessions wait until the wait is skipped or interrupted."""
    ground.clock = clock = PatientClock()
    return clock


def overloaded(header: str = "") -> ProviderError:
    asked = retry_after_s({"retry-after": header}, ImpatientClock().now()) if header else None
    return ProviderError("The model is overloaded.", fault="overloaded", retry_after_s=asked)


async def waiting(s: Open, text: str = "") -> None:
    if text:
        s.submit(ops.SubmitPrompt(text=text))
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
        await waiting(s, "go")
        assert patient.naps == [60]
        assert "in 60 s" in s.rx.all(ev.Notice)[0].hint
        assert (await s.carry_out(ops.TryNow(), ev.TurnEnded)).reason == "completed"


async def test_skipping_twice_skips_one_wait(ground: Ground, patient: PatientClock) -> None:
    async with ground.session([[Fail(overloaded())], [Fail(overloaded())], [Say("Here.")]]) as s:
        await waiting(s, "go")
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
        await waiting(s, "go on")
        assert (await s.carry_out(ops.TryNow(), ev.TurnEnded)).reason == "completed"
        assert s.rx.all(ev.Compacted)
    assert len(patient.naps) == 1


async def test_a_skip_that_comes_while_the_wait_ends_is_harmless(ground: Ground, patient: PatientClock) -> None:
    async with ground.session([[Fail(overloaded())], [Hang()]]) as s:
        await waiting(s, "go")
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
        await waiting(s, "go")
        if is_skipped_too:
            s.submit(ops.TryNow())
        over = await s.carry_out(ops.Interrupt(), ev.RetryWaitReported)
        assert not over.is_waiting
        assert (await s.rx.expect(ev.TurnEnded)).reason == "interrupted"
        assert len(s.provider.requests) == 1
        assert waits(s.session.transcript) == [False]
        assert len(patient.naps) == 1


async def test_a_wait_is_known_to_the_running_session_only(ground: Ground, patient: PatientClock) -> None:
    """A journal records no wait: a reader of the journal could not skip it."""
    async with ground.session([[Fail(overloaded())], [Say("Here.")]]) as s:
        await waiting(s, "go")
        assert waits(replay(s.rx.recorded)) == [False]
        assert waits(replay(s.rx.events)) == [True]
        assert waits(replay(s.rx.events).copy()) == [True]
    assert waits(replay(s.rx.events)) == [False], "closing interrupted it"
    assert patient.naps
