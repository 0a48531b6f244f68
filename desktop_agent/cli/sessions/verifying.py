"""`desktop-agent sessions verify`: what is wrong with stored sessions, in words, and its repair."""

import argparse
from collections.abc import Callable, Sequence

from msgspec.structs import asdict

from desktop_agent.cli.console import Console
from desktop_agent.core.base.errors import SessionBusyError, SessionNotFoundError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.verify import CacheCheck, Finding, ListEntryCheck, Repaired, Report, repair, verify

CACHES: Sequence[Callable[[Catalog], CacheCheck]] = (ListEntryCheck,)
"""Whatever keeps something about sessions that can be made anew."""


def main(args: argparse.Namespace, console: Console) -> int:
    """Verify one session, or all, and return the exit code."""
    catalog = Catalog.of(AppPaths.from_environment())
    ids = catalog.ids() if args.id is None else [catalog.find(args.id)]
    return verify_sessions(catalog, ids, console, is_repairing=args.repair)


def verify_sessions(catalog: Catalog, ids: Sequence[SessionId], console: Console, *, is_repairing: bool) -> int:
    """Look at these sessions, mend them if asked to, print what came of it, and return the exit code.

    It is 0 when nothing is wrong, or nothing any more, and 1 otherwise. A session that is deleted meanwhile is left
    out; if it is the only one, this raises `SessionNotFoundError`.
    """
    caches = [make(catalog) for make in CACHES]
    documents: list[JsonObject] = []
    texts: list[str] = []
    is_fine = True
    for session_id in ids:
        try:
            done = _repaired(catalog, session_id, caches) if is_repairing else None
            report = verify(catalog, session_id, caches=caches) if done is None else done.after
        except SessionNotFoundError:
            if len(ids) == 1:
                raise
            continue  # it was deleted while the ones before it were read, which can take minutes
        is_fine = is_fine and report.is_fine
        documents.append(_as_json(report, done))
        texts.append(_describe(report, done, is_repairing=is_repairing))
    console.result({"sessions": documents}, "\n".join(texts) or "There are no sessions yet.")
    return 0 if is_fine else 1


def _repaired(catalog: Catalog, session_id: SessionId, caches: Sequence[CacheCheck]) -> Repaired | None:
    try:
        return repair(catalog, session_id, caches=caches)
    except SessionBusyError:
        return None  # then it is only looked at, and that is said


def _as_json(report: Report, done: Repaired | None) -> JsonObject:
    return {
        "id": report.session_id,
        "is_fine": report.is_fine,
        "is_open_elsewhere": report.is_open_elsewhere,
        "records": report.records,
        "findings": [asdict(finding) for finding in report.findings],
        "repaired": [] if done is None else [asdict(finding) for finding in _gone(done)],
        "kept": None if done is None or done.kept is None else str(done.kept),
    }


def _describe(report: Report, done: Repaired | None, *, is_repairing: bool) -> str:
    state = "fine" if report.is_fine else number_of(len(report.findings), "problem")
    lines = [f"{report.session_id}  {state}, {number_of(report.records, 'record')}"]
    if done is not None:
        lines += [f"  repaired: {_where(finding)}{finding.title}" for finding in _gone(done)]
        lines += [f"  The journal as it was: {done.kept}"] if done.kept is not None else []
    for finding in report.findings:
        lines.append(f"  {_where(finding)}{finding.title}{f' ({finding.detail})' if finding.detail else ''}")
        if finding.is_settled:
            lines.append("    Nothing has to be done.")
        elif done is not None or not finding.repair:
            lines.append("    It cannot be repaired.")
        else:
            lines.append(f"    --repair: {finding.repair}")
    if report.is_open_elsewhere:
        lines.append(
            "  It is open in another window or process" + (", so nothing was changed." if is_repairing else ".")
        )
    return "\n".join(lines)


def _gone(done: Repaired) -> list[Finding]:
    """What was found before and not after."""
    left = {(finding.code, finding.detail) for finding in done.after.findings}
    return [finding for finding in done.before.findings if (finding.code, finding.detail) not in left]


def _where(finding: Finding) -> str:
    return "" if finding.line is None else f"line {finding.line}: "
