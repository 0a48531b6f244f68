"""The sessions that are open in this process: several may run at once, whichever of them the window shows."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from desktop_agent.core import ops
from desktop_agent.core.events import Event
from desktop_agent.core.ids import SessionId
from desktop_agent.core.model import ApprovalPolicy, ModelRef
from desktop_agent.core.session import Session
from desktop_agent.core.transcript import Transcript, replay
from desktop_agent.ui.bridge import SessionBridge
from desktop_agent.workbench import Workbench


@dataclass(frozen=True, slots=True)
class LiveSession:
    """An open session: its running end, its task, and the window's side of it."""

    session: Session
    task: asyncio.Task[None]
    bridge: SessionBridge


class LiveSessions:
    """Opens, keeps and closes sessions. All methods run on the window's loop."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._live: dict[SessionId, LiveSession] = {}

    @property
    def bridges(self) -> list[SessionBridge]:
        """The window's side of every open session."""
        return [live.bridge for live in self._live.values()]

    @property
    def ids(self) -> frozenset[SessionId]:
        """The ids of the open sessions."""
        return frozenset(self._live)

    async def create(self, workspace: Path, model: ModelRef, approval: ApprovalPolicy) -> SessionBridge:
        """Start a session. Raises `AgentError` when the folder or the disk does not allow it."""
        inlet = _Inlet()
        session = await self._bench.create_session(workspace, sink=inlet.take, model=model, approval=approval)
        return self._serve(session, Transcript(), inlet)

    async def open(self, session_id: SessionId) -> SessionBridge:
        """Return the session, opening it when it is not open yet. Raises `AgentError` when that is not possible."""
        if session_id in self._live:
            return self._live[session_id].bridge
        inlet = _Inlet()
        opened = await self._bench.open_session(session_id, sink=inlet.take)
        transcript = await asyncio.to_thread(replay, opened.events)
        return self._serve(opened.session, transcript, inlet)

    def is_running(self, session_id: SessionId) -> bool:
        """Whether the agent works in a session that is open here, or waits for an answer in it."""
        live = self._live.get(session_id)
        return live is not None and live.session.transcript.is_running

    async def close(self, session_id: SessionId) -> None:
        """Close one session, if it is open here; returns when it is."""
        live = self._live.pop(session_id, None)
        if live is not None:
            live.session.submit(ops.Shutdown())
            await live.task

    async def aclose(self) -> None:
        """Stop everything and close every session; returns when nothing of them is left."""
        for live in self._live.values():
            live.session.submit(ops.Shutdown())
        await asyncio.gather(*(live.task for live in self._live.values()))
        self._live.clear()

    def _serve(self, session: Session, transcript: Transcript, inlet: "_Inlet") -> SessionBridge:
        bridge = SessionBridge(transcript, session.submit)
        inlet.bridge = bridge
        session_id = session.id
        task = asyncio.create_task(session.run(), name=f"session {session_id}")
        self._live[session_id] = LiveSession(session, task, bridge)
        return bridge


class _Inlet:
    """Where a session's events arrive. A session exists before its bridge does, but is silent until it runs."""

    def __init__(self) -> None:
        self.bridge: SessionBridge | None = None

    def take(self, event: Event) -> None:
        assert self.bridge is not None, "a session says nothing before it runs"
        self.bridge.deliver(event)
