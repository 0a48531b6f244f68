"""A clock that the tour moves, so that pictures with times are always the same."""

import os
import time
from datetime import UTC, datetime, timedelta, tzinfo
from importlib import import_module

from desktop_agent.core.base.clock import SystemClock

BEGIN = datetime(2026, 3, 12, 9, 41, tzinfo=UTC)
_WHERE_ASKED = (
    "ui.chat.transcript.view",
    "ui.chat.entries.notices",
    "ui.wording",
    "app.window_panels",
    "app.inbox",
    "app.rule_judge",
)
"""The window's modules that read the clock."""


class StoppedTime:
    """Replaces the clock for the rest of the process."""

    def __init__(self) -> None:
        os.environ["TZ"] = "UTC"
        time.tzset()
        self.passed_s = 0.0
        clock = self

        class Moment(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:
                return datetime.fromtimestamp(clock.now().timestamp(), tz)

        for name in _WHERE_ASKED:
            setattr(import_module(f"desktop_agent.{name}"), "datetime", Moment)  # noqa: B010 - no type has it
        for name, tell in (("now", self.now), ("monotonic", self._monotonic)):
            setattr(SystemClock, name, tell)

    def advance(self, seconds: float) -> None:
        self.passed_s += seconds

    def now(self) -> datetime:
        return BEGIN + timedelta(seconds=self.passed_s)

    def _monotonic(self) -> float:
        return self.passed_s
