"""A question before an action, asked without blocking. Closing it is no answer, and Enter loses nothing."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget

from desktop_agent.ui.widgets.labels import restyle


class Question(QMessageBox):
    def __init__(self, parent: QWidget, name: str, title: str, text: str, more: str = "") -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setWindowTitle(title)
        self.setTextFormat(Qt.TextFormat.PlainText)  # names may look like markup
        self.setText(text)
        self.setInformativeText(more)
        self._answers: list[tuple[QPushButton, Callable[[], object]]] = []
        self.finished.connect(self._on_finished)

    def add_answer(self, words: str, name: str, then: Callable[[], object], *, takes_most: bool = False) -> QPushButton:
        """`takes_most` marks the destructive answer."""
        role = QMessageBox.ButtonRole.DestructiveRole if takes_most else QMessageBox.ButtonRole.AcceptRole
        button = self.addButton(words, role)
        button.setObjectName(name)
        if takes_most:
            restyle(button, "variant", "destructive")  # the box has already styled it
        self._answers.append((button, then))
        return button

    def ask(self, default: QPushButton | None = None) -> None:
        cancel = self.addButton(self.tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        self.setDefaultButton(default or cancel)
        self.setEscapeButton(cancel)
        self.open()

    def _on_finished(self) -> None:
        pressed = self.clickedButton()
        self.deleteLater()
        for button, then in self._answers:
            if button is pressed:
                then()
