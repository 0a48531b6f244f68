"""The displayed report has every figure, and names unknown ones."""

from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from desktop_agent.core.protocol.model import Usage
from desktop_agent.core.usage.report import GROUPINGS, Grouping, SessionFigures
from desktop_agent.ui.usage.usage_figures import BarData, ColumnData
from desktop_agent.ui.usage.usage_report import columns_of, spans
from tests.ui.usage.reports import TODAY, YESTERDAY, calls, empty, report, shown, spent

days = st.dates(date(2000, 1, 1), date(2100, 1, 1))


def columns(*sessions: SessionFigures, days: int | None = 7) -> tuple[ColumnData, ColumnData]:
    return columns_of(report(*sessions, days=days))


def bars(by: Grouping, *sessions: SessionFigures) -> tuple[BarData, BarData]:
    one, other = shown(*sessions).plots[by]
    assert isinstance(one, BarData)
    assert isinstance(other, BarData)
    return one, other


@given(days, st.integers(0, 4_000))
@example(date(2025, 12, 1), 365)
def test_columns_take_up_all_days_once_and_are_not_too_many(first: date, count: int) -> None:
    found = spans(first, first + timedelta(days=count))
    covered = [start + timedelta(days=n) for start, end in found for n in range((end - start).days + 1)]
    assert covered == [first + timedelta(days=number) for number in range(count + 1)]
    assert len(found) <= 140


def test_days_are_stacked_by_model_the_one_with_the_most_tokens_first() -> None:
    costs, tokens = columns()
    assert [series.name for series in costs.series] == ["anthropic/opus", "anthropic/new", "anthropic/haiku"]
    assert len(costs.columns) == 7
    assert costs.columns[-1].parts == (1.25, 0, 0)
    assert tokens.columns[-2].parts == (0, 2_100, 1_100)
    assert (costs.columns[-1].tick, costs.columns[-1].name) == ("25 Nov", "Wed 25 Nov 2026")


def test_a_price_that_is_not_known_is_said_and_not_counted_as_nothing() -> None:
    costs, _ = columns()
    yesterday = costs.columns[-2]
    assert yesterday.texts == ("–", "not known", "$0.25")
    assert (yesterday.total, yesterday.unknown.replace("\u202f", " ")) == ("≥ $0.25", "2 100 tokens")
    assert [series.total for series in costs.series] == ["$1.25", "not known", "$0.25"]
    assert costs.total == "≥ $1.50"
    assert shown().warning.replace("\u202f", " ") == "The price of 2 100 tokens is not known: the cost is higher."
    assert {row[0][0]: row[1][0] for row in shown().tables["model"].rows}["anthropic/new"] == "not known"
    [unknown] = [bar for bar in bars("model")[1].bars if bar.value is None]
    assert (unknown.name, unknown.text) == ("anthropic/new", "not known")


def test_nothing_known_at_all_is_not_known_and_nothing_asked_is_nothing() -> None:
    only = SessionFigures(workspace="/w", spending=(spent(cost_usd=None),), tools=(), models=())
    assert shown(only).totals[0][0] == "not known"
    assert columns(only)[0].total == "not known"
    quiet = SessionFigures(workspace="/w", spending=(), tools=(calls("grep", 1),), models=())
    assert (shown(quiet).totals[0][0], shown(quiet).warning) == ("$0.00", "")


def test_models_that_are_too_many_for_colours_share_one() -> None:
    many = tuple(spent(f"m{number}", 1.0, tokens=1_000 * (9 - number)) for number in range(9))
    costs, _ = columns(SessionFigures(workspace="/w", spending=many, tools=(), models=()))
    assert [series.name for series in costs.series][-2:] == ["anthropic/m4", "other models"]
    assert costs.columns[-1].parts == (1, 1, 1, 1, 1, 4)


def test_sums_of_the_columns_are_those_of_the_report() -> None:
    for days in (7, 90, None):
        seen = report(days=days)
        costs, tokens = columns_of(seen)
        assert sum(sum(column.parts) for column in costs.columns) == pytest.approx(seen.total.usage.cost_usd)
        assert sum(sum(column.parts) for column in tokens.columns) == seen.total.usage.context_tokens


def test_a_date_of_long_ago_or_of_the_future_makes_no_plot_of_centuries() -> None:
    old = SessionFigures(
        workspace="/w",
        spending=(spent(day=date(1, 1, 1)), spent(day=date(2027, 1, 1))),
        tools=(),
        models=(),
    )
    costs, _ = columns(old, days=None)
    assert len(costs.columns) < 300
    assert costs.columns[-1].parts == (0.5,)


def test_tools_are_ranges_of_time_and_counts_of_errors_with_their_rates() -> None:
    times, errors = bars("tool")
    assert [(bar.name, bar.value, bar.end) for bar in times.bars] == [
        ("run_terminal_cmd", 2.5, 2.5),
        ("grep", 0.01, 0.01),
    ]
    assert [(bar.name, bar.value, bar.text) for bar in errors.bars] == [
        ("run_terminal_cmd", 3, "3 of 4, 75 %"),
        ("grep", 1, "1 of 10, 10 %"),
    ]
    assert errors.bars[0].detail == "3 of 4 (75 %): 3 not found"


def test_more_rows_than_a_plot_has_are_in_the_table() -> None:
    many = tuple(calls(f"tool_{number}", 1, failed=1) for number in range(12))
    session = SessionFigures(workspace="/w", spending=(), tools=many, models=())
    times, errors = bars("tool", session)
    assert len(times.bars) == len(errors.bars) == 8
    assert times.note.endswith("4 more in the table")
    assert len(shown(session).tables["tool"].rows) == 12


def test_answers_turns_and_folders_have_their_plots() -> None:
    answers, _ = bars("model")
    assert [(bar.name, bar.value, bar.end) for bar in answers.bars] == [
        ("anthropic/opus", 2.0, 9.0),
        ("anthropic/haiku", 2.0, 9.0),
    ]
    costs, turns = bars("folder")
    assert [(bar.name, bar.text) for bar in costs.bars] == [("/srv/shop", "≥ $0.75"), ("/srv/site", "$0.75")]
    assert [(bar.name, bar.text) for bar in turns.bars] == [("/srv/shop", "4 min 0 s")]


def test_names_of_others_hide_nothing() -> None:
    session = SessionFigures(workspace="/w", spending=(), tools=(calls("grep\u202egpj", 1),), models=())
    assert "\u202e" not in bars("tool", session)[0].bars[0].name
    assert "\u202e" not in shown(session).tables["tool"].rows[0][0][0]


def test_tables_have_a_row_for_everything_and_the_newest_day_first() -> None:
    tables = shown().tables
    assert {by: len(tables[by].rows) for by in GROUPINGS} == {"day": 2, "model": 3, "tool": 2, "folder": 2}
    assert [row[0][0] for row in tables["day"].rows] == [str(TODAY), str(YESTERDAY)]
    assert all(len(row) == len(table.headings) for table in tables.values() for row in table.rows)


def test_nothing_is_no_error() -> None:
    assert empty().is_empty
    assert empty().report.total.usage == Usage()
