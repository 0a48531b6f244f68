"""The bar below the diff: what stands, what was undone, and the buttons for either."""

from typing import Literal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from desktop_agent.ui.elided_label import ElidedLabel
from desktop_agent.ui.theme import Space


class UndoBar(QWidget):
    """Undoes or redoes everything in the baseline.

    Signals:
        undo_clicked, redo_clicked: the person wants it.
    """

    undo_clicked = Signal()
    redo_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._warning = QLabel()
        self._warning.setObjectName("uncapturedNote")
        self._warning.setProperty("role", "warning")
        self._warning.setWordWrap(True)
        self._warning.hide()
        self._summary = ElidedLabel()
        self._summary.setObjectName("reviewSummary")
        self._summary.setProperty("role", "secondary")
        self._redo = QPushButton()
        self._redo.setObjectName("redoButton")
        self._redo.clicked.connect(self.redo_clicked)
        self._undo = QPushButton()
        self._undo.setObjectName("undoTurnButton")
        self._undo.setProperty("variant", "destructive")
        self._undo.clicked.connect(self.undo_clicked)
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.S)
        buttons.addWidget(self._summary)
        buttons.addStretch()
        buttons.addWidget(self._redo)
        buttons.addWidget(self._undo)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.M, Space.S, Space.M, Space.S)
        layout.setSpacing(Space.S)
        layout.addWidget(self._warning)
        layout.addLayout(buttons)

    def set_counts(self, *, standing: int, undone: int, scope: Literal["turn", "session"], is_running: bool) -> None:
        """Say how many files stand and how many were undone, and offer what can be done about it."""
        total = standing + undone
        files = self.tr("1 file changed") if total == 1 else self.tr("{0} files changed").format(total)
        self._summary.setText(self.tr("{0} of {1} undone").format(undone, total) if undone else files)
        is_turn = scope == "turn"
        self._undo.setText(self.tr("Undo turn") if is_turn else self.tr("Undo session"))
        self._redo.setText(self.tr("Redo turn") if is_turn else self.tr("Redo session"))
        wait = self.tr("Wait until the turn has ended, or stop it")
        nothing = self.tr("Nothing is left to undo")
        kept = self.tr("Files that were changed since are left alone and listed.")
        undo = self.tr("Put 1 file back. {1}") if standing == 1 else self.tr("Put {0} files back. {1}")
        redo = self.tr("Change 1 file again. {1}") if undone == 1 else self.tr("Change {0} files again. {1}")
        self._undo.setEnabled(bool(standing) and not is_running)
        self._undo.setToolTip(wait if is_running else undo.format(standing, kept) if standing else nothing)
        self._redo.setVisible(bool(undone))
        self._redo.setEnabled(not is_running)
        self._redo.setToolTip(wait if is_running else redo.format(undone, kept))

    def set_uncaptured(self, paths: list[str], details: str) -> None:
        """Warn of files whose changes are not recorded."""
        count = len(paths)
        if count == 1:
            text = self.tr("{0} was changed but not recorded: it cannot be undone.").format(paths[0])
        else:
            text = self.tr("{0} files were changed but not recorded: they cannot be undone.").format(count)
        self._warning.setText(text)
        self._warning.setToolTip(details)
        self._warning.setVisible(bool(count))
