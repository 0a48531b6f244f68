"""One rule of an answer: the pattern, and what is wrong with it."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QCompleter, QSizePolicy, QWidget

from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import vbox
from desktop_agent.ui.widgets.picker import Picker

PATTERN_HEIGHT = Height.BUTTON + 2


class PatternRow(QWidget):
    """A field with patterns to choose from, narrowest first; any other can be typed.

    Signals:
        changed: another pattern is in the field.
    """

    changed = Signal()

    def __init__(self, theme: Theme, name: str, patterns: Sequence[str]) -> None:
        super().__init__()
        self.field = Picker(min_chars=24)
        self.field.setObjectName("rulePatternEdit")
        self.field.setEditable(True)
        self.field.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.field.setCompleter(
            QCompleter(self)
        )  # knows no words: a completed pattern would be a wider rule than the one that was typed
        self.field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.field.addItems(list(patterns))
        # A style sheet of the application would give the field the font of the text again.
        families = ", ".join(f"'{family}'" for family in theme.code_font().families())
        self.field.setStyleSheet(f"QComboBox {{ font-family: {families}; }}")
        self.field.setFixedHeight(PATTERN_HEIGHT)
        edit = self.field.lineEdit()
        assert edit is not None
        self.rename(name)  # its line edit is what has the focus
        edit.setCursorPosition(0)
        self._problem = make_label(role="error", object_name="ruleProblem", wraps=True, is_plain=True)
        self._problem.hide()
        vbox(self.field, self._problem, on=self, spacing=Space.XS)
        self.field.editTextChanged.connect(self.changed)

    @property
    def pattern(self) -> str:
        """What is in the field."""
        return self.field.currentText().strip()

    def rename(self, name: str) -> None:
        """Name the field after what its pattern means now."""
        self.field.setAccessibleName(name)
        if (edit := self.field.lineEdit()) is not None:
            edit.setAccessibleName(name)

    def show_problem(self, problem: str) -> None:
        """Say why this makes no rule; nothing when it does."""
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        self.field.setAccessibleDescription(problem)
