"""A line or two that explain something, beside what it is about."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from desktop_agent.ui.wording.quoted_code import quoted


class Note(QLabel):
    """Plain text: nothing in it is taken for markup, and its code is in quotes."""

    def __init__(self, text: str = "", role: str = "secondary", object_name: str = "") -> None:
        super().__init__(quoted(text))
        self.setObjectName(object_name)
        self.setProperty("role", role)
        self.setProperty("note", True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)

    def setText(self, arg__1: str) -> None:
        super().setText(quoted(arg__1))

    def say(self, text: str, role: str = "secondary") -> None:
        """Show another text in another role."""
        self.setText(text)
        self.setProperty("role", role)
        self.style().unpolish(self)
        self.style().polish(self)
