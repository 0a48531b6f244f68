"""What an empty conversation shows: what to do next, with examples to begin with."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.labels import make_label

_MAX_WIDTH = 420


class EmptyState(QWidget):
    """A calm invitation."""

    def __init__(self, actions: EntryActions, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions = actions
        hint = self.tr("Ask a question about this folder, or ask for a change. You see every step and can undo it.")
        self._title = make_label(self.tr("What shall we work on?"), role="title", parent=self)
        self._hint = make_label(hint, role="secondary", parent=self, wraps=True)
        for words in (self._title, self._hint):
            words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._buttons: list[QPushButton] = []
        self.set_examples(
            (
                self.tr("Explain how this project is put together"),
                self.tr("Find a bug and fix it, with a test"),
                self.tr("Write a README for this folder"),
            )
        )

    def set_examples(self, examples: Sequence[str]) -> None:
        """Offer these prompts."""
        for button in self._buttons:
            button.deleteLater()
        self._buttons = [QPushButton(example, self) for example in examples]
        for button in self._buttons:
            button.clicked.connect(self._on_clicked)
            button.show()
        self._arrange()

    def _arrange(self) -> None:
        """Stand in the middle, a little above it."""
        width = min(_MAX_WIDTH, self.width() - 2 * Space.L)
        hint_height = self._hint.heightForWidth(width)
        title_height = self._title.sizeHint().height()
        buttons = sum(button.sizeHint().height() + Space.S for button in self._buttons)
        total = title_height + Space.S + hint_height + Space.XL + buttons
        x, y = (self.width() - width) // 2, max(Space.M, (self.height() - total) * 2 // 5)
        self._title.setGeometry(x, y, width, title_height)
        y += title_height + Space.S
        self._hint.setGeometry(x, y, width, hint_height)
        y += hint_height + Space.XL
        for button in self._buttons:
            size = button.sizeHint()
            shown = min(size.width(), self.width() - 2 * Space.L)
            button.setGeometry((self.width() - shown) // 2, y, shown, size.height())
            y += size.height() + Space.S

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _on_clicked(self) -> None:
        button = self.sender()
        if isinstance(button, QPushButton):
            self._actions.example_chosen.emit(button.text())
