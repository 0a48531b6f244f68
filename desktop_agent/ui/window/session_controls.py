"""Connects what the user sets in a session: its model and modes, its jobs, its rules."""

from PySide6.QtCore import QObject

from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.protocol.ops import RevokeRule, SetMode, StopJob
from desktop_agent.ui.window.session_panels import SessionPanels
from desktop_agent.ui.window.shown_session import ShownSession


class SessionControls(QObject):
    """Asks the session that is shown for other modes, for the end of a job, or of a rule."""

    def __init__(self, shown: ShownSession, panels: SessionPanels, parent: QObject) -> None:
        super().__init__(parent)
        self._shown = shown
        panels.pickers.approval_chosen.connect(self._set_approval)
        panels.pickers.sandbox_chosen.connect(self._set_sandbox)
        panels.jobs.stop_requested.connect(self._stop_job)

    @property
    def model(self) -> ModelRef | None:
        """The model that answers in the shown session."""
        return self._shown.transcript.session.model

    def set_model(self, model: ModelRef) -> None:
        """Let another model answer, from the next turn on."""
        self._shown.submit(SetMode(model=model))

    def _set_approval(self, policy: str) -> None:
        if policy in ("always", "on_write", "on_request", "never"):
            self._shown.submit(SetMode(approval=policy))

    def _set_sandbox(self, mode: str) -> None:
        if mode in ("restricted", "strict", "none"):
            self._shown.submit(SetMode(sandbox=mode))

    def _stop_job(self, job_id: str) -> None:
        self._shown.submit(StopJob(job_id=job_id))

    def revoke_rule(self, rule_id: str) -> None:
        """Take back a rule of the shown session."""
        self._shown.submit(RevokeRule(rule_id=rule_id))
