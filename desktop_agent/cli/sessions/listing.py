"""`desktop-agent sessions list`: the stored sessions."""

import argparse
from datetime import datetime

from desktop_agent.cli.console import Console, size_text, table
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import cost_text, number_of
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import JsonObject, SessionSummary
from desktop_agent.core.store.catalog import Catalog


def main(args: argparse.Namespace, console: Console) -> int:
    """List the sessions of one folder, or of all; those that were put away, and calls by hand, only when asked for."""
    known = Catalog.of(AppPaths.from_environment()).summaries()
    summaries = [item for item in known if args.all or _is_wanted(item, is_archived=args.archived)]
    if args.workspace is not None:
        folder = real_path(args.workspace.expanduser())
        summaries = [item for item in summaries if item.workspace == str(folder)]
        if not summaries and not folder.is_dir():  # one that was removed may have sessions all the same
            raise UsageError(f"There is no folder {folder}, and no session of one.")
    summaries.sort(key=_is_lower)
    rows = [
        (
            item.id,
            _when(item.active_at),
            number_of(item.turns, "turn"),
            size_text(item.size_bytes),
            cost_text(item.usage.cost_usd, is_partial=item.usage.is_cost_partial),
            _marks(item),
            item.title or "(no prompt yet)",
            item.workspace,
        )
        for item in summaries
    ]
    text = table(rows, right=(2, 3, 4)) or "There are no sessions yet."
    console.result({"sessions": [_as_json(item) for item in summaries]}, text)
    return 0


def _is_wanted(summary: SessionSummary, *, is_archived: bool) -> bool:
    return summary.is_archived if is_archived else summary.is_listed and not summary.is_archived


def _is_lower(summary: SessionSummary) -> bool:
    return not summary.is_pinned


def _marks(summary: SessionSummary) -> str:
    marks = (("pinned", summary.is_pinned), ("archived", summary.is_archived), (summary.state, summary.state != "idle"))
    return ", ".join(mark for mark, is_set in marks if is_set)


def _as_json(summary: SessionSummary) -> JsonObject:
    return {
        "id": summary.id,
        "title": summary.title,
        "workspace": summary.workspace,
        "created_at": summary.created_at.isoformat(),
        "updated_at": summary.updated_at.isoformat(),
        "active_at": summary.active_at.isoformat(),
        "state": summary.state,
        "turns": summary.turns,
        "size_bytes": summary.size_bytes,
        "usage": encode(summary.usage),
        "is_title_given": summary.is_title_given,
        "is_pinned": summary.is_pinned,
        "is_archived": summary.is_archived,
        "forked_from": summary.forked_from or None,
        "purpose": summary.purpose,
    }


def _when(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
