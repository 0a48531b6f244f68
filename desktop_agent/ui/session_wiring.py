"""Connects the panels with the session that is shown: events become drawings, what the person does becomes ops."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.actions import Actions
from desktop_agent.ui.chat.composer import Composer
from desktop_agent.ui.chat.view import TranscriptView
from desktop_agent.ui.files.panel import FileTree
from desktop_agent.ui.review.panel import ReviewPanel
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.top_bar import TopBar

if TYPE_CHECKING:
    from desktop_agent.ui.approvals.dialog import ApprovalDialog
    from desktop_agent.ui.bridge import SessionBridge
    from desktop_agent.ui.review.source import DiffSource, Spawn


class SessionWiring(QObject):
    """Shows one session at a time in panels that it is given.

    Signals:
        settings_requested: the person should see the settings, for a key for instance.
        review_requested: the review panel should come into sight.
        state_changed: the shown session started, waits, ended, or got a title.
    """

    settings_requested = Signal()
    review_requested = Signal()
    state_changed = Signal()

    def __init__(
        self,
        window: QWidget,
        theme: Theme,
        actions: Actions,
        top_bar: TopBar,
        transcript: TranscriptView,
        composer: Composer,
        review: ReviewPanel,
        files: FileTree,
        diff_source: "DiffSource",
        spawn: "Spawn",
    ) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._actions = actions
        self._top_bar = top_bar
        self._view = transcript
        self._composer = composer
        self._review = review
        self._files = files
        self._diff_source = diff_source
        self._spawn = spawn
        self._bridge: SessionBridge | None = None
        self._dialog: ApprovalDialog | None = None
        self._connect()

    @property
    def bridge(self) -> "SessionBridge | None":
        """The session that is shown."""
        return self._bridge

    def show(self, bridge: "SessionBridge", *, is_demo: bool) -> None:
        """Show this session instead of the one before, which goes on running unseen."""
        self._leave()
        self._bridge = bridge
        bridge.patched.connect(self._on_patched)
        bridge.happened.connect(self._on_happened)
        self._view.show_transcript(bridge.transcript)
        self._review.set_transcript(bridge.transcript)
        self._is_demo = is_demo
        self._refresh_status()
        self._refresh_changes()
        for request in bridge.transcript.pending_approvals:
            self._open_approval(request.call_id)
            break

    def _leave(self) -> None:
        if self._bridge is not None:
            self._bridge.patched.disconnect(self._on_patched)
            self._bridge.happened.disconnect(self._on_happened)
        self._close_dialog()
