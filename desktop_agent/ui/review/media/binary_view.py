"""A binary file before and after: what it is, how long, and the first bytes that differ."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from desktop_agent.ui.review.media.binary_facts import BinaryFacts, version_words
from desktop_agent.ui.review.media.hex_text import HexText
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.widgets.hairline import hairline


class BinaryView(QWidget):
    """A small table of facts, and the bytes below it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setProperty("role", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(Space.M, Space.M, Space.M, Space.M)
        self._grid.setHorizontalSpacing(Space.L)
        self._grid.setVerticalSpacing(Space.XS)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnStretch(2, 1)
        self._heads = [_head(text) for text in ("", self.tr("Before"), self.tr("After"))]
        self._names = [_head(text) for text in (self.tr("Type"), self.tr("Size"), self.tr("BLAKE2"))]
        self._values = [[_value(), _value()] for _ in self._names]
        for column, label in enumerate(self._heads):
            self._grid.addWidget(label, 0, column)
        for row, name in enumerate(self._names):
            self._grid.addWidget(name, row + 1, 0)
            for column in (0, 1):
                self._grid.addWidget(self._values[row][column], row + 1, column + 1)
        self._where = QLabel()
        self._where.setProperty("role", "heading")
        self._where.setContentsMargins(Space.M, Space.S, Space.M, 0)
        self._bytes = HexText(theme)
        self._bytes.setObjectName("hexText")
        self._bytes.setAccessibleName(self.tr("Bytes before and after"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._grid)
        layout.addWidget(hairline())
        layout.addWidget(self._where)
        layout.addWidget(self._bytes, 1)
        self.setFocusProxy(self._bytes)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def show_facts(self, facts: BinaryFacts) -> None:
        """Show these."""
        for column, version in enumerate((facts.before, facts.after)):
            for row, text in enumerate(version_words(version)):
                self._values[row][column].setText(text)
        self._where.setText(self._where_words(facts))
        self._bytes.show_excerpt(facts.excerpt)
        self._bytes.setVisible(bool(facts.excerpt.before or facts.excerpt.after))

    def _where_words(self, facts: BinaryFacts) -> str:
        shown = facts.excerpt
        if facts.is_same:
            return self.tr("The same bytes; they begin with")
        if facts.before is None or facts.after is None:
            return self.tr("It begins with") if shown.before or shown.after else self.tr("It is empty")
        return self.tr("First difference at byte {0}").format(shown.difference)

    def _on_theme_changed(self) -> None:
        for label in self._values[-1]:
            label.setFont(self._theme.code_font(TypeSize.CODE))


def _head(text: str) -> QLabel:
    label = QLabel(text)
    label.setProperty("role", "heading")
    return label


def _value() -> QLabel:
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return label
