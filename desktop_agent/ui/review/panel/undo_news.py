"""Shows what an undo or redo left alone, and lets the user settle what clashed."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.core.transcript import UndoEntry
from desktop_agent.ui.review.conflict.clash_words import Resolution
from desktop_agent.ui.review.panel.parts import ReviewParts


class UndoNews(QObject):
    """Opens a dialog for every undo or redo that did not do all it was asked for."""

    def __init__(self, parts: ReviewParts, parent: QWidget) -> None:
        super().__init__(parent)
        self._parts = parts
        self._window = parent
        self.last: UndoEntry | None = None
        """The newest undo or redo that is known."""

    def start_over(self) -> None:
        """Hear of another session from now on; what it did before is no news."""
        undos = self._parts.reviewed.transcript.changed.undos
        self.last = undos[-1] if undos else None

    def look(self) -> None:
        """Tell what came since the last look, oldest first."""
        for entry in self._unknown():
            self.last = entry
            if any(outcome.clash is not None for outcome in entry.outcomes):
                self._open_clashes(entry)
            elif not all(outcome.is_done for outcome in entry.outcomes):
                from desktop_agent.ui.review.panel.review_dialogs import UndoConflictDialog

                UndoConflictDialog(entry.purpose, entry.outcomes, self._window).open()

    def _unknown(self) -> list[UndoEntry]:
        found: list[UndoEntry] = []
        for entry in reversed(self._parts.reviewed.transcript.changed.undos):
            if entry is self.last:
                break
            found.append(entry)
        return found[::-1]

    def _open_clashes(self, entry: UndoEntry) -> None:
        from desktop_agent.ui.review.conflict.clash_dialog import ClashDialog

        parts = self._parts
        dialog = ClashDialog(parts.theme, entry.purpose, entry.outcomes, parts.diff_source, parts.spawn, self._window)
        dialog.resolved.connect(self._settle)
        dialog.open()

    def _settle(self, resolution: Resolution) -> None:
        self._parts.decisions.settle(self._parts.reviewed.transcript, resolution)
