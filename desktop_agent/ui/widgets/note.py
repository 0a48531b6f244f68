"""A line or two that explain something, beside what it is about."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QLabel, QWidget

from desktop_agent.ui.wording.quoted_code import quoted


class Note(QLabel):
    """Plain text: nothing in it is taken for markup, and its code is in quotes.

    It knows how high it is for a width: a layout asks that many times, and Qt sets the lines each time.
    """

    def __init__(
        self, text: str = "", role: str = "secondary", object_name: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(quoted(text), parent)
        self._heights: dict[int, int] = {}
        """By width, as far as it was asked for; its margins stay what they were by then."""
        self.setObjectName(object_name)
        self.setProperty("role", role)
        self.setProperty("note", True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)

    def setText(self, arg__1: str) -> None:
        self._heights = {}
        super().setText(quoted(arg__1))

    def heightForWidth(self, arg__1: int) -> int:
        height = self._heights.get(arg__1)
        if height is None:
            height = self._heights[arg__1] = super().heightForWidth(arg__1)
        return height

    def changeEvent(self, arg__1: QEvent) -> None:
        if arg__1.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._heights = {}
        super().changeEvent(arg__1)

    def say(self, text: str, role: str = "secondary") -> None:
        """Show another text in another role."""
        self.setText(text)
        self.setProperty("role", role)
        self.style().unpolish(self)
        self.style().polish(self)
