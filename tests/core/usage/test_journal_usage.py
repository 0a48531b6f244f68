"""The use of tools and models, read from journals."""

import csv
import io
import math
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import Allowed, Spending, Usage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.usage import journal_usage as reader_module
from desktop_agent.core.usage.journal_usage import JournalUsage, UsageFold, UsageReader, read_usage
from desktop_agent.core.usage.report import (
    MICROSECONDS,
    Durations,
    SessionFigures,
    ToolUse,
    csv_text,
    records,
    report_of,
    rounded,
)
from tests.core.usage.written import LOCAL, Timed, answered, begun, called, ended, opened_in, over, used, write_timed
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
    return fold.result()


def test_a_fold_of_nothing_is_nothing() -> None:
    assert UsageFold(None).result() == JournalUsage()


def test_what_was_spent_is_not_counted_a_second_time(tmp_path: Path) -> None:
    assert usage_of(tmp_path, used(1, 0.5)) == JournalUsage()


TODAY = date(2026, 11, 22)


class Store:
    def __init__(self, folder: Path) -> None:
        self.paths = AppPaths(config=folder, data=folder, cache=folder / "cache", logs=folder)
        self.blobs = Blobs(self.paths.blobs)

    def path(self, number: int) -> Path:
        return self.paths.sessions / f"20261122-1000{number:02}-abcdef" / "journal.jsonl"

    def write(self, number: int, *events: Timed, first: int = 1) -> int:
        opening = [opened_in(f"/home/ann/{number % 2}")] if first == 1 else []
        return write_timed(self.path(number), self.blobs, [*opening, *events], first=first)

    def reader(self) -> UsageReader:
        return UsageReader.of(self.paths, SessionCatalog.of(self.paths))

    def read(self) -> tuple[SessionFigures, ...]:
        return self.reader().read()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def lines_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    count = 0
    take = reader_module.UsageFold.take

    def counting(fold: reader_module.UsageFold, line: bytes) -> None:
        nonlocal count
        count += 1
        take(fold, line)

    monkeypatch.setattr(reader_module.UsageFold, "take", counting)
    return lambda: count


def calls(sessions: tuple[SessionFigures, ...]) -> int:
    return report_of(sessions, None, TODAY).total.calls


def test_only_what_is_new_is_read(store: Store, lines_read: Callable[[], int]) -> None:
    following = store.write(1, begun(1), *called(2, "a"))
    store.write(2, begun(1), *called(2, "a"))
    assert calls(store.read()) == 2
    assert lines_read() == 8
    assert calls(store.read()) == 2
    assert lines_read() == 8
    store.write(1, *called(5, "b"), first=following)
    assert calls(store.read()) == 3
    assert lines_read() == 10


def test_a_session_that_was_deleted_counts_no_more(store: Store) -> None:
    store.write(1, begun(1), *called(2, "a"))
    store.write(2, begun(1), *called(2, "a"))
    assert calls(store.read()) == 2
    store.path(1).unlink()
    store.path(1).parent.rmdir()
    assert calls(store.read()) == 1


def test_a_reading_can_be_stopped_and_keeps_what_it_has(store: Store, lines_read: Callable[[], int]) -> None:
    for number in range(4):
        store.write(number, begun(1), *called(2, "a"))
    seen: list[tuple[int, int]] = []
    sessions = store.reader().read(
        progress=lambda done, total: seen.append((done, total)), is_stopped=lambda: len(seen) > 2
    )
    assert seen == [(0, 4), (1, 4), (2, 4)]
    assert calls(sessions) == 2
    assert calls(store.read()) == 4
    assert lines_read() == 16


def test_a_report_adds_up_by_day_model_tool_and_folder(store: Store) -> None:
    store.write(1, begun(1), *called(2, "a", "edit_file"), used(3, 0.5), answered(4), over(5))
    store.write(2, begun(1, model=LOCAL), *called(2, "a"), used(3, None, model=LOCAL), over(9, "provider_error"))
    store.write(3, begun(1), *called(2, "a", error="fatal"), used(3, 0.25), over(5))
    report = report_of(store.read(), None, TODAY)
    assert report.total.usage.cost_usd == 0.75
    assert report.total.usage.unpriced_tokens == 1_100
    assert (report.total.sessions, report.total.turns, report.total.failed_turn_count) == (3, 3, 1)
    models = {key: (one.requests, one.usage.cost_usd, one.turns, one.sessions) for key, one in report.models.items()}
    assert models == {("anthropic", "claude-opus-5-5"): (2, 0.75, 2, 2), ("ollama", "qwen"): (1, None, 1, 1)}
    assert {key: (one.calls, one.failed_calls) for key, one in report.tools.items()} == {
        ("edit_file",): (1, {}),
        ("grep",): (2, {"fatal": 1}),
    }
    assert {key: (one.sessions, one.calls) for key, one in report.folders.items()} == {
        ("/home/ann/1",): (2, 2),
        ("/home/ann/0",): (1, 1),
    }
    assert list(report.days) == [("2026-11-22",)]
    for by in ("day", "folder"):
        assert sum(one.turns for one in report.rows(by).values()) == 3


def test_only_the_days_of_the_period_count(store: Store) -> None:
    store.write(1, begun(1), *called(2, "a"), used(3, 0.5), over(4))
    later = 3 * 24 * 3600
    store.write(2, begun(later), *called(later, "a"), used(later, 0.25), over(later + 1))
    report = report_of(store.read(), date(2026, 11, 25), date(2026, 11, 25))
    assert (report.total.calls, report.total.turns, report.total.usage.cost_usd) == (1, 1, 0.25)
    assert list(report.folders) == [("/home/ann/0",)]


lists_of_seconds = st.lists(st.floats(1e-6, 1e5), min_size=1, max_size=40)


@given(lists_of_seconds, lists_of_seconds, st.sampled_from([1, 50, 95, 99, 100]))
def test_a_percentile_of_sums_is_that_of_all_durations(some: list[float], others: list[float], percent: int) -> None:
    whole, part = Durations(), Durations()
    for one in some:
        whole.add(one)
    for one in others:
        part.add(one)
    whole.add_all(part)
    both = sorted(some + others)
    nearest = both[math.ceil(len(both) * percent / 100) - 1]
    assert whole.percentile_s(percent) == rounded(round(nearest * MICROSECONDS) or 1) / MICROSECONDS
    assert whole.count == len(both)
    assert math.isclose(whole.total_s, sum(both), rel_tol=1e-6, abs_tol=0.01)


@given(st.integers(1, 10**12))
def test_what_is_rounded_has_two_digits_and_is_right_to_five_percent(micros: int) -> None:
    assert len(str(rounded(micros)).rstrip("0")) <= 2
    assert abs(rounded(micros) - micros) <= micros * 0.05


def test_what_took_no_time_was_not_measured() -> None:
    durations = Durations()
    durations.add(0.0)
    assert durations.count == 0
    assert durations.percentile_s(50) is None


DAY = date(2026, 11, 22)


def session(*, cost_usd: float | None = None, tool: str = "grep") -> SessionFigures:
    usage = Usage(input_tokens=10, output_tokens=5, cost_usd=cost_usd)
    return SessionFigures(
        workspace="/home/ann/a, b",
        spending=(Spending(day=DAY, provider="openai", model="new", requests=1, usage=usage),),
        tools=(ToolUse(day=DAY, tool=tool, calls=4, failed={"not_found": 1}, took=Durations({1_200_000: 3}, 3.6)),),
        models=(),
    )


def test_a_cost_that_is_not_known_is_null_and_empty_but_not_nothing() -> None:
    (row,) = records(report_of([session()], None, DAY), "model")
    assert (row["cost_usd"], row["unpriced_tokens"], row["answer_p95_s"]) == (None, 15, None)
    (read,) = csv.DictReader(io.StringIO(csv_text([row])))
    assert (read["model"], read["cost_usd"], read["unpriced_tokens"]) == ("new", "", "15")


def test_tools_have_their_errors_and_percentiles() -> None:
    (row,) = records(report_of([session()], None, DAY), "tool")
    assert {key: row[key] for key in ("tool", "calls", "failed_calls", "failed_not_found", "p50_s", "tool_s")} == {
        "tool": "grep",
        "calls": 4,
        "failed_calls": 1,
        "failed_not_found": 1,
        "p50_s": 1.2,
        "tool_s": 3.6,
    }


def test_a_folder_with_a_comma_is_one_field() -> None:
    rows = records(report_of([session(cost_usd=0.5)], None, DAY), "folder")
    (read,) = csv.DictReader(io.StringIO(csv_text(rows)))
    assert (read["folder"], read["cost_usd"]) == ("/home/ann/a, b", "0.5")


def test_a_name_that_looks_like_a_formula_is_none_in_a_spreadsheet() -> None:
    rows = records(report_of([session(tool='=HYPERLINK("http://x")')], None, DAY), "tool")
    (read,) = csv.DictReader(io.StringIO(csv_text(rows)))
    assert read["tool"] == '\'=HYPERLINK("http://x")'


def test_no_rows_are_no_text() -> None:
    assert csv_text([]) == ""
