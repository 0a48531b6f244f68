"""One rule of an answer: the pattern, and what is wrong with it."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QCompleter, QLabel, QSizePolicy, QVBoxLayout, QWidget

from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.picker import Picker

PATTERN_HEIGHT = Height.BUTTON + 2


class PatternRow(QWidget):
    """A field with patterns to choose from, narrowest first; any other can be typed.

    Signals:
        changed: another pattern is in the field.
    """

    changed = Signal()

    def __init__(self, theme: Theme, name: str, patterns: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._field = Picker(min_chars=24)
        self._field.setObjectName("rulePatternEdit")
        self._field.setAccessibleName(name)
        self._field.setEditable(True)
        self._field.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self._field.setCompleter(
            QCompleter(self)
        )  # knows no words: a completed pattern would be a wider rule than the one that was typed
        self._field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._field.addItems(list(patterns))
        # A style sheet of the application would give the field the font of the text again.
        families = ", ".join(f"'{family}'" for family in theme.code_font().families())
        self._field.setStyleSheet(f"QComboBox {{ font-family: {families}; }}")
        self._field.setFixedHeight(PATTERN_HEIGHT)
        edit = self._field.lineEdit()
        assert edit is not None
        edit.setAccessibleName(name)  # it is what has the focus
        edit.setCursorPosition(0)
        self._problem = QLabel()
        self._problem.setObjectName("ruleProblem")
        self._problem.setTextFormat(Qt.TextFormat.PlainText)
        self._problem.setWordWrap(True)
        self._problem.setProperty("role", "error")
        self._problem.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.XS)
        column.addWidget(self._field)
        column.addWidget(self._problem)
        self._field.editTextChanged.connect(self.changed)

    @property
    def pattern(self) -> str:
        """What is in the field."""
        return self._field.currentText().strip()

    @property
    def field(self) -> Picker:
        """The field itself."""
        return self._field

    def show_problem(self, problem: str) -> None:
        """Say why this makes no rule; nothing when it does."""
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        self._field.setAccessibleDescription(problem)
