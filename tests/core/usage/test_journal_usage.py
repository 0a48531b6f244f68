"""What a journal says of the use of tools and models, however often it is read in between."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import Allowed
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.usage.durations import Durations
from desktop_agent.core.usage.journal_usage import JournalUsage, UsageFold
from desktop_agent.core.usage.reader import read_usage
from tests.core.usage.written import Timed, answered, begun, called, ended, opened_in, over, used, write_timed
from tests.journals import AT, asked_to_spend, wild_events

DAY_S = 24 * 3600


def usage_of(folder: Path, *events: Timed) -> JournalUsage:
    path = folder / "s" / "journal.jsonl"
    write_timed(path, Blobs(folder / "blobs"), [opened_in(), *events])
    read = read_usage(path, None)
    assert read is not None
    return read.known


def test_calls_are_counted_by_tool_and_day_with_their_errors(tmp_path: Path) -> None:
    usage = usage_of(
        tmp_path,
        begun(1),
        *called(2, "a", took_s=0.25),
        *called(3, "b", took_s=0.75, error="not_found"),
        *called(4, "c", "edit_file", error="permission"),
        *called(DAY_S, "d", took_s=2.0),
    )
    assert [(one.day.day, one.tool, one.calls, one.failed, one.took.total_s) for one in usage.tools] == [
        (22, "edit_file", 1, {"permission": 1}, 0.5),
        (22, "grep", 2, {"not_found": 1}, 1.0),
        (23, "grep", 1, {}, 2.0),
    ]


def test_an_answer_takes_from_when_it_was_wanted_without_the_time_in_tools_and_questions(tmp_path: Path) -> None:
    question, yes = asked_to_spend(1, "q"), ev.ApprovalResolved(turn=1, call_id="q", decision=Allowed())
    call, result = called(13, "a", took_s=20.0)
    usage = usage_of(
        tmp_path, begun(10), answered(13), call, result, answered(35), (36, question), (500, yes), answered(504)
    )
    (model,) = usage.models
    assert model.answered == Durations({3_000_000: 1, 2_000_000: 1, 4_000_000: 1}, 9.0)


def test_turns_are_counted_by_how_they_ended(tmp_path: Path) -> None:
    usage = usage_of(tmp_path, begun(1), over(3, took_s=2.0), begun(4), over(9, "provider_error", took_s=5.0))
    (model,) = usage.models
    assert (model.day, model.provider, model.model) == (date(2026, 11, 22), "anthropic", "claude-opus-5-5")
    assert (model.turns, model.ends, model.turn_s) == (2, {"completed": 1, "provider_error": 1}, 7.0)


@pytest.mark.parametrize(
    "copied",
    [ev.SessionForked(source="s", title="t"), ev.Notice(level="info", code="imported", title="Imported.")],
    ids=["fork", "import"],
)
def test_what_was_copied_was_not_used_here(tmp_path: Path, copied: ev.KnownEvent) -> None:
    usage = usage_of(
        tmp_path, begun(1), *called(2, "a"), answered(4), over(5), (6, copied), begun(7), *called(8, "b"), over(9)
    )
    assert [(one.tool, one.calls) for one in usage.tools] == [("grep", 1)]
    assert [one.turns for one in usage.models] == [1]


def test_a_call_without_an_end_is_not_counted_and_one_without_a_beginning_neither(tmp_path: Path) -> None:
    begin, _ = called(2, "a")
    usage = usage_of(tmp_path, begun(1), begin, over(3), begun(4), (5, ended("a")), (6, ended("never")))
    assert usage.tools == ()


def test_lines_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s" / "journal.jsonl"
    write_timed(path, Blobs(tmp_path / "blobs"), [opened_in(), begun(1), *called(2, "a")])
    lines = path.read_bytes()
    wrong = lines.replace(b'"duration_s":0.5', b'"duration_s":-3').replace(b'"seq":3', b'"seq":5')
    path.write_bytes(lines + b"not json\n" + b"[" * 100_000 + b"\n" + wrong.splitlines()[-1] + b"\n")
    read = read_usage(path, None)
    assert read is not None
    assert [one.calls for one in read.known.tools] == [1]


@given(st.lists(wild_events, max_size=25), st.integers(0, 25))
def test_a_journal_that_is_read_in_two_parts_says_the_same(events: list[ev.KnownEvent], cut: int) -> None:
    stamped = (event.stamped(number, AT + timedelta(seconds=7 * number)) for number, event in enumerate(events, 1))
    lines = [json.encode(encode_event(event)) for event in stamped]
    whole = folded(JournalUsage(), lines)
    kept = json.decode(json.encode(folded(JournalUsage(), lines[:cut])), type=JournalUsage)
    assert folded(kept, lines[cut:]) == whole


def folded(known: JournalUsage, lines: list[bytes]) -> JournalUsage:
    fold = UsageFold(known)
    for line in lines:
        fold.take(line)
    return fold.usage()


def test_a_fold_of_nothing_is_nothing() -> None:
    assert UsageFold(JournalUsage()).usage() == JournalUsage()


def test_what_was_spent_is_not_counted_a_second_time(tmp_path: Path) -> None:
    assert usage_of(tmp_path, used(1, 0.5)) == JournalUsage()
