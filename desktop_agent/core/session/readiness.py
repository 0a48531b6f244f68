"""What comes before anything else in a session: its opening records, and the end of what an earlier process left open.

An earlier process may have been killed, or met a full disk, in the middle of a turn. Nothing new is recorded before
that turn has its end, or waits for the user with the questions it had.
"""

import asyncio

from desktop_agent.core.base.errors import UnsafeSettingsError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.session.parts import SessionParts
from desktop_agent.core.session.recovery import settle, settle_begun, settle_jobs
from desktop_agent.core.session.turn import OpenCalls
from desktop_agent.core.store.unfinished import Unfinished


class Readiness:
    """Makes one session ready for its next step."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._opening = list(parts.opening)
        self.is_held = parts.is_attended and parts.state.unfinished.is_waiting
        """Whether a turn of an earlier process waits for the user: it goes on with their answer."""
        self._left_open = parts.state.unfinished.turn
        """The turn that an earlier process began and did not finish."""
        self._is_stopped = False
        """Whether the user stopped that turn while it waited for them."""
        self.failure = ""
        """Why the last turn has no recorded end, in words for the model; empty if not known."""

    @property
    def unfinished(self) -> Unfinished:
        """What has begun and has no end on record."""
        return self._parts.state.unfinished

    async def make_ready(self) -> None:
        """Write what must come first, and conclude what is open. Not while a turn works: what is open is its own."""
        while self._opening:
            await self._parts.recorder.record(self._opening[0])
            del self._opening[0]
        await self._parts.tools.rulebook.refresh()
        if self.is_held:
            await settle_begun(self.unfinished, self._parts.recorder)
            self._parts.tools.approvals.hold(self.unfinished.asked.values())
        elif not self.unfinished.is_clean:
            await self._conclude()
        await settle_jobs(self.unfinished, self._parts.tools.effects)

    async def look_for_faults(self) -> UnsafeSettingsError | None:
        """Read again what safety depends on; return why nothing may run, if something cannot be read."""
        await self._parts.settings.refresh()
        await self._parts.tools.rulebook.refresh()
        faults = (*self._parts.settings.faults, *self._parts.tools.rulebook.faults)
        return UnsafeSettingsError(faults) if faults else None

    async def accept_root(self) -> None:
        """At the start of a turn, accept the workspace as it is now, and record its identity.

        What could not be concluded while the folder was missing is concluded now.
        """
        folder = await asyncio.to_thread(self._parts.tools.ledger.accept_root)
        if folder is not None:
            await self._parts.recorder.record(ev.FolderAccepted(folder=folder))
            await self.make_ready()

    async def settle(self, turn: int, *, is_cut_off: bool = False) -> None:
        """Record an end for each call of `turn` that has none; `is_cut_off`: an earlier process left them open."""
        parts, failure = self._parts, self.failure
        await settle(
            self.unfinished,
            parts.tools.ledger,
            parts.tools.effects,
            parts.recorder,
            [record.change for record in parts.state.transcript.changes.values()],
            turn=turn,
            is_cut_off=is_cut_off,
            failure=failure,
        )
        self.failure = ""

    async def stop_held(self) -> None:
        """End the turn that waits for the user."""
        self.is_held, self._is_stopped = False, True
        await self.make_ready()

    async def release_held(self) -> OpenCalls:
        """Let the turn that waited go on; return the calls that it has left."""
        left = await settle_begun(self.unfinished, self._parts.recorder)
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
            await self._parts.recorder.record(
                ev.TurnEnded(turn=turn, reason=reason, requests=requests, duration_s=worked_s, is_cut_off=is_cut_off)
            )
