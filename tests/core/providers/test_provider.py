"""When a request is repeated, and scripted failures of all kinds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import TRANSIENT_FAULTS, ProviderError, ProviderFault
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import TextDelta
from desktop_agent.core.protocol.model import AssistantBlock, ModelRequest, TextBlock
from desktop_agent.core.providers.provider import Completion, RetryPolicy
from desktop_agent.core.providers.scripted import Call, Fail, Reply, Say, ScriptedProvider, Think
from desktop_agent.core.settings.sections import CompactionSettings, ModelSettings, Settings
from tests.harness import Ground, ImpatientClock

HUGE = "żółć🎉 " * 200_000
HUGE_WINDOW = Settings(model=ModelSettings(context_tokens=10**7), compaction=CompactionSettings(target_tokens=10**7))
REQUEST = ModelRequest(model="m", system="", messages=(), tools=(), max_tokens=100)


def blocks(done: list[ev.MessageDone]) -> list[AssistantBlock]:
    return [block for event in done for block in event.content]


async def test_a_reply_comes_in_small_pieces_and_then_whole() -> None:
    provider = ScriptedProvider(lambda _: (Think("Let me think about it."), Say("It is forty-two, of course.")))
    pieces = [piece async for piece in provider.stream(REQUEST)]
    texts = [piece.text for piece in pieces if isinstance(piece, TextDelta)]
    assert len(texts) > 1
    assert "".join(texts) == "It is forty-two, of course."
    (completion,) = [piece for piece in pieces if isinstance(piece, Completion)]
    assert pieces[-1] is completion
    assert completion.stop_reason == "end_turn"


async def test_a_paced_reply_waits_between_its_pieces() -> None:
    clock = ImpatientClock()
    provider = ScriptedProvider(lambda _: (Say("x" * 120),), pace_s=0.01, clock=clock)
    texts = [piece async for piece in provider.stream(REQUEST)]
    assert clock.naps == [0.01] * (len(texts) - 1)


async def test_an_error_after_half_a_reply_keeps_nothing_of_it_and_is_tried_again(ground: Ground) -> None:
    fault = ProviderError("The model is overloaded.", fault="overloaded")
    async with ground.session([[Say("Half a"), Fail(fault)], [Say("Whole.")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert blocks(s.rx.all(ev.MessageDone)) == [TextBlock(text="Whole.")]
        assert len(s.provider.requests) == 2
        assert s.provider.requests[0].messages == s.provider.requests[1].messages


async def test_a_good_call_beside_a_malformed_one_still_runs(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    reply: Reply = [Call("read_file", malformed="{"), Call("read_file", {"path": "a.py"})]
    async with ground.session([reply, [Say("ok")]]) as s:
        await s.prompt()
        assert [result.is_error for result in s.results()] == [True, False]


async def test_a_huge_answer_is_recorded_whole(ground: Ground) -> None:
    ground.settings = HUGE_WINDOW
    async with ground.session([[Say(HUGE)]]) as s:
        assert (await s.prompt()).reason == "completed"
        session_id = s.id
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        await s.prompt("and?")
        said = s.last_request.messages[1].content[0]
        assert said == TextBlock(text=HUGE)


async def test_a_huge_argument_reaches_its_tool_whole(ground: Ground) -> None:
    ground.settings = HUGE_WINDOW
    create = Call("create_file", {"path": "big.txt", "content": HUGE})
    async with ground.session([[create], [Say("ok")]], approval="never") as s:
        assert (await s.prompt()).reason == "completed"
        assert ground.read("big.txt") == HUGE


async def test_a_script_that_has_run_out_says_so(ground: Ground) -> None:
    async with ground.session([]) as s:
        await s.prompt()
        assert blocks(s.rx.all(ev.MessageDone)) == [TextBlock(text="The script has no more replies.")]


POLICY = RetryPolicy()
FRACTIONS = st.floats(min_value=0, max_value=1, exclude_max=True)
ATTEMPTS = st.integers(min_value=1, max_value=10_000)


def _error(fault: ProviderFault = "overloaded", retry_after_s: float | None = None) -> ProviderError:
    return ProviderError("It failed.", fault=fault, retry_after_s=retry_after_s)


@pytest.mark.parametrize("fault", sorted(TRANSIENT_FAULTS))
def test_what_can_pass_is_tried_again(fault: ProviderFault) -> None:
    assert POLICY.should_retry(_error(fault), attempt=1)


@pytest.mark.parametrize(
    "fault", ["authentication", "permission", "not_found", "invalid_request", "too_large", "billing"]
)
def test_what_somebody_must_change_is_not_tried_again(fault: ProviderFault) -> None:
    assert not POLICY.should_retry(_error(fault), attempt=1)


def test_the_last_try_is_not_followed_by_another() -> None:
    tries = RetryPolicy(max_tries=3)
    assert [tries.should_retry(_error(), attempt) for attempt in (1, 2, 3)] == [True, True, False]


def test_the_wait_doubles_up_to_its_cap() -> None:
    longest = [POLICY.delay_s(attempt, _error(), lambda: 1.0) for attempt in range(1, 8)]
    assert longest == [1, 2, 4, 8, 16, 30, 30]


@given(attempt=ATTEMPTS, fraction=FRACTIONS)
def test_a_wait_is_between_half_and_all_of_the_backoff(attempt: int, fraction: float) -> None:
    full = min(2.0 ** min(attempt - 1, 10), 30.0)
    assert full / 2 <= POLICY.delay_s(attempt, _error(), lambda: fraction) <= full


@given(attempt=ATTEMPTS, fraction=FRACTIONS, asked=st.floats(min_value=0.001, max_value=1e9))
def test_what_the_server_asks_for_is_honoured_up_to_a_minute(attempt: int, fraction: float, asked: float) -> None:
    delay = POLICY.delay_s(attempt, _error(retry_after_s=asked), lambda: fraction)
    assert min(asked, 60) <= delay <= min(asked * 1.1, 60)


def test_a_server_that_asks_for_no_wait_gets_the_backoff() -> None:
    assert POLICY.delay_s(2, _error(retry_after_s=0), lambda: 0.0) == 1
