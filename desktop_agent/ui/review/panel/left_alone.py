"""What an undo or redo left alone, and why."""

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QFrame, QLabel, QPushButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from desktop_agent.core.protocol.model import FileOutcome
from desktop_agent.ui.theme import Space

_WIDTH = 520
_LIST_HEIGHT = 240


class UndoConflictDialog(QDialog):
    """Lists the files that an undo or redo did not touch. Open it with `open()`; there is nothing to answer."""

    def __init__(
        self, purpose: Literal["undo", "redo"], outcomes: Sequence[FileOutcome], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("undoConflictDialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        left_alone = [outcome for outcome in outcomes if not outcome.is_done]
        self.setWindowTitle(self._title(purpose, len(left_alone)))
        self.setAccessibleName(self.windowTitle())
        self.setMinimumWidth(_WIDTH)

        heading = QLabel(self.windowTitle())
        heading.setProperty("role", "title")
        heading.setWordWrap(True)
        summary = QLabel(self._summary(purpose, len(outcomes) - len(left_alone)))
        summary.setProperty("role", "secondary")
        summary.setWordWrap(True)
        summary.setObjectName("undoConflictSummary")
        close = QPushButton(self.tr("Close"))
        close.setProperty("variant", "primary")
        close.setDefault(True)
        close.clicked.connect(self.reject)

        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.L)
        layout.setSpacing(Space.S)
        layout.addWidget(heading)
        layout.addWidget(summary)
        layout.addWidget(_outcome_list(left_alone, self.tr("Files left alone")))
        layout.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)

    def _title(self, purpose: Literal["undo", "redo"], count: int) -> str:
        if purpose == "undo":
            return (
                self.tr("1 file was not undone") if count == 1 else self.tr("{0} files were not undone").format(count)
            )
        return self.tr("1 file was not redone") if count == 1 else self.tr("{0} files were not redone").format(count)

    def _summary(self, purpose: Literal["undo", "redo"], done: int) -> str:
        nothing = self.tr("These files were not written.")
        if not done:
            return nothing
        if purpose == "undo":
            rest = self.tr("1 other file was undone.") if done == 1 else self.tr("{0} other files were undone.")
        else:
            rest = self.tr("1 other file was redone.") if done == 1 else self.tr("{0} other files were redone.")
        return f"{nothing} {rest.format(done)}"


def _outcome_list(outcomes: Sequence[FileOutcome], name: str) -> QScrollArea:
    content = QWidget()
    layout = QVBoxLayout(content)
    layout.setContentsMargins(0, Space.S, Space.S, Space.S)
    layout.setSpacing(Space.XS)
    for outcome in outcomes:
        path = QLabel(outcome.path)
        path.setTextFormat(Qt.TextFormat.PlainText)
        path.setProperty("role", "strong")
        path.setWordWrap(True)
        reason = QLabel(outcome.reason)
        reason.setTextFormat(Qt.TextFormat.PlainText)
        reason.setProperty("role", "secondary")
        reason.setWordWrap(True)
        reason.setContentsMargins(0, 0, 0, Space.S)
        for label in (path, reason):
            label.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            layout.addWidget(label)
    layout.addStretch()
    area = QScrollArea()
    area.setWidget(content)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setMaximumHeight(_LIST_HEIGHT)
    area.viewport().setAutoFillBackground(False)
    content.setAutoFillBackground(False)
    area.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
    area.setAccessibleName(name)
    return area
