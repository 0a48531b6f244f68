"""What all bars above the conversation have in common: a title, a line that explains it, and buttons at the right."""

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import vbox

_SHOWN_LINES = 4


class BannerFrame(QFrame):
    """Hidden until its owner shows it. What it says is plain text, also to a screen reader."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setProperty("role", "banner")
        self._title = self._build_label("warning")
        self._hint = self._build_label("secondary")
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(Space.L, Space.S, Space.S, Space.S)
        self._row.addLayout(vbox(self._title, self._hint, spacing=2), 1)
        self.hide()

    def say(self, title: str, hint: str) -> None:
        """Show these words; an empty hint takes no room."""
        self._title.setText(title)
        self._hint.setText(hint)
        self._hint.setVisible(bool(hint))
        self.setAccessibleName(f"{title} {hint}".strip())

    def add_button(self, text: str, name: str, *, is_flat: bool = False) -> QPushButton:
        """Return a new button, behind those that are there."""
        button = make_button(text, object_name=name, variant="flat" if is_flat else "", parent=self, is_compact=True)
        self._row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return button

    def _build_label(self, role: str) -> QLabel:
        label = make_label(role=role, parent=self, wraps=True, is_plain=True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label


def few_lines(lines: Sequence[str], *, longest: int = 300) -> list[str]:
    """Return the lines that a bar has room for, none longer than `longest` characters, and how many more there are."""
    shown = [line if len(line) <= longest else f"{line[: longest - 1]}…" for line in lines[:_SHOWN_LINES]]
    if len(lines) > _SHOWN_LINES:
        more = QCoreApplication.translate("BannerFrame", "And {0} more.")
        shown[-1] = more.format(len(lines) - _SHOWN_LINES + 1)
    return shown
