"""Recovery: what a session that was cut off left unfinished, and the records that put it in order.

A killed process can stop between any two records. The journal then says what was intended, the files say how far it
got, and recovery writes the facts down: which changes are on disk, which calls have no result, that the turn is over.
"""

import asyncio
from collections.abc import Iterator, Sequence

from desktop_agent.core.capture.capture import Snapshot
from desktop_agent.core.changes.ledger import Ledger, LedgerWrite
from desktop_agent.core.changes.net import pairs
from desktop_agent.core.context.history import UNANSWERED
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import (
    Aborted,
    FileChange,
    JsonObject,
    ToolCall,
    ToolResult,
    ToolUseBlock,
    Uncaptured,
)
from desktop_agent.core.session.turn import OpenCalls
from desktop_agent.core.store.unfinished import Unfinished
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.runtime import NOT_STARTED
from desktop_agent.core.tools.tool import SKIPPED_KEY
from desktop_agent.core.transcript import CUT_OFF_KEY
from desktop_agent.core.undo.execute import recovered
from desktop_agent.core.undo.path_tracking import written_along

NO_ANSWER = "The application ended before an answer came."


async def settle_begun(unfinished: Unfinished, log: EventLog) -> OpenCalls:
    """Leave open what waits for the user in a turn that `is_waiting`, and what comes after it; answer the rest.

    The rest are calls that ran beside the waiting ones and may have come to anything.
    """
    assert unfinished.turn is not None
    begun = [block for call_id, block in unfinished.calls.items() if call_id in unfinished.started]
    for block in begun:
        if block.id not in unfinished.asked:
            await _answer(unfinished.turn, block, log, is_started=True, is_untouched=False, is_cut_off=True)
    return OpenCalls(
        calls=tuple(unfinished.calls.values()),
        started=frozenset(unfinished.asked),
        requests=unfinished.requests,
    )


async def settle(
    unfinished: Unfinished,
    ledger: Ledger,
    effects: Effects,
    log: EventLog,
    known: Sequence[FileChange],
    *,
    turn: int,
    is_cut_off: bool,
    failure: str = "",
) -> None:
    """Conclude every write, question and call that is open in `turn`. The turn's own end is the caller's to record.

    `known` are the changes on record, in the order made.
    `is_cut_off`: the process that began them has ended. `failure` is why they have no end, where that is known.
    """
    untouched = {call_id for call_id in unfinished.calls if unfinished.is_untouched(call_id)}
    if unfinished.prepared is not None and await _may_look(unfinished.prepared, ledger, log):
        await _settle_changes(unfinished.prepared, ledger, effects, log, known)
    for call_id in sorted(unfinished.asked):
        reason = NO_ANSWER if is_cut_off else "The turn was stopped before an answer came."
        await log.record(ev.ApprovalResolved(turn=turn, call_id=call_id, decision=Aborted(reason=reason)))
    for block in list(unfinished.calls.values()):
        is_started, is_untouched = block.id in unfinished.started, block.id in untouched
        await _answer(
            turn, block, log, is_started=is_started, is_untouched=is_untouched, is_cut_off=is_cut_off, failure=failure
        )


async def settle_jobs(unfinished: Unfinished, effects: Effects) -> None:
    """Record what background commands and servers of a killed process changed after the last look at them."""
    left = [one for call_id, one in unfinished.jobs.items() if not effects.jobs.is_watching(call_id)]
    if left:
        await effects.jobs.conclude(left, unfinished.job_paths)


async def _may_look(prepared: ev.ChangesPrepared, ledger: Ledger, log: EventLog) -> bool:
    """Whether the folder can say how far a write got; it cannot if it is gone, or another one is at its path.

    Then an undo, a redo or a write of the user's waits until the folder is back. A call gets its result now, so it is
    recorded that nobody knows how far it got.
    """
    is_command = prepared.purpose == "apply" and not prepared.changes
    if is_command or await asyncio.to_thread(ledger.is_root_in_place):
        return True
    if prepared.call_id:
        reason = "The folder was gone before it could be checked whether this was written."
        lost = tuple(Uncaptured(path=change.path, reason=reason) for change in prepared.changes)
        event = ev.ChangesRecorded(turn=prepared.turn, call_id=prepared.call_id, changes=(), uncaptured=lost)
        await log.record(event)
    return False


async def _settle_changes(
    prepared: ev.ChangesPrepared, ledger: Ledger, effects: Effects, log: EventLog, known: Sequence[FileChange]
) -> None:
    """Find out how far a write got, and record it."""
    await asyncio.to_thread(ledger.sweep, prepared.changes)
    if prepared.purpose == "apply" and not prepared.changes:
        # Journals of earlier versions do not say which snapshot it was; number 0 is never one, and that is said.
        snapshot = Snapshot(prepared.snapshot or 0)
        await effects.collect(prepared.turn, prepared.call_id, snapshot, author=prepared.author)
        return
    done = await asyncio.to_thread(_done, prepared, ledger)
    if prepared.purpose == "apply":
        await effects.recording.record_applied(prepared.turn, prepared.call_id, done)
    else:
        done = await asyncio.to_thread(_with_other_halves, prepared, done, ledger, known)
        await log.record(recovered(prepared.purpose, done))


def _done(prepared: ev.ChangesPrepared, ledger: Ledger) -> tuple[FileChange, ...]:
    """The prepared changes whose file has reached the state that was meant. Blocks: it reads the files."""
    return tuple(change for change in prepared.changes if ledger.files.is_at(change.path, change.after))


def _with_other_halves(
    prepared: ev.ChangesPrepared, done: Sequence[FileChange], ledger: Ledger, known: Sequence[FileChange]
) -> tuple[FileChange, ...]:
    """Write what is missing of each rename that was begun; return all that is written then. Blocks.

    Half a rename is a file that is at neither of its paths, which nobody asked for. Taking it back would bring folders
    back that are gone, so it is gone on with: each file only if it still is what it was.
    """
    written = {change.id for change in done}
    begun = [
        bundle
        for bundle in _renamed_together(prepared.changes, known)
        if not written.isdisjoint(change.id for change in bundle)
    ]
    ids = {change.id for bundle in begun for change in bundle} - written
    missing = [change for change in prepared.changes if change.id in ids]
    along = written_along(prepared.changes)
    problems = ledger.apply_each([LedgerWrite(one, one.new_folders, along=along[one.id]) for one in missing])
    written |= ids - problems.keys()
    return tuple(change for change in prepared.changes if change.id in written)


def _renamed_together(changes: Sequence[FileChange], known: Sequence[FileChange]) -> Iterator[list[FileChange]]:
    """The writes of an undo or redo in bundles: one for each file, and for files between whose paths contents go.

    Those are the paths of renames on record, one after another, too, and of contents that change places.
    """
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


async def _answer(
    turn: int,
    block: ToolUseBlock,
    log: EventLog,
    *,
    is_started: bool,
    is_untouched: bool,
    is_cut_off: bool,
    failure: str = "",
) -> None:
    if not is_started:
        call = ToolCall(id=block.id, name=block.name, arguments=block.arguments)
        await log.record(
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
        content=f"{failure} {NOT_STARTED if is_untouched else UNANSWERED}".lstrip(),
        is_error=True,
        error_type="recoverable",
        metadata=metadata,
    )
    await log.record(ev.ToolCallFinished(turn=turn, call_id=block.id, state="failed", result=result, duration_s=0.0))
