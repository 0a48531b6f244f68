"""Whether what is exported arrives, and what is to be said of it: once, however often it fails."""

import threading
from collections.abc import Sequence

from desktop_agent.core.base.plain_text import on_one_line
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.protocol import events as ev

_LONGEST_REASON = 500


class Health:
    """The state of one way out. May be used by several threads."""

    def __init__(self, target: str, secrets: Sequence[str]) -> None:
        """`target` says where telemetry goes, for people; `secrets` never stand in what is said."""
        self._target = target
        self._secrets = secrets
        self._lock = threading.Lock()
        self._reason = ""
        self._is_said = False
        self.is_failing = False
        """Whether the last export failed."""

    def failed(self, reason: str) -> None:
        """Note that something was lost."""
        text = on_one_line(mask(reason, self._secrets))[:_LONGEST_REASON]
        with self._lock:
            self.is_failing = True
            self._reason = self._reason or text

    def worked(self) -> None:
        """Note that an export arrived."""
        self.is_failing = False

    def unsaid(self) -> ev.Notice | None:
        """Return what the user has to be told: the first failure, to whoever asks first."""
        with self._lock:
            if not self._reason or self._is_said:
                return None
            self._is_said = True
        return ev.Notice(
            level="warning",
            code="telemetry",
            title=f"Telemetry could not be sent to {self._target}. Nothing else is affected.",
            hint="Look whether the receiver runs, or change it in the settings under Telemetry. This is said once.",
            detail=self._reason,
        )
