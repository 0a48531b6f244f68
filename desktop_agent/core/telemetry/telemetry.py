"""What the sessions of a process share: one way out for each set of settings, made when the first session wants it."""

import asyncio
import importlib
import logging
from collections.abc import Callable, Mapping
from typing import Protocol, cast
from uuid import uuid4

from desktop_agent.core.mcp.status import ServerStatus
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.settings import TelemetrySettings
from desktop_agent.core.telemetry.contents import secrets_of
from desktop_agent.core.telemetry.facts import SessionFacts
from desktop_agent.core.telemetry.health import Health

_SDK = "desktop_agent.core.telemetry.sdk.pipeline"

logger = logging.getLogger(__name__)

Listener = Callable[[ev.Event], None]
ServerListener = Callable[[ServerStatus], None]
SubscribeToServers = Callable[[ServerListener], Callable[[], None]]
"""Calls a listener with every change of a server's status, until what is returned is called."""


class Fold(Protocol):
    """Spans and metrics of one session."""

    def apply(self, event: ev.Event) -> None:
        """Fold one event."""
        ...

    def close(self) -> None:
        """End what is still open."""
        ...


class Pipeline(Protocol):
    """One way out; `sdk.pipeline` has the real one."""

    def fold(self, facts: SessionFacts) -> Fold:
        """Return what folds the events of a session."""
        ...

    def server_changed(self, status: ServerStatus) -> None:
        """Note how an MCP server is now."""
        ...

    async def aclose(self) -> None:
        """Send what is left, as far as that takes no time worth mentioning, and end."""
        ...


_MakePipeline = Callable[[TelemetrySettings, Mapping[str, str], str, Health], Pipeline]


class _Use:
    """A way out, and how many sessions use it."""

    def __init__(self, health: Health) -> None:
        self.health = health
        self.users = 0
        self.ready: asyncio.Task[Pipeline | None] | None = None
        self.unsubscribe: Callable[[], None] = lambda: None


class TelemetryLease:
    """A session's use of a way out. `pipeline` is None when it could not be made: `health` says why."""

    def __init__(self, wanted: TelemetrySettings, health: Health, pipeline: Pipeline | None) -> None:
        self.wanted = wanted
        self.health = health
        self.pipeline = pipeline


class Telemetry:
    """Of one process. Nothing of it costs anything until a session `enter`s with settings that name a receiver."""

    def __init__(self, environ: Mapping[str, str], subscribe_to_servers: SubscribeToServers) -> None:
        self._environ = environ
        self._subscribe = subscribe_to_servers
        self._instance_id = str(uuid4())
        self._uses: dict[TelemetrySettings, _Use] = {}

    async def enter(self, wanted: TelemetrySettings) -> TelemetryLease | None:
        """Return the way out that these settings name, until it is left; None when they name none. Never raises."""
        if not wanted.is_on:
            return None
        use = self._uses.get(wanted)
        if use is None:
            health = Health(wanted.otlp_address or wanted.file, secrets_of(self._environ))
            use = self._uses[wanted] = _Use(health)
            use.ready = asyncio.create_task(self._made(wanted, use), name="telemetry")
        use.users += 1
        assert use.ready is not None
        try:
            pipeline = await asyncio.shield(use.ready)
        except asyncio.CancelledError:
            use.users -= 1
            raise
        return TelemetryLease(wanted, use.health, pipeline)

    async def leave(self, lease: TelemetryLease) -> None:
        """Give it back. The last session to do so waits, shortly, until what is left has been sent."""
        use = self._uses[lease.wanted]
        use.users -= 1
        if use.users:
            return
        del self._uses[lease.wanted]
        use.unsubscribe()
        if lease.pipeline is not None:
            await lease.pipeline.aclose()
        if (notice := use.health.unsaid()) is not None:
            logger.warning("%s %s", notice.title, notice.detail)

    async def _made(self, wanted: TelemetrySettings, use: _Use) -> Pipeline | None:
        def make() -> Pipeline:
            kind = cast("_MakePipeline", importlib.import_module(_SDK).SdkPipeline)
            return kind(wanted, self._environ, self._instance_id, use.health)

        try:
            pipeline = await asyncio.to_thread(make)
        except Exception as error:  # noqa: BLE001 - whatever the SDK makes of settings, sessions go on without it
            use.health.failed(f"{type(error).__name__}: {error}")
            return None
        use.unsubscribe = self._subscribe(pipeline.server_changed)
        return pipeline
