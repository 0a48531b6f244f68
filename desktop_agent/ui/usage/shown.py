"""Everything that the page shows of a report, made beside the window's thread."""

from msgspec import Struct

from desktop_agent.core.base.plain_text import cost_text, duration_text
from desktop_agent.core.usage.report import GROUPINGS, Grouping, UsageReport
from desktop_agent.ui.usage import figure_words as words
from desktop_agent.ui.usage.days_shown import columns_of
from desktop_agent.ui.usage.figure_words import say
from desktop_agent.ui.usage.plot_data import BarData, ColumnData
from desktop_agent.ui.usage.rows_shown import costs_of, errors_of, times_of, turns_of
from desktop_agent.ui.usage.tables_shown import Table, table_of
from desktop_agent.ui.widgets.context_meter import counted


class Total(Struct, frozen=True):
    """One of the sums at the top: what it comes to, and of what."""

    value: str
    name: str


class Shown(Struct, frozen=True, kw_only=True):
    """A report in words and plots."""

    report: UsageReport
    totals: tuple[Total, ...]
    warning: str
    """What is not known of the cost; empty when all of it is."""
    plots: dict[Grouping, tuple[ColumnData, ColumnData] | tuple[BarData, BarData]]
    """Two for each grouping: over time for days, a row for each thing for the others."""
    tables: dict[Grouping, Table]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in the period."""
        return not self.report.days


def shown_of(report: UsageReport) -> Shown:
    """Return what is to be seen of a report. It takes a moment: for a thread."""
    models, tools, folders = report.models, report.tools, report.folders
    no_answer, no_call = say("No answer is recorded."), say("No call is recorded.")
    return Shown(
        report=report,
        totals=_totals(report),
        warning=_warning(report),
        plots={
            "day": columns_of(report),
            "model": (
                times_of(models, words.model_name, lambda one: one.answered, nothing=no_answer),
                costs_of(models, words.model_name),
            ),
            "tool": (times_of(tools, words.tool_name, lambda one: one.took, nothing=no_call), errors_of(tools)),
            "folder": (costs_of(folders, words.folder_name), turns_of(folders, words.folder_name)),
        },
        tables={by: table_of(report, by) for by in GROUPINGS},
    )


def _totals(report: UsageReport) -> tuple[Total, ...]:
    total, usage = report.total, report.total.usage
    cost = cost_text(usage.cost_usd, is_partial=usage.is_cost_partial) if total.requests else "$0.00"
    failed_turns = say("{0} turns, {1} failed").format(counted(total.turns), counted(total.failed_turn_count))
    calls = say("tool calls")
    if total.calls:
        share = words.share(total.failed_call_count, total.calls)
        calls = say("tool calls, {0} failed ({1})").format(counted(total.failed_call_count), share)
    return (
        Total(cost or say("not known"), say("for {0} requests").format(counted(total.requests))),
        Total(
            words.short_count(usage.context_tokens),
            say("tokens, {0} written").format(words.short_count(usage.output_tokens)),
        ),
        Total(duration_text(total.turn_s) if total.turn_s else "0 s", say("in {0}").format(failed_turns)),
        Total(counted(total.calls), calls),
    )


def _warning(report: UsageReport) -> str:
    usage = report.total.usage
    unpriced = usage.context_tokens if usage.cost_usd is None else usage.unpriced_tokens
    if not unpriced:
        return ""
    return say("The price of {0} tokens is not known: the cost is higher.").format(counted(unpriced))
