"""`desktop-agent storage`: shows the disk space of sessions, and removes contents that none of them needs."""

import argparse

from msgspec import to_builtins
from msgspec.structs import asdict

from desktop_agent.cli.console import Console, size_text, table
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.store.collect import collect, report_storage
from desktop_agent.core.store.session_catalog import SessionCatalog


def show(args: argparse.Namespace, console: Console) -> None:
    if args.dry_run:
        raise UsageError("`storage show` changes nothing, so it takes no --dry-run.")
    paths = AppPaths.from_environment()
    catalog = SessionCatalog.of(paths)
    titles = {item.id: item.title for item in catalog.summaries()}
    report = report_storage(catalog.blobs, paths.sessions)
    lines = [
        f"{number_of(report.blobs, 'content')}: {size_text(report.blob_bytes)}; "
        f"unpacked {size_text(report.content_bytes)}.",
        f"Needed by no session: {report.unreferenced}, {size_text(report.unreferenced_bytes)}.",
    ]
    if report.left_overs:
        lines.append(f"{number_of(report.left_overs, 'temporary file')}: {size_text(report.left_over_bytes)}.")
    rows = [
        (use.name, *map(size_text, (use.journal_bytes, use.own_bytes, use.shared_bytes)), titles.get(use.name, ""))
        for use in report.sessions
    ]
    if rows:
        heading = ("session", "journal", "own contents", "shared", "title")
        lines += ["", table([heading, *rows], right=(1, 2, 3))]
    console.result(to_builtins(report), "\n".join(lines))


def collect_unused(args: argparse.Namespace, console: Console) -> None:
    paths, now = AppPaths.from_environment(), SystemClock().now()
    done = collect(SessionCatalog.of(paths).blobs, paths.sessions, now=now, is_dry_run=args.dry_run)
    if not args.dry_run:
        from desktop_agent.core.capture.git_objects import BASELINES, drop_stranded  # only `collect` needs it

        drop_stranded(paths.cache / BASELINES, now.timestamp())
    verb = "Would remove" if args.dry_run else "Removed"
    lines = [f"{verb} {number_of(done.removed, 'file')} that no session needs: {size_text(done.removed_bytes)}."]
    if done.kept_young:
        lines.append(f"{done.kept_young} more: kept until 24 hours after they were stored.")
    console.result({**asdict(done), "dry_run": args.dry_run}, "\n".join(lines))
