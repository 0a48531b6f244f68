"""Undo with a message: the agent reads with the user's next message what was undone, and why."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from desktop_agent.ui.theme import Space

_WIDTH = 440
_FIELD_HEIGHT = 84


class WordDialog(QDialog):
    """Asks for the word. Open it with `open()`.

    Signals:
        given: the user wants the undo, with these words.
    """

    given = Signal(str)

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        """`what` says what is undone: `Undo turn`, a path."""
        super().__init__(parent)
        self.setObjectName("undoWordDialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(what)
        self.setAccessibleName(what)
        self.setMinimumWidth(_WIDTH)
        heading = QLabel(what)
        heading.setTextFormat(Qt.TextFormat.PlainText)
        heading.setProperty("role", "title")
        heading.setWordWrap(True)
        hint = QLabel(self.tr("The agent reads this with your next message, so that it does not try the same again."))
        hint.setProperty("role", "secondary")
        hint.setWordWrap(True)
        self._field = QPlainTextEdit()
        self._field.setObjectName("undoWordEdit")
        self._field.setAccessibleName(self.tr("Message to the agent"))
        self._field.setPlaceholderText(self.tr("Why are you undoing this?"))
        self._field.setFixedHeight(_FIELD_HEIGHT)
        self._field.setTabChangesFocus(True)
        cancel = QPushButton(self.tr("Cancel"))
        cancel.setAutoDefault(False)
        cancel.clicked.connect(self.reject)
        undo = QPushButton(self.tr("Undo"))
        undo.setObjectName("undoWithWordButton")
        undo.setProperty("variant", "primary")
        undo.setDefault(True)
        undo.clicked.connect(self._give)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self).activated.connect(self._give)
        undo.setToolTip(QKeySequence("Ctrl+Return").toString(QKeySequence.SequenceFormat.NativeText))
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.S)
        buttons.addStretch()
        buttons.addWidget(cancel)
        buttons.addWidget(undo)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.L)
        layout.setSpacing(Space.S)
        layout.addWidget(heading)
        layout.addWidget(hint)
        layout.addWidget(self._field)
        layout.addSpacing(Space.XS)
        layout.addLayout(buttons)
        self._field.setFocus()

    def _give(self) -> None:
        self.given.emit(self._field.toPlainText().strip())
        self.accept()
