"""`desktop-agent worktrees`: lists the worktrees of sessions, brings changes back, removes and restores worktrees."""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.cli.changes import (
    NumberedHunk,
    agents_rows,
    described_left_out,
    hunks_of,
    matching,
    selection_of,
    with_hunks,
)
from desktop_agent.cli.console import Console, table
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import ChangeSelection, FileOutcome, JsonObject, LeftOut, ModelRef
from desktop_agent.core.transcript import Transcript, replay
from desktop_agent.core.undo.plan import draft_revert
from desktop_agent.core.worktrees.bring_back import (
    Unmerged,
    WorktreeOffer,
    find_offer,
    hunks_that_merge,
    note_brought,
    unmerged_in,
)
from desktop_agent.core.worktrees.worktrees import SeenWorktree, Worktrees
from desktop_agent.library.results import NothingSelectedError
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
    bench = Workbench.from_environment()
    return asyncio.run(_BringBack(bench, args).run(console))  # noqa: TID251 - entry point


class _BringBack:
    def __init__(self, bench: Workbench, args: argparse.Namespace) -> None:
        self._bench = bench
        self._args = args
        self._left: list[LeftOut] = []
        self._done: list[str] = []

    async def run(self, console: Console) -> int:
        bench, name = self._bench, self._args.name
        offer = await find_offer(bench.worktrees, bench.catalog, name)
        self._left += offer.left_out
        session_id: SessionId | None = None
        lines = await asyncio.to_thread(self._preview, offer)
        if not self._args.dry_run:
            if self._done or (offer.transitions and not offer.worktree.brought_by):
                self._done, self._left = [], [*offer.left_out]
                session_id = await self._bring(offer)
            lines = [f"Brought back from {name}:" if self._done else "Nothing was brought back."]
            lines += [f"  {name_on_a_line(path)}" for path in self._done]
        lines += described_left_out(self._left)
        session_id = session_id or offer.worktree.brought_by or None
        if session_id and (self._done or self._left):
            lines.append(f"Review, undo or settle it in its session: desktop-agent --resume {session_id}")
        document: JsonObject = {
            "name": name,
            "session_id": session_id,
            "files": list[object](self._done),
            "left_out": [picked(one, "path", "hunk", "reason") for one in self._left],
            "dry_run": self._args.dry_run,
        }
        console.result(document, "\n".join(lines))
        return 1 if self._left else 0

    def _preview(self, offer: WorktreeOffer) -> list[str]:
        model = ModelRef(provider="demo", model="")
        transcript = replay(offer.events(model, self._bench.blobs))
        ledger = Ledger(Path(offer.worktree.main), self._bench.blobs)
        selection = self._selection(transcript)
        draft = draft_revert(transcript, ledger, "redo", selection) if offer.transitions else None
        self._note(draft.outcomes() if draft is not None else ())
        for path in self._refused(draft.outcomes() if draft is not None else ()):
            self._partly(transcript, ledger, replace(selection, path=path))
        lines = ["Nothing was written. This would happen:" if self._done else "There is nothing to bring back."]
        for row in agents_rows(matching(transcript, selection)):
            hunks = hunks_of(transcript, row, self._bench.blobs.of_file)
            lines += [f"  {name_on_a_line(row.path)}", *map(_hunk_line, hunks)]
        return lines

    async def _bring(self, offer: WorktreeOffer) -> SessionId:
        bench, served = self._bench, ServedSession(self._bench.blobs, lambda _: None)
        options = SessionOptions(brings_back=offer)
        session = await bench.opener.create(Path(offer.worktree.main), served.hear, options, is_attended=False)
        try:
            await served.begin(session)
            transcript, ledger = session.transcript, Ledger(Path(offer.worktree.main), bench.blobs)
            selection = await asyncio.to_thread(self._selection, transcript)
            outcomes = await _redone(served, selection)
            self._note(outcomes)
            for path in self._refused(outcomes):
                hunks = await asyncio.to_thread(self._partly, transcript, ledger, replace(selection, path=path))
                if hunks:
                    await _redone(served, ChangeSelection(path=path, hunks=hunks))
        finally:
            await served.aclose()
        await note_brought(bench.worktrees, bench.catalog, offer.worktree.name)
        return session.id

    def _selection(self, transcript: Transcript) -> ChangeSelection:
        selection = selection_of(self._args, transcript)
        return (
            with_hunks(transcript, selection, self._args.hunk, self._bench.blobs.of_file)
            if self._args.hunk
            else selection
        )

    def _note(self, outcomes: Sequence[FileOutcome]) -> None:
        self._done += [one.path for one in outcomes if one.is_done]
        self._left += [LeftOut(path=one.path, reason=one.reason) for one in outcomes if not one.is_done]

    def _refused(self, outcomes: Sequence[FileOutcome]) -> list[str]:
        return [one.path for one in outcomes if not one.is_done]

    def _partly(self, transcript: Transcript, ledger: Ledger, selection: ChangeSelection) -> tuple[str, ...]:
        """Return the hunks of a refused file that can be brought back alone, and note why not the others."""
        hunks, left = hunks_that_merge(transcript, ledger, selection)
        if hunks:
            self._left = [one for one in self._left if one.path != selection.path] + list(left)
            self._done.append(selection.path or "")
        return hunks


async def _redone(served: ServedSession, selection: ChangeSelection) -> tuple[FileOutcome, ...]:
    try:
        return await served.revert(ops.RedoChanges(selection=selection))
    except NothingSelectedError:
        return ()


def _hunk_line(hunk: NumberedHunk) -> str:
    return f"    {hunk.number}  {hunk.title}"
