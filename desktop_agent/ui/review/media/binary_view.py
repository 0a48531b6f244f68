"""A binary file before and after: what it is, how long, and the first bytes that differ."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from desktop_agent.ui.review.media.binary_facts import BinaryFacts, version_words
from desktop_agent.ui.review.media.hex_text import HexText
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hairline, vbox


class BinaryView(QWidget):
    """A small table of facts, and the bytes below it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setProperty("role", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        grid = QGridLayout()
        grid.setContentsMargins(Space.M, Space.M, Space.M, Space.M)
        grid.setHorizontalSpacing(Space.L)
        grid.setVerticalSpacing(Space.XS)
        for place, head in enumerate(("", self.tr("Before"), self.tr("After"))):
            grid.addWidget(make_label(head, role="heading"), 0, place)
            grid.setColumnStretch(place, 1 if head else 0)
        names = (self.tr("Type"), self.tr("Size"), self.tr("BLAKE2"))
        self._values = [[make_label(wraps=True, is_plain=True, is_selectable=True) for _ in range(2)] for _ in names]
        for row, (name, values) in enumerate(zip(names, self._values, strict=True), 1):
            grid.addWidget(make_label(name, role="heading"), row, 0)
            for place, value in enumerate(values, 1):
                grid.addWidget(value, row, place)
        self._where = make_label(role="heading")
        self._where.setContentsMargins(Space.M, Space.S, Space.M, 0)
        self._bytes = HexText(theme)
        self._bytes.setObjectName("hexText")
        self._bytes.setAccessibleName(self.tr("Bytes before and after"))
        vbox(grid, hairline(), self._where, (self._bytes, 1), on=self)
        self.setFocusProxy(self._bytes)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def show_facts(self, facts: BinaryFacts) -> None:
        """Show these."""
        for place, version in enumerate((facts.before, facts.after)):
            for row, text in enumerate(version_words(version)):
                self._values[row][place].setText(text)
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
        for digest in self._values[-1]:
            digest.setFont(self._theme.code_font(TypeSize.CODE))
