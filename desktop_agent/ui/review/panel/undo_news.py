"""Shows what an undo or redo left alone, and lets the user settle what clashed."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.core.transcript import Transcript, UndoEntry
from desktop_agent.ui.review.changes.reviewed import undos_since
from desktop_agent.ui.review.conflict.resolution import Resolution
from desktop_agent.ui.review.panel.decisions import ReviewDecisions
from desktop_agent.ui.review.source import DiffSource, Spawn
from desktop_agent.ui.theme import Theme


class UndoNews(QObject):
    """Opens a dialog for every undo or redo that did not do all it was asked for."""

    def __init__(
        self, theme: Theme, source: DiffSource, spawn: Spawn, decisions: ReviewDecisions, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._source = source
        self._spawn = spawn
        self._decisions = decisions
        self._window = parent
        self._transcript: Transcript | None = None
        self.last: UndoEntry | None = None
        """The newest undo or redo that is known."""

    def set_transcript(self, transcript: Transcript) -> None:
        """Hear of this session from now on; what it did before is no news."""
        self._transcript = transcript
        known = undos_since(transcript, None)
        self.last = known[-1] if known else None

    def look(self) -> None:
        """Tell what came since the last look."""
        for entry in undos_since(self._transcript, self.last):
            self.last = entry
            if any(outcome.clash is not None for outcome in entry.outcomes):
                self._open_clashes(entry)
            elif not all(outcome.is_done for outcome in entry.outcomes):
                from desktop_agent.ui.review.panel.left_alone import UndoConflictDialog

                UndoConflictDialog(entry.purpose, entry.outcomes, self._window).open()

    def _open_clashes(self, entry: UndoEntry) -> None:
        from desktop_agent.ui.review.conflict.dialog import ClashDialog

        dialog = ClashDialog(self._theme, entry.purpose, entry.outcomes, self._source, self._spawn, self._window)
        dialog.resolved.connect(self._settle)
        dialog.open()

    def _settle(self, resolution: Resolution) -> None:
        if self._transcript is not None:
            self._decisions.settle(self._transcript, resolution)
