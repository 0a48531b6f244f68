"""Lines with a sign before each, such as how a command would run, what is copied before it, what could go wrong."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from desktop_agent.ui.approvals.signs import Sign, SignKind
from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox

Ground = Literal["none", "warning", "danger"]


class IconLine(NamedTuple):
    """A sign, and words beside it that wrap. The words are untrusted: they are shown as plain text."""

    sign: SignKind
    text: str
    role: str


class IconNote(QFrame):
    """Shows its lines one below the other; not there at all without any. On a ground of its own it cannot be missed."""

    def __init__(self, theme: Theme, object_name: str, accessible_name: str) -> None:
        super().__init__()
        self.setObjectName(object_name)
        self.setAccessibleName(accessible_name)
        self._theme = theme
        self._lines: tuple[IconLine, ...] = ()
        self._ground: Ground = "none"
        self._rows: list[QWidget] = []
        self._column = QVBoxLayout(self)
        self._column.setSpacing(Space.XS)
        theme.changed.connect(self._draw_ground)
        self.hide()

    def show_lines(self, lines: Sequence[IconLine], ground: Ground = "none") -> None:
        """Show these lines in place of the earlier ones."""
        if (tuple(lines), ground) == (self._lines, self._ground):
            return
        self._lines, self._ground = tuple(lines), ground
        for drawn in self._rows:
            drawn.hide()
            drawn.deleteLater()
        self._rows = [self._draw(line) for line in lines]
        for drawn in self._rows:
            self._column.addWidget(drawn)
        margins = (0, 0, 0, 0) if ground == "none" else (Space.M, Space.S, Space.M, Space.S)
        self._column.setContentsMargins(*margins)
        self._draw_ground()
        self.setAccessibleDescription(self.text())
        self.setVisible(bool(lines))

    def text(self) -> str:
        """Return what it says, line by line."""
        return "\n".join(line.text for line in self._lines)

    def _draw(self, line: IconLine) -> QWidget:
        words = make_label(line.text, role=line.role, wraps=True, is_plain=True)
        drawn = QWidget()
        sign = Sign(self._theme, line.sign)
        hbox((sign, Qt.AlignmentFlag.AlignTop), (words, 1), on=drawn, spacing=Space.S)
        return drawn

    def _draw_ground(self) -> None:
        colours, name, words = self._theme.colours, self.objectName(), ""
        match self._ground:
            case "none":
                if self.styleSheet():  # an empty sheet in place of an empty one costs a style of its own
                    self.setStyleSheet("")
                return
            case "warning":
                fill, line = colours.warning_bg, colours.warning_border
            case "danger":
                fill, line = colours.danger_bg, colours.danger_text
                words = f"#{name} QLabel {{ color: {line}; font-weight: 600; }}"
        box = f"#{name} {{ background: {fill}; border: 1px solid {line}; border-radius: {Radius.CONTROL}px; }}"
        self.setStyleSheet(box + words)
