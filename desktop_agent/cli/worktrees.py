"""`desktop-agent worktrees`: lists the worktrees of sessions, brings changes back, removes and restores worktrees."""

import argparse
import asyncio
from collections.abc import Mapping, Sequence

from desktop_agent.cli.changes import agents_rows, described_left_out, hunks_of, matching, selection_of, with_hunks
from desktop_agent.cli.console import Console, table
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.diff.hunks import all_keys
from desktop_agent.core.models.vendors import DEMO
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import ChangeSelection, FileOutcome, JsonObject, LeftOut, ModelRef
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.transcript import replay
from desktop_agent.core.worktrees.bring_back import (
    FolderOffer,
    RedoPlan,
    Unmerged,
    WorktreeOffer,
    find_offer,
    note_brought,
    plan_redo,
    unmerged_in,
)
from desktop_agent.core.worktrees.variants import Pick, difference, in_one_folder, taken
from desktop_agent.core.worktrees.worktrees import SeenWorktree, Worktrees
from desktop_agent.library.turns import ServedSession


def list_worktrees(_args: argparse.Namespace, console: Console) -> None:
    bench = Workbench.from_environment()
    found = asyncio.run(_look(bench))  # noqa: TID251 - entry point
    documents = [_document(seen, unmerged) for seen, unmerged in found]
    rows = [
        [seen.worktree.name, seen.state, _words(unmerged), seen.worktree.session_id, str(seen.path)]
        for seen, unmerged in found
    ]
    console.result({"worktrees": documents}, table(rows) or "There are no worktrees.")


async def _look(bench: Workbench) -> list[tuple[SeenWorktree, Unmerged | None]]:
    found: list[tuple[SeenWorktree, Unmerged | None]] = []
    for seen in await bench.worktrees.all():
        try:
            found.append((seen, await unmerged_in(bench.worktrees, bench.catalog, seen.worktree.name)))
        except AgentError:  # its folder or its repository is gone
            found.append((seen, None))
    return found


def _document(seen: SeenWorktree, unmerged: Unmerged | None = None) -> JsonObject:
    worktree = seen.worktree
    return {
        **picked(worktree, "name", "main", "branch", "base"),
        "path": str(seen.path),
        "session_id": worktree.session_id or None,
        "state": seen.state,
        "unmerged": picked(unmerged, "files", "commits") if unmerged is not None else None,
    }


def _words(unmerged: Unmerged | None) -> str:
    if unmerged is None:
        return "not known"
    counts = [number_of(unmerged.files, "file"), number_of(unmerged.commits, "commit")]
    return f"{', '.join(counts)} not merged" if unmerged.files or unmerged.commits else "merged"


async def _remove(worktrees: Worktrees, name: str) -> SeenWorktree:
    seen = await worktrees.remove(name)
    await worktrees.purge()
    return seen


def remove(args: argparse.Namespace, console: Console) -> None:
    seen = asyncio.run(_remove(Workbench.from_environment().worktrees, args.name))  # noqa: TID251 - entry point
    text = f"The worktree {args.name} is in the trash. `desktop-agent worktrees restore {args.name}` brings it back."
    if seen.state == "missing":
        text = f"The worktree {args.name} had no folder any more. Its branch is {seen.worktree.branch}."
    console.result(_document(seen), text)


def restore(args: argparse.Namespace, console: Console) -> None:
    seen = asyncio.run(Workbench.from_environment().worktrees.restore(args.name))  # noqa: TID251 - entry point
    console.result(_document(seen), f"The worktree {args.name} is back: {seen.path}")


def bring_back(args: argparse.Namespace, console: Console) -> int:
    return asyncio.run(_bring_back(Workbench.from_environment(), args, console))  # noqa: TID251 - entry point


async def _bring_back(bench: Workbench, args: argparse.Namespace, console: Console) -> int:
    offer = await find_offer(bench.worktrees, bench.catalog, args.name)
    plan, listed = await asyncio.to_thread(_planned, offer, args, bench.blobs)
    session_id, files, left_out = offer.worktree.brought_by, [*plan.files], [*offer.left_out, *plan.left_out]
    if args.dry_run:
        lines = ["Nothing was written. This would happen:" if files else "There is nothing to bring back.", *listed]
    else:
        if files or (plan.left_out and not session_id):
            session_id, files, more = await _carried_out(bench, offer, plan)
            left_out += more
        lines = [f"Brought back from {args.name}:" if files else "Nothing was brought back."]
        lines += [f"  {name_on_a_line(path)}" for path in files]
    lines += described_left_out(left_out)
    if session_id and (files or left_out):
        lines.append(f"Review, undo or settle it in its session: desktop-agent --resume {session_id}")
    document: JsonObject = {
        "name": args.name,
        "session_id": session_id or None,
        "files": files,
        "dry_run": args.dry_run,
        "left_out": [picked(one, "path", "hunk", "reason") for one in left_out],
    }
    console.result(document, "\n".join(lines))
    return 1 if left_out else 0


def _planned(offer: WorktreeOffer, args: argparse.Namespace, blobs: Blobs) -> tuple[RedoPlan, list[str]]:
    """Plan on a session that is not stored. Also return the hunks, in words."""
    transcript = replay(offer.events(ModelRef(provider=DEMO, model=""), blobs))
    selection = selection_of(args, transcript)
    if selection.path is not None and selection.path not in (one.path for one in offer.transitions):
        raise UsageError(f"There is nothing to bring back of {name_on_a_line(selection.path)}.")
    if args.hunk:
        selection = with_hunks(transcript, selection, args.hunk, blobs.of_file)
    listed: list[str] = []
    for row in agents_rows(matching(transcript, selection)):
        hunks = hunks_of(transcript, row, blobs.of_file)
        listed += [f"  {name_on_a_line(row.path)}", *(f"    {hunk.number}  {hunk.title}" for hunk in hunks)]
    return plan_redo(transcript, Ledger(offer.folder, blobs), selection), listed


def take(args: argparse.Namespace, console: Console) -> int:
    return asyncio.run(_take(Workbench.from_environment(), args, console))  # noqa: TID251 - entry point


async def _take(bench: Workbench, args: argparse.Namespace, console: Console) -> int:
    names = dict.fromkeys(part.partition(":")[0] for part in args.parts)
    offers = in_one_folder([await find_offer(bench.worktrees, bench.catalog, name) for name in names])
    by_name = {offer.worktree.name: offer for offer in offers}
    picks, listed = await asyncio.to_thread(_picked, args.parts, by_name)
    offer = await taken(offers, picks, bench.blobs)
    files, session_id, left_out = [one.path for one in offer.transitions], "", list[LeftOut]()
    lines = ["Nothing was written. This would be taken:" if args.dry_run else "Taken:", *listed]
    if files and not args.dry_run:
        plan = RedoPlan((ChangeSelection(),), (), ())
        session_id, files, left_out = await _carried_out(bench, offer, plan)
        lines += described_left_out(left_out)
        lines.append(f"Review, undo or commit it in its session: desktop-agent --resume {session_id}")
    document: JsonObject = {
        "session_id": session_id or None,
        "files": files,
        "dry_run": args.dry_run,
        "left_out": [picked(one, "path", "hunk", "reason") for one in left_out],
    }
    console.result(document, "\n".join(lines) if files else "There is nothing to take.")
    return 1 if left_out else 0


def _picked(parts: Sequence[str], offers: Mapping[str, WorktreeOffer]) -> tuple[list[Pick], list[str]]:
    """Return what the parts name, and in words. Raises `UsageError`."""
    picks: list[Pick] = []
    listed: list[str] = []
    for part in parts:
        name, _, rest = part.partition(":")
        changed = {one.path: one for one in offers[name].transitions}
        path, _, hunks = (rest, "", "") if rest in changed else rest.rpartition(":")
        if rest and path not in changed:
            raise UsageError(f"The worktree {name} has no change of {name_on_a_line(path or rest)}.")
        for file in [path] if rest else changed:
            keys = all_keys(difference(changed[file]))
            wanted = hunks.split(",") if hunks else keys
            numbered = {str(number): key for number, key in enumerate(keys, start=1)}
            if unknown := [one for one in wanted if one not in numbered and one not in keys]:
                title = f"{name_on_a_line(file)} has no hunk {unknown[0]!r} in {name}."
                raise UsageError(title, hint=f"It has {len(keys)}. Name one by its number, from 1.")
            chosen = tuple(numbered.get(one, one) for one in wanted)
            picks.append(Pick(name, file, chosen))
            listed.append(f"  {name_on_a_line(file)}, from {name}: {len(chosen)} of {number_of(len(keys), 'hunk')}")
    return picks, listed


async def _carried_out(
    bench: Workbench, offer: FolderOffer, plan: RedoPlan
) -> tuple[SessionId, list[str], list[LeftOut]]:
    """Return the session, the files, and what was left out although it was planned."""
    served, outcomes = ServedSession(bench.blobs, lambda _: None), list[FileOutcome]()
    options = SessionOptions(brings_back=offer)
    session = await bench.opener.create(offer.folder, served.hear, options, is_attended=False)
    try:
        await served.begin(session)
        for selection in plan.selections:
            outcomes += await served.revert(ops.RedoChanges(selection=selection))
    finally:
        await served.aclose()
    if isinstance(offer, WorktreeOffer):
        await note_brought(bench.worktrees, bench.catalog, offer.worktree.name)
    done = [one.path for one in outcomes if one.is_done]
    known = {*done, *(one.path for one in plan.left_out)}
    left = [LeftOut(path=one.path, reason=one.reason) for one in outcomes if not one.is_done and one.path not in known]
    return session.id, done, left
