"""The first steps of a session: its opening records, and the end of work that an earlier process left open.

Recovery compares journal and files, and records the facts. A turn that waited for the user waits again.
"""

import asyncio
from collections.abc import Iterator, Sequence

from desktop_agent.core.base.errors import UnsafeSettingsError
from desktop_agent.core.capture.capture import Snapshot
from desktop_agent.core.changes.ledger import Ledger, LedgerWrite
from desktop_agent.core.changes.net import pairs
from desktop_agent.core.context.history import UNANSWERED
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    Aborted,
    FileChange,
    JsonObject,
    ToolCall,
    ToolResult,
    ToolUseBlock,
    Uncaptured,
)
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.session.turn import OpenCalls
from desktop_agent.core.store.unfinished import Unfinished
from desktop_agent.core.tools.execution.runtime import NOT_STARTED
from desktop_agent.core.tools.tool import SKIPPED_KEY
from desktop_agent.core.transcript import CUT_OFF_KEY
from desktop_agent.core.undo.execute import recovered
from desktop_agent.core.undo.path_tracking import paths_with_same_change

NO_ANSWER = "The application ended before an answer came."


def _with_other_halves(
    prepared: ev.ChangesPrepared, done: Sequence[FileChange], ledger: Ledger, known: Sequence[FileChange]
) -> tuple[FileChange, ...]:
    """Finish each rename of which only one half was written; return all changes that are written then.

    Blocks. A file is written only if it is unchanged since.
    """
    written = {change.id for change in done}
    begun = [
        bundle
        for bundle in _renamed_together(prepared.changes, known)
        if not written.isdisjoint(change.id for change in bundle)
    ]
    ids = {change.id for bundle in begun for change in bundle} - written
    missing = [change for change in prepared.changes if change.id in ids]
    along = paths_with_same_change(prepared.changes)
    problems = ledger.apply_each([LedgerWrite(one, one.new_folders, along=along[one.id]) for one in missing])
    written |= ids - problems.keys()
    return tuple(change for change in prepared.changes if change.id in written)


def _renamed_together(changes: Sequence[FileChange], known: Sequence[FileChange]) -> Iterator[list[FileChange]]:
    """Group an undo's writes: of one file, and of files that were renamed or exchanged contents."""
    links: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := links.setdefault(name, name)) != name:
            links[name] = name = links[above]
        return name

    def link(one: str, other: str) -> None:
        links[root(one)] = root(other)

    partners = {known[one].id: known[other].path for pair in pairs(known) for one, other in (pair, pair[::-1])}
    paths = {change.id: change.path for change in known}
    moving = {c.before.digest for c in changes if c.before} & {c.after.digest for c in changes if c.after}
    for change in changes:
        for item in change.reverts:
            link(change.path, paths.get(item.change_id, change.path))
            link(change.path, partners.get(item.change_id, change.path))
        for image in (change.before, change.after):
            if image and image.digest in moving and image.kind != "folder":
                link(change.path, f"\0{image.digest}")  # which is no path
    bundles: dict[str, list[FileChange]] = {}
    for change in changes:
        bundles.setdefault(root(change.path), []).append(change)
    yield from bundles.values()


class Readiness:
    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._log = parts.recorder
        self._ledger = parts.ledger
        self._effects = parts.effects
        self._opening = list(parts.opening)
        self.is_held = parts.is_attended and parts.state.unfinished.is_waiting
        """Whether a turn of an earlier process waits for the user: it continues with their answer."""
        self._left_open = parts.state.unfinished.turn
        self._is_stopped = False
        """Whether the user stopped the turn of an earlier process while it waited for them."""
        self.failure = ""
        """Why the last turn has no recorded end, in words for the model; empty if unknown."""

    @property
    def unfinished(self) -> Unfinished:
        return self._parts.state.unfinished

    async def make_ready(self) -> None:
        while self._opening:
            await self._log.record(self._opening[0])
            del self._opening[0]
        await self._parts.rulebook.refresh()
        if self.is_held:
            await self._settle_begun()
            self._parts.approvals.hold(self.unfinished.asked.values())
        elif not self.unfinished.is_clean:
            await self._conclude()
        unfinished, jobs = self.unfinished, self._effects.jobs
        # What background commands and servers of a killed process changed after the last look at them.
        if left := [one for call_id, one in unfinished.jobs.items() if not jobs.is_watching(call_id)]:
            await jobs.conclude(left, unfinished.job_paths)

    async def look_for_faults(self) -> UnsafeSettingsError | None:
        await self._parts.settings.refresh()
        await self._parts.rulebook.refresh()
        faults = (*self._parts.settings.faults, *self._parts.rulebook.faults)
        return UnsafeSettingsError(faults) if faults else None

    async def accept_root(self) -> None:
        folder = await asyncio.to_thread(self._ledger.held.accept)
        if folder is not None:
            await self._log.record(ev.FolderAccepted(folder=folder))
            await self.make_ready()

    async def settle(self, turn: int, *, is_cut_off: bool = False) -> None:
        """Record an end for everything open in `turn` but the turn. `is_cut_off`: an earlier process ended in it."""
        unfinished = self.unfinished
        untouched = {call_id for call_id in unfinished.calls if unfinished.is_untouched(call_id)}
        if unfinished.prepared is not None and await self._may_look(unfinished.prepared):
            await self._settle_changes(unfinished.prepared)
        for call_id in sorted(unfinished.asked):
            reason = NO_ANSWER if is_cut_off else "The turn was stopped before an answer came."
            await self._log.record(ev.ApprovalResolved(turn=turn, call_id=call_id, decision=Aborted(reason=reason)))
        for block in list(unfinished.calls.values()):
            is_started, is_untouched = block.id in unfinished.started, block.id in untouched
            await self._answer(turn, block, is_started=is_started, is_untouched=is_untouched, is_cut_off=is_cut_off)
        for ended in unfinished.lost_subagents(turn):
            await self._log.record(ended)
        self.failure = ""

    async def _settle_begun(self) -> OpenCalls:
        unfinished = self.unfinished
        assert unfinished.turn is not None
        begun = [block for call_id, block in unfinished.calls.items() if call_id in unfinished.started]
        for block in begun:
            if block.id not in unfinished.asked:
                await self._answer(unfinished.turn, block, is_started=True, is_untouched=False, is_cut_off=True)
        for ended in unfinished.lost_subagents(unfinished.turn):
            await self._log.record(ended)
        return OpenCalls(
            calls=tuple(unfinished.calls.values()), started=frozenset(unfinished.asked), requests=unfinished.requests
        )

    async def _may_look(self, prepared: ev.ChangesPrepared) -> bool:
        """Whether the folder can show how far a write got. It cannot if it is gone or was replaced.

        Then a write that the user asked for stays open until the folder is back. A call's writes get an unknown
        outcome.
        """
        is_command = prepared.purpose == "apply" and not prepared.changes
        if is_command or await asyncio.to_thread(self._ledger.held.is_in_place):
            return True
        if prepared.call_id:
            reason = "The folder was gone before this write could be verified."
            lost = tuple(Uncaptured(path=change.path, reason=reason) for change in prepared.changes)
            event = ev.ChangesRecorded(turn=prepared.turn, call_id=prepared.call_id, changes=(), uncaptured=lost)
            await self._log.record(event)
        return False

    async def _settle_changes(self, prepared: ev.ChangesPrepared) -> None:
        ledger, effects = self._ledger, self._effects
        await asyncio.to_thread(ledger.sweep, prepared.changes)
        if prepared.purpose == "apply" and not prepared.changes:
            # Journals of earlier versions do not say which snapshot it was; number 0 is never one, and that is said.
            snapshot = Snapshot(prepared.snapshot or 0)
            await effects.collect(prepared.turn, prepared.call_id, snapshot, author=prepared.author)
            return
        is_at = ledger.files.is_at
        done = await asyncio.to_thread(lambda: tuple(one for one in prepared.changes if is_at(one.path, one.after)))
        if prepared.purpose == "apply":
            await effects.recording.record_applied(prepared.turn, prepared.call_id, done)
        else:
            known = [record.change for record in self._parts.state.transcript.changes.values()]
            done = await asyncio.to_thread(_with_other_halves, prepared, done, ledger, known)
            await self._log.record(recovered(prepared.purpose, done))

    async def _answer(
        self, turn: int, block: ToolUseBlock, *, is_started: bool, is_untouched: bool, is_cut_off: bool
    ) -> None:
        if not is_started:
            call = ToolCall(id=block.id, name=block.name, arguments=block.arguments)
            await self._log.record(
                ev.ToolCallStarted(
                    turn=turn, call=call, title=block.name, source="system", capabilities=(), is_read_only=True
                )
            )
        metadata: JsonObject = {}
        if is_untouched:
            metadata[SKIPPED_KEY] = True
        if is_cut_off:
            metadata[CUT_OFF_KEY] = True
        result = ToolResult(
            content=f"{self.failure} {NOT_STARTED if is_untouched else UNANSWERED}".lstrip(),
            is_error=True,
            error_type="recoverable",
            metadata=metadata,
        )
        await self._log.record(
            ev.ToolCallFinished(turn=turn, call_id=block.id, state="failed", result=result, duration_s=0.0)
        )

    async def stop_held(self) -> None:
        self.is_held, self._is_stopped = False, True
        await self.make_ready()

    async def release_held(self) -> OpenCalls:
        left = await self._settle_begun()
        self.is_held = False
        return left

    async def _conclude(self) -> None:
        unfinished = self.unfinished
        turn = self._parts.state.transcript.turn if unfinished.turn is None else unfinished.turn
        is_left = unfinished.turn is None or unfinished.turn == self._left_open
        is_cut_off = is_left and not self._is_stopped
        requests, worked_s = unfinished.requests, unfinished.worked_s  # also before these records are folded in
        await self.settle(turn, is_cut_off=is_cut_off)
        if unfinished.turn is not None:  # a turn of this process is still open only if its end could not be written
            reason = "interrupted" if is_left else "storage_error"
            await self._log.record(
                ev.TurnEnded(turn=turn, reason=reason, requests=requests, duration_s=worked_s, is_cut_off=is_cut_off)
            )
