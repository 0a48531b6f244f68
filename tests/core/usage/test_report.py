"""The report of what was used: durations, sums and flat records."""

import csv
import io
import math
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol.model import Spending, Usage
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
