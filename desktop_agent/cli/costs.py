"""`desktop-agent costs`: what the sessions cost, by day and model; with `--by`, what they used by one thing."""

import argparse
from collections.abc import Sequence
from datetime import UTC, timedelta

from desktop_agent.cli.console import Console, table
from desktop_agent.cli.usage import print_usage
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import cost_text, number_of
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import JsonObject, Spending, Usage
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.digest import merged
from desktop_agent.core.usage.journal_usage import UsageReader
from desktop_agent.core.usage.report import report_of

_UNKNOWN = "not known"
_MOST_NAME = 48
_HEADING = ("day (UTC)", "provider", "model", "requests", "read", "written", "from cache", "cost")
_NUMBERS = (3, 4, 5, 6, 7)


def main(args: argparse.Namespace, console: Console) -> int:
    """List what each day's requests to each model cost, and all of them together."""
    today = SystemClock().now().astimezone(UTC).date()
    try:
        first = today - timedelta(days=args.days - 1)
    except OverflowError:
        raise UsageError(f"There are no {args.days} days to look back.") from None
    folder = str(real_path(args.workspace.expanduser())) if args.workspace is not None else None
    paths = AppPaths.from_environment()
    catalog = Catalog.of(paths)
    if args.by is not None:
        sessions = UsageReader.of(paths, catalog).read()
        wanted = [session for session in sessions if folder in (None, session.workspace)]
        print_usage(console, report_of(wanted, first, today), args.by, _span(args.days))
        return 0
    known = [summary for summary in catalog.summaries() if folder in (None, summary.workspace)]
    spending = merged(one for summary in known for one in summary.spending if one.day >= first)
    total = sum((one.usage for one in spending), Usage())
    document: JsonObject = {"from": first.isoformat(), "costs": [*map(encode, spending)], "total": encode(total)}
    console.result(document, _text(spending, total, args.days))
    return 0


def _text(spending: Sequence[Spending], total: Usage, days: int) -> str:
    span = _span(days)
    if not spending:
        return f"No request of {span} is recorded."
    rows = [_HEADING, *map(_row, reversed(spending))]
    requests = number_of(sum(one.requests for one in spending), "request")
    sum_line = f"{span[0].upper()}{span[1:]}: {requests}, {_cost(total)}."
    if unpriced := total.unpriced_tokens:
        sum_line += f" The price of {number_of(unpriced, 'token')} is not known: the cost is higher."
    return f"{table(rows, right=_NUMBERS)}\n\n{sum_line}"


def _span(days: int) -> str:
    return "today" if days == 1 else f"the last {number_of(days, 'day')}"


def _row(one: Spending) -> tuple[str, ...]:
    usage = one.usage
    share = round(100 * usage.cache_read_tokens / (usage.all_input_tokens or 1))
    return (
        one.day.isoformat(),
        _short(one.provider),
        _short(one.model),
        f"{one.requests:,}",
        f"{usage.all_input_tokens:,}",
        f"{usage.output_tokens:,}",
        f"{share} %",
        _cost(usage),
    )


def _short(name: str) -> str:
    """Return a name that leaves room for the figures: nothing limits what a provider calls its models."""
    return name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"


def _cost(usage: Usage) -> str:
    return cost_text(usage.cost_usd, is_partial=usage.is_cost_partial) or _UNKNOWN
