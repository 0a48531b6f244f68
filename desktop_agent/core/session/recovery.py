"""Recovery: what a session that was cut off left unfinished, and the records that put it in order.

A killed process can stop between any two records. The journal then says what was intended, the files say how far it
got, and recovery writes the facts down: which changes are on disk, which calls have no result, that the turn is over.
"""

import asyncio

from desktop_agent.core.capture.capture import Snapshot
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.context.message_building import UNANSWERED
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
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
from desktop_agent.core.tools.spec import SKIPPED_KEY
from desktop_agent.core.transcript import CUT_OFF_KEY
from desktop_agent.core.undo.records import recovered

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
    *,
    turn: int,
    is_cut_off: bool,
    failure: str = "",
) -> None:
    """Conclude every write, question and call that is open in `turn`. The turn's own end is the caller's to record.

    `is_cut_off`: the process that began them has ended. `failure` is why they have no end, where that is known.
    """
    untouched = {call_id for call_id in unfinished.calls if unfinished.is_untouched(call_id)}
    if unfinished.prepared is not None and await _may_look(unfinished.prepared, ledger, log):
        await _settle_changes(unfinished.prepared, ledger, effects, log)
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


async def _settle_changes(prepared: ev.ChangesPrepared, ledger: Ledger, effects: Effects, log: EventLog) -> None:
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
        await log.record(recovered(prepared.purpose, done))


def _done(prepared: ev.ChangesPrepared, ledger: Ledger) -> tuple[FileChange, ...]:
    """The prepared changes whose file has reached the state that was meant. Blocks: it reads the files."""
    return tuple(change for change in prepared.changes if ledger.files.is_at(change.path, change.after))


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
