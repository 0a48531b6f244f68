"""What a session knows to have spent on a day is what the list of sessions says, whatever its journal holds."""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Usage
from desktop_agent.core.session.session_state import SessionState, SpendingState, day_of
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.digest import summarise, usage_on
from tests.core.store.journals import write
from tests.journals import AT, MODEL, SESSION_ID, asked_to_spend, opened

FORK = ev.SessionForked(source="20261101-100000-abcdef", title="t")

_usages = st.builds(
    Usage,
    input_tokens=st.integers(0, 1_000),
    output_tokens=st.integers(0, 100),
    cost_usd=st.none() | st.floats(0, 50).map(lambda usd: round(usd, 6)),
)
_reports = st.builds(ev.UsageReported, turn=st.just(1), usage=_usages, model=st.just(MODEL), is_aside=st.booleans())
_hours = st.integers(0, 24 * 5)
"""After the journal's beginning, each record on its own: clocks may be set back."""


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
        state.go_on(question)
    until = (state.session_until_usd, state.until_usd_on(AT.date()))
    assert until == ((2 * amounts[-1], 0.0) if limit == "session_usd" else (0.0, 2 * amounts[-1]))
    assert state.until_usd_on(AT.date() + timedelta(days=1)) == 0.0


def test_a_day_is_that_of_utc_wherever_the_machine_is() -> None:
    late = datetime.fromisoformat("2026-11-21T23:30:00-05:00")
    assert day_of(late).isoformat() == "2026-11-22"
    assert day_of(datetime(2026, 11, 21, 23, 30)) == day_of(datetime(2026, 11, 21, 23, 30, tzinfo=UTC))  # noqa: DTZ001
