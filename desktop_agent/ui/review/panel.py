"""The review panel: every file that changed, what changed in it, and the way back.

Until something changed it says only that, and costs nothing: its content is made with the first change.
"""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QStackedLayout, QVBoxLayout, QWidget

from desktop_agent.ui.review.header import header_row
from desktop_agent.ui.theme import Space, Theme

if TYPE_CHECKING:
    from desktop_agent.core.changes.rows import RowMode
    from desktop_agent.core.transcript import Transcript
    from desktop_agent.ui.review.content import ReviewContent
    from desktop_agent.ui.review.source import DiffSource, Spawn


class ReviewPanel(QWidget):
    """Shows the changes of a transcript, and asks for undo and redo by signals. It changes nothing itself.

    Signals:
        undo_requested, redo_requested: the person wants these changes back, or again; carries a `ChangeSelection`.
        file_open_requested: the person wants to open the file of this path.
        call_requested: the person wants to see the call of this id in the conversation.
        diff_mode_changed: the person chose how diffs are shown, `side_by_side` or `unified`.
    """

    undo_requested = Signal(object)
    redo_requested = Signal(object)
    file_open_requested = Signal(str)
    call_requested = Signal(str)
    diff_mode_changed = Signal(str)

    def __init__(self, theme: Theme, diff_source: "DiffSource", spawn: "Spawn", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("reviewPanel")
        self.setAccessibleName(self.tr("Review"))
        self._theme = theme
        self._source = diff_source
        self._spawn = spawn
        self._mode: RowMode = "side_by_side"
        self._transcript: Transcript | None = None
        self._content: ReviewContent | None = None
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self._empty_page())

    def set_transcript(self, transcript: "Transcript") -> None:
        """Show the changes of this transcript. What was undone in it before is no news."""
        self._transcript = transcript
        if self._content or transcript.changes:
            self._shown_content().set_transcript(transcript)
        self._show_page()

    def refresh(self) -> None:
        """Look at the transcript again. Call it for every patch that concerns changes or the status."""
        if self._content:
            self._content.refresh()
        elif self._transcript and self._transcript.changes:
            self._shown_content().set_transcript(self._transcript)
        self._show_page()

    def show_call(self, call_id: str) -> bool:
        """Show what this call changed; whether it changed anything."""
        return self._content is not None and self._content.show_call(call_id)

    def set_diff_mode(self, mode: "RowMode") -> None:
        """Show diffs in this mode from now on, where there is room."""
        self._mode = mode
        if self._content:
            self._content.set_diff_mode(mode)

    def _show_page(self) -> None:
        has_changes = bool(self._transcript and self._transcript.changes)
        self._pages.setCurrentIndex(1 if has_changes else 0)

    def _shown_content(self) -> "ReviewContent":
        if self._content is None:
            from desktop_agent.ui.review.content import ReviewContent

            content = ReviewContent(self._theme, self._source, self._spawn)
            content.set_diff_mode(self._mode)
            content.undo_requested.connect(self.undo_requested)
            content.redo_requested.connect(self.redo_requested)
            content.file_open_requested.connect(self.file_open_requested)
            content.call_requested.connect(self.call_requested)
            content.diff_mode_changed.connect(self.diff_mode_changed)
            self._pages.addWidget(content)
            self._content = content
        return self._content

    def _empty_page(self) -> QWidget:
        heading = QLabel(self.tr("No changes yet"))
        heading.setProperty("role", "strong")
        hint = QLabel(self.tr("Every file that the agent creates, edits or deletes appears here, ready to be undone."))
        hint.setProperty("role", "secondary")
        hint.setWordWrap(True)
        middle = QVBoxLayout()
        middle.setContentsMargins(Space.XXL, 0, Space.XXL, 0)
        middle.setSpacing(Space.XS)
        for label in (heading, hint):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            middle.addWidget(label)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(header_row())
        column.addStretch(2)
        column.addLayout(middle)
        column.addStretch(3)
        return page
