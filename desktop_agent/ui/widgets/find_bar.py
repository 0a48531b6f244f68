"""A bar above what is searched, with the number of the match and the way to the next."""

from typing import Protocol

from PySide6.QtCore import Qt, SignalInstance
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label


class FindTarget(Protocol):
    """Searches what is shown."""

    @property
    def has_unread(self) -> bool: ...

    def find(self, text: str, /) -> None:
        """Mark where `text` occurs, and go to one place; nothing is marked of an empty one."""
        ...

    def step(self, by: int, /) -> None:
        """Go on by so many places, round the end."""
        ...


class FindBar(QFrame):
    """Searches with `finder` while one types. Enter goes on, Shift+Enter back, Escape closes and goes to `view`."""

    def __init__(self, finder: FindTarget, found: SignalInstance, view: QWidget, words: str, *, name: str) -> None:
        """`found` tells the number of the current match, from 1, and how many there are; `words` what is searched."""
        super().__init__()
        self.setObjectName(name)
        self.setProperty("role", "bar")
        self._finder = finder
        self._view = view
        self._field = QLineEdit(self)
        self._field.setObjectName("findField")
        self._field.setAccessibleName(words)
        self._field.setPlaceholderText(words)
        self._field.textChanged.connect(finder.find)
        self._count = make_label(role="secondary", parent=self)
        found.connect(self._show_count)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.M, Space.XS, Space.M, Space.XS)
        layout.addWidget(self._field, 1)
        layout.addWidget(self._count)
        for text, name, slot in (
            ("↑", self.tr("Previous match"), self._on_previous),
            ("↓", self.tr("Next match"), self._on_next),
            ("✕", self.tr("Close"), self.close_bar),
        ):
            button = make_button(text, clicked=slot, variant="flat", accessible_name=name, parent=self, is_compact=True)
            button.setToolTip(name)
            layout.addWidget(button)
        self.hide()

    def open_bar(self) -> None:
        self.show()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()
        self._finder.find(self._field.text())

    def close_bar(self) -> None:
        self.hide()
        self._finder.find("")
        self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_next(self) -> None:
        self._finder.step(1)

    def _on_previous(self) -> None:
        self._finder.step(-1)

    def _show_count(self, number: int, count: int) -> None:
        if not self._field.text():
            self._count.clear()
        elif count:
            # Pages that are not loaded have more; how many is known when one gets there.
            pattern = self.tr("{0} of {1}+") if self._finder.has_unread else self.tr("{0} of {1}")
            self._count.setText(pattern.format(number, count))
        elif self._finder.has_unread:
            self._count.setText(self.tr("Looking…"))
        else:
            self._count.setText(self.tr("Nothing found"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            is_back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._finder.step(-1 if is_back else 1)
        else:
            super().keyPressEvent(event)
