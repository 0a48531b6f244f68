"""A model that steps in when the usual one is overloaded: only then, only once, and never in silence."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from desktop_agent.core.base.errors import CredentialsError, ProviderError, ProviderFault
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import AssistantMessage, ModelRef
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Cost, Fail, Hang, Reply, Say, ScriptedProvider, Think, in_order
from desktop_agent.core.settings.sections import ModelSettings, Settings
from desktop_agent.core.transcript import TextEntry, replay
from tests.harness import MODEL, Ground, Open, check_conversation

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


async def test_without_one_the_request_fails(ground: Ground) -> None:
    async with session(ground, [busy()] * TRIES, [[Say("Never.")]], fallback="") as (s, other):
        assert (await s.prompt()).reason == "provider_error"
        assert other.requests == []


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
