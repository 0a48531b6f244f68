"""Limits on the costs and the time of a session, a day and a turn."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import SessionId, new_session_id
from desktop_agent.core.export import export_text
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, Denied, SpendingQuestion, ToolUseBlock, Usage
from desktop_agent.core.providers.scripted import Call, Cost, Fail, Hang, Reply, Say
from desktop_agent.core.session.recorder import SessionState, SpendingState, day_of
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.sections import Settings, SpendingSettings
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.digest import summarise, usage_on
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.session_upkeep import Fork, fork_journal
from desktop_agent.core.store.verify import verify
from desktop_agent.core.transcript import SpendingEntry, replay
from tests.core.store.journals import write
from tests.harness import Ground, ImpatientClock, Open, check_conversation
from tests.journals import AT, MODEL, SESSION_ID, asked_to_spend, opened

STEP: Reply = [Call("list_files", {}), Cost(0.5)]
DONE: Reply = [Say("Done."), Cost(0.0)]


class Calendar(ImpatientClock):
    today = datetime(2026, 11, 21, 21, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.today


@pytest.fixture
def calendar(ground: Ground) -> Calendar:
    ground.clock = clock = Calendar()
    return clock


def limit(ground: Ground, *, session: float | None = None, day: float | None = None) -> None:
    ground.settings = Settings(spending=SpendingSettings(session_usd=session, day_usd=day))


async def question(s: Open) -> SpendingQuestion:
    asked = await s.rx.expect(ev.ApprovalRequested)
    assert asked.request.spending is not None
    return asked.request.spending


def answer(s: Open, decision: Allowed | Denied) -> None:
    [request] = s.session.transcript.pending_approvals
    s.submit(ops.AnswerApproval(call_id=request.call_id, decision=decision))


async def asked_once(s: Open, decision: Allowed | Denied) -> tuple[SpendingQuestion, ev.TurnEnded]:
    s.submit(ops.SubmitPrompt(text="go"))
    asked = await question(s)
    answer(s, decision)
    return asked, await s.rx.expect(ev.TurnEnded)


def entries(s: Open) -> list[SpendingEntry]:
    return [entry for entry in s.session.transcript.entries if isinstance(entry, SpendingEntry)]


async def test_a_session_asks_at_its_limit_and_goes_on_for_as_much_again(ground: Ground) -> None:
    limit(ground, session=1.0)
    async with ground.session([STEP] * 5 + [DONE]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        asked = await question(s)
        assert (asked.limit, asked.limit_usd, asked.spent_usd, asked.until_usd) == ("session_usd", 1.0, 1.0, 2.0)
        assert len(s.provider.requests) == 2, "nothing is asked of the model meanwhile"
        assert s.session.transcript.turns.status == "waiting"
        [request] = s.session.transcript.pending_approvals
        assert request.title == "This conversation has cost $1.00, and its limit is $1.00. Go on?"
        assert [offer.label for offer in request.scopes] == ["Go on for another $1.00"]
        answer(s, Allowed())
        assert (await question(s)).spent_usd == 2.0
        answer(s, Allowed())
        assert (await s.rx.expect(ev.TurnEnded)).reason == "completed"
        assert len(s.provider.requests) == 6
        check_conversation(s.last_request)
        assert [isinstance(entry.decision, Allowed) for entry in entries(s)] == [True, True]
        assert replay(s.rx.recorded).entries == s.session.transcript.entries


async def test_a_user_who_says_no_stops_the_turn_and_is_asked_again_at_the_next(ground: Ground) -> None:
    limit(ground, session=0.5)
    async with ground.session([STEP, DONE]) as s:
        for _ in range(2):
            assert (await asked_once(s, Denied()))[1].reason == "interrupted"
        assert len(s.provider.requests) == 1


async def test_the_question_ends_with_the_turn_that_the_user_stops(ground: Ground) -> None:
    limit(ground, session=0.5)
    async with ground.session([STEP, DONE]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await question(s)
        assert (await s.carry_out(ops.Interrupt(), ev.ApprovalResolved)).decision.outcome == "aborted"
        assert (await s.rx.expect(ev.TurnEnded)).reason == "interrupted"
        assert s.session.transcript.pending_approvals == []


async def test_a_day_has_a_limit_over_all_sessions_which_ends_at_midnight(ground: Ground, calendar: Calendar) -> None:
    limit(ground, day=1.0)
    async with ground.session([STEP, DONE]) as other:
        assert (await other.prompt()).reason == "completed"
    async with ground.session([STEP, STEP, DONE]) as s:
        asked, _ = await asked_once(s, Denied())
        assert (asked.limit, asked.day) == ("day_usd", calendar.today.date())
        assert (asked.spent_usd, asked.until_usd) == (1.0, 2.0)
        calendar.today += timedelta(hours=3)
        assert (await s.prompt()).reason == "completed"


async def test_what_was_allowed_for_a_day_holds_in_every_conversation_and_not_beyond_it(
    ground: Ground, calendar: Calendar
) -> None:
    limit(ground, day=0.5)
    async with ground.session([STEP, DONE]) as first:
        first.submit(ops.SubmitPrompt(text="go"))
        assert (await question(first)).until_usd == 1.0
        async with ground.session([DONE]) as meanwhile:
            await asked_once(meanwhile, Denied())  # nothing is allowed yet
        answer(first, Allowed())
        assert (await first.rx.expect(ev.TurnEnded)).reason == "completed"
    async with ground.session([STEP, DONE]) as second:
        asked, _ = await asked_once(second, Denied())
        assert (asked.spent_usd, len(second.provider.requests)) == (1.0, 1), "asks when the allowance is used up"
    calendar.today += timedelta(days=1)
    async with ground.session([DONE]) as third:
        assert (await third.prompt()).reason == "completed"


async def test_what_was_allowed_on_a_day_does_not_hold_on_the_next(ground: Ground, calendar: Calendar) -> None:
    limit(ground, day=0.5)
    async with ground.session([STEP, DONE, STEP, DONE]) as s:
        for _ in range(2):
            asked, ended = await asked_once(s, Allowed())
            assert (asked.day, ended.reason) == (calendar.today.date(), "completed")
            calendar.today += timedelta(days=1)


async def asking(ground: Ground, *, is_killed: bool = False) -> SessionId:
    async with ground.session([STEP, DONE]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await question(s)
        if is_killed:
            s.session._parts.recorder.seal()  # pyright: ignore[reportPrivateUsage] - what a kill leaves
        else:
            s.submit(ops.Shutdown(keeps_questions=True))
            await s.task
        return s.id


@asynccontextmanager
async def reopened(ground: Ground, session_id: SessionId, *replies: Reply) -> AsyncGenerator[Open]:
    async with ground.session(replies, resume=session_id) as s:
        yield s
        s.submit(ops.Shutdown(keeps_questions=True))
        await s.task


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_question_survives_the_process_and_the_turn_goes_on_with_its_answer(
    ground: Ground, is_killed: bool
) -> None:
    limit(ground, session=0.5)
    session_id = await asking(ground, is_killed=is_killed)
    assert verify(SessionCatalog.of(ground.paths), session_id).is_fine
    async with reopened(ground, session_id) as s:
        assert s.provider.requests == []
    async with reopened(ground, session_id, DONE) as s:
        [request] = s.transcript.pending_approvals
        assert request.spending is not None
        s.submit(ops.AnswerApproval(call_id=request.call_id, decision=Allowed()))
        assert (await s.rx.expect(ev.TurnEnded)).reason == "completed"
        check_conversation(s.last_request)
    async with reopened(ground, session_id, DONE) as s:
        assert (await s.prompt()).reason == "completed", "the answer holds in the next process"


async def test_a_no_to_a_question_of_an_earlier_process_ends_its_turn(ground: Ground) -> None:
    limit(ground, session=0.5)
    session_id = await asking(ground)
    async with reopened(ground, session_id) as s:
        s.submit(ops.AnswerApproval(call_id=s.transcript.pending_approvals[0].call_id, decision=Denied()))
        assert (await s.rx.expect(ev.TurnEnded)).reason == "interrupted"
        assert s.provider.requests == []


async def test_without_a_user_the_question_of_an_earlier_process_counts_as_not_answered(ground: Ground) -> None:
    limit(ground, session=0.5)
    session_id = await asking(ground)
    async with ground.session([DONE], resume=session_id, is_attended=False) as s:
        assert (await s.rx.expect(ev.ApprovalResolved)).decision.outcome == "aborted"
        assert (await s.prompt()).reason == "limit"
        notice = s.rx.all(ev.Notice)[-1]
        assert (notice.code, notice.level) == ("session_usd", "error")
        assert notice.title == "This conversation has cost $0.50, and its limit is $0.50."
        assert s.provider.requests == []


async def test_a_fork_begins_with_nothing_spent_and_nothing_allowed(ground: Ground) -> None:
    limit(ground, session=0.5)
    async with ground.session([STEP, DONE]) as s:
        await asked_once(s, Allowed())
    catalog = SessionCatalog.of(ground.paths)
    copy = new_session_id(ground.clock.now())
    fork = Fork(session_id=copy, app_version="0", at=ground.clock.now())
    fork_journal(catalog.journal_path(s.id), ground.paths.sessions, fork, Blobs(ground.paths.blobs))
    async with ground.session([STEP, DONE], resume=copy) as forked:
        assert (await asked_once(forked, Denied()))[0].spent_usd == 0.5


async def test_an_unknown_price_is_named_where_a_limit_is_set(ground: Ground) -> None:
    limit(ground, day=1.0)
    async with ground.session([[Call("list_files", {})], [Say("Done.")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert [notice.code for notice in s.rx.all(ev.Notice)] == ["unknown_price"]


@pytest.mark.parametrize("form", ["md", "html"])
async def test_documents_say_what_was_asked_and_answered(ground: Ground, form: Literal["md", "html"]) -> None:
    limit(ground, session=0.5)
    async with ground.session([STEP, DONE]) as s:
        await asked_once(s, Allowed())
    document = b"".join(
        export_text(SessionCatalog.of(ground.paths).journal_path(s.id), form, Blobs(ground.paths.blobs))
    )
    assert b"has cost $0.50, and its limit is $0.50. Go on? Yes, up to $1.00." in document.replace(b"\\", b"")


FORK = ev.SessionForked(source="20261101-100000-abcdef", title="t")

_usages = st.builds(
    Usage,
    input_tokens=st.integers(0, 1_000),
    output_tokens=st.integers(0, 100),
    cost_usd=st.none() | st.floats(0, 50).map(lambda usd: round(usd, 6)),
)
_reports = st.builds(ev.UsageReported, turn=st.just(1), usage=_usages, model=st.just(MODEL), is_aside=st.booleans())
_hours = st.integers(0, 24 * 5)
"""Hours after the journal's start, independent for each record: clocks may be set back."""


def at(hours: int) -> datetime:
    return AT + timedelta(hours=hours)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_reports | st.just(FORK), _hours), max_size=12))
@example([(ev.UsageReported(turn=1, usage=Usage(cost_usd=1.0), model=MODEL), 14), (FORK, 15)])
def test_days_of_a_session_sum_up_like_those_of_the_list(records: list[tuple[ev.KnownEvent, int]]) -> None:
    numbered = enumerate(records, start=2)
    events = [opened().stamped(1, AT), *(event.stamped(number, at(hours)) for number, (event, hours) in numbered)]
    state = SessionState()
    for event in events:
        state.apply(event)
    with tempfile.TemporaryDirectory() as folder:
        path, blobs = Path(folder, "s", "journal.jsonl"), Blobs(Path(folder, "blobs"))
        write(path, blobs, events)
        seen = summarise(path, SESSION_ID, blobs, None)
    assert seen is not None
    assert seen.known is not None
    for day in {day_of(event.at) for event in events}:
        own, listed = state.spending.usage_on(day), usage_on(day, [seen.known])
        assert (own.input_tokens, own.output_tokens) == (listed.input_tokens, listed.output_tokens)
        assert own.cost_usd == pytest.approx(listed.cost_usd)
    assert state.spending.total_usd == pytest.approx(
        sum(one.usage.cost_usd or 0.0 for one in seen.known.spending), abs=1e-9
    )


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20), st.sampled_from(["session_usd", "day_usd"]))
def test_what_was_allowed_is_the_last_yes_and_only_for_its_day(amounts: list[float], limit: str) -> None:
    state = SpendingState()
    for usd in amounts:
        question = asked_to_spend(1, "q", usd, limit).request.spending
        assert question is not None
        state.allow_more(question)
    until = (state.session_until_usd, state.until_usd_on(AT.date()))
    assert until == ((2 * amounts[-1], 0.0) if limit == "session_usd" else (0.0, 2 * amounts[-1]))
    assert state.until_usd_on(AT.date() + timedelta(days=1)) == 0.0


def test_a_day_is_that_of_utc_wherever_the_machine_is() -> None:
    late = datetime.fromisoformat("2026-11-21T23:30:00-05:00")
    assert day_of(late).isoformat() == "2026-11-22"
    assert day_of(datetime(2026, 11, 21, 23, 30)) == day_of(datetime(2026, 11, 21, 23, 30, tzinfo=UTC))  # noqa: DTZ001


class Alarm(ImpatientClock):
    def __init__(self, limit_s: float) -> None:
        super().__init__()
        self._limit_s = limit_s
        self.rings = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds == self._limit_s:
            await self.rings.wait()
        else:
            await super().sleep(seconds)


def look(usd: float | None) -> Reply:
    return [Call("list_files", {}), Cost(usd)]


def codes(events: list[ev.Notice]) -> list[str]:
    return [notice.code for notice in events]


async def test_a_turn_that_has_cost_as_much_as_it_may_asks_no_more(ground: Ground) -> None:
    async with ground.session([look(0.25)] * 9, limits=TurnLimits(max_cost_usd=0.5)) as s:
        ended = await s.prompt()
        assert (ended.reason, ended.requests) == ("limit", 2)
        (notice,) = s.rx.all(ev.Notice)
        assert (notice.code, notice.level, notice.turn) == ("max_cost", "error", 1)
        assert notice.title == "The turn has cost $0.50, and its limit is $0.50."


async def test_each_turn_has_its_own_costs(ground: Ground) -> None:
    replies = [look(0.25), [Say("One."), Cost(0.2)], look(0.25), [Say("Two."), Cost(0.2)]]
    async with ground.session(replies, limits=TurnLimits(max_cost_usd=0.4)) as s:
        assert [(await s.prompt()).reason for _ in range(2)] == ["completed", "completed"]
        check_conversation(s.last_request)


async def test_an_unknown_price_is_named_once_where_a_limit_depends_on_it(ground: Ground) -> None:
    async with ground.session([look(None), look(None), [Say("Done.")]], limits=TurnLimits(max_cost_usd=1.0)) as s:
        assert (await s.prompt()).reason == "completed"
        (notice,) = s.rx.all(ev.Notice)
        assert (notice.code, notice.level) == ("unknown_price", "warning")
        assert notice.title == "The price of scripted is not known, so cost limits do not apply to it."
    async with ground.session([look(None), [Say("Done.")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert s.rx.all(ev.Notice) == []


async def test_a_turn_whose_time_is_over_keeps_what_was_said_and_answers_its_call(ground: Ground) -> None:
    ground.clock = alarm = Alarm(60.0)
    command = Call("run_terminal_cmd", {"command": "sleep 600", "explanation": "Wait"})
    replies = [[Say("I wait."), command], [Say("Half an ans"), Hang()], [Say("Whole.")]]
    async with ground.session(replies, limits=TurnLimits(max_time_s=60.0), approval="never") as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ToolCallStarted)
        alarm.rings.set()
        assert (await s.rx.expect(ev.TurnEnded)).reason == "limit"
        alarm.rings.clear()
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
        alarm.rings.set()
        assert (await s.rx.expect(ev.TurnEnded)).reason == "limit"
        assert codes(s.rx.all(ev.Notice)) == ["max_time", "max_time"]
        assert s.rx.all(ev.Notice)[0].title == ("The turn was stopped after 60 seconds, its time limit.")
        alarm.rings.clear()
        assert (await s.prompt()).reason == "completed"
        check_conversation(s.last_request)
        (asked,) = [
            block for done in s.rx.all(ev.MessageDone) for block in done.content if isinstance(block, ToolUseBlock)
        ]
        (answered,) = s.rx.all(ev.ToolCallFinished)
        assert (answered.call_id, answered.state) == (asked.id, "failed")


async def test_the_time_of_a_turn_includes_its_waits_for_the_model(ground: Ground) -> None:
    class Waits(Alarm):
        async def sleep(self, seconds: float) -> None:
            if seconds == 60.0:
                await super().sleep(seconds)
            else:
                self.rings.set()
                await asyncio.get_running_loop().create_future()

    ground.clock = Waits(60.0)
    overloaded = Fail(ProviderError("Busy.", fault="overloaded", hint="Start the server.", detail="HTTP 529"))
    async with ground.session([[overloaded], [Say("Late.")]], limits=TurnLimits(max_time_s=60.0)) as s:
        assert (await s.prompt()).reason == "limit"
        notices = s.rx.all(ev.Notice)
        assert codes(notices) == ["retrying", "max_time"]
        assert "Its last request failed: Busy. Start the server." in notices[-1].hint, (
            "what was in the way is named, too"
        )
        assert notices[-1].detail == "HTTP 529"


async def test_a_failure_that_was_overcome_is_not_named_by_a_turn_whose_time_is_over(ground: Ground) -> None:
    ground.clock = alarm = Alarm(60.0)
    overloaded = Fail(ProviderError("Busy.", fault="overloaded"))
    command = Call("run_terminal_cmd", {"command": "sleep 600", "explanation": "Wait"})
    async with ground.session([[overloaded], [command]], limits=TurnLimits(max_time_s=60.0), approval="never") as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ToolCallStarted)
        alarm.rings.set()
        await s.rx.expect(ev.TurnEnded)
        notices = s.rx.all(ev.Notice)
        assert codes(notices) == ["retrying", "max_time"]
        assert "Busy" not in notices[-1].hint
