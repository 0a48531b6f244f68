"""Telemetry of one session: listens to its events while the settings want it, and never gets in their way."""

from collections.abc import Callable
from functools import partial

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.settings import TelemetrySettings
from desktop_agent.core.telemetry.facts import SessionFacts
from desktop_agent.core.telemetry.telemetry import Fold, Listener, Telemetry, TelemetryLease


class SessionTelemetry:
    """`prepare` before turns, `aclose` once. While it is off, nothing is imported and nothing listens."""

    def __init__(
        self,
        telemetry: Telemetry,
        settings: Callable[[], TelemetrySettings],
        observe: Callable[[Listener | None], None],
        facts: SessionFacts,
    ) -> None:
        """`settings` are those in force now; `observe` says who hears of every event from now on."""
        self._telemetry = telemetry
        self._settings = settings
        self._observe = observe
        self._facts = facts
        self._lease: TelemetryLease | None = None
        self._fold: Fold | None = None
        self._is_outdated = False
        """Whether the settings became others than those that it began with."""

    async def prepare(self) -> None:
        """Begin, go on or end as the settings say now. The first time takes as long as an import. Never raises."""
        wanted = self._settings()
        known = self._lease.wanted if self._lease is not None else TelemetrySettings()
        if known == wanted and not self._is_outdated:
            return
        await self.aclose()
        self._is_outdated = False
        self._lease = await self._telemetry.enter(wanted)
        if self._lease is not None and self._lease.pipeline is not None:
            self._fold = self._lease.pipeline.fold(self._facts)
            self._observe(self._listen)

    def problem(self) -> ev.Notice | None:
        """Return what the user has to be told, the first time that something went wrong."""
        return self._lease.health.unsaid() if self._lease is not None else None

    async def aclose(self) -> None:
        """End what is open and send it. Takes no time worth mentioning, whatever the receiver does."""
        self._observe(None)
        fold, self._fold = self._fold, None
        lease, self._lease = self._lease, None
        if lease is None:
            return
        if fold is not None:
            self._guarded(fold.close, lease)
        await self._telemetry.leave(lease)

    def _listen(self, event: ev.Event) -> None:
        """Fold an event. What goes wrong ends telemetry, never what the event is about."""
        if self._fold is None or self._lease is None:
            return
        if self._settings() != self._lease.wanted:  # switched off, or to another receiver: from the next turn on
            self._is_outdated = True
            self._observe(None)
        else:
            self._guarded(partial(self._fold.apply, event), self._lease)

    def _guarded(self, step: Callable[[], None], lease: TelemetryLease) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - a turn does not depend on being watched
            lease.health.failed(f"It was ended by a defect: {type(error).__name__}")
            self._observe(None)
