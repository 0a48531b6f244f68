"""A bar above a searched view, with the number of the current match and buttons to step through the matches."""

from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from desktop_agent.ui.part_keys import claims_key
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import compact_button, make_line
from desktop_agent.ui.widgets.labels import make_label


class FindTarget(QObject):
    """Finds text in a view."""

    found = Signal(int, int)  # the number of the current match, from 1 (0: none), and the number of matches so far

    @property
    def has_unread(self) -> bool:
        """Whether there may be more matches in what was not searched yet."""
        return False

    def find(self, text: str) -> None:
        """Mark the matches of `text` and go to one of them; an empty text removes all marks."""
        raise NotImplementedError

    def step(self, by: int) -> None:
        raise NotImplementedError


class InputBar(QFrame):
    """A bar with a text field. Escape closes the bar and focuses `view`; subclasses handle Enter."""

    def __init__(self, view: QWidget, name: str, field_name: str, words: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setProperty("role", "bar")
        self._view = view
        self._field = make_line(field_name, words, parent=self)
        self.hide()

    def close_bar(self) -> None:
        self.hide()
        self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _open(self) -> None:
        self.show()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()

    def _on_enter(self, *, is_back: bool) -> None:
        raise NotImplementedError

    def event(self, event: QEvent) -> bool:
        return claims_key(event, lambda key: key.key() == Qt.Key.Key_Escape) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._on_enter(is_back=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        else:
            super().keyPressEvent(event)


class FindBar(InputBar):
    def __init__(
        self,
        finder: FindTarget,
        view: QWidget,
        words: str,
        *,
        name: str,
        field_name: str = "findField",
        placeholder: str = "",
    ) -> None:
        """`words` names the text."""
        super().__init__(view, name, field_name, words)
        self._finder = finder
        self._field.setPlaceholderText(placeholder or words)
        self._field.textChanged.connect(finder.find)
        self._count = make_label(role="secondary", parent=self)
        finder.found.connect(self._show_count)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.M, Space.XS, Space.M, Space.XS)
        layout.addWidget(self._field, 1)
        layout.addWidget(self._count)
        for text, said, slot in (
            ("↑", self.tr("Previous match"), partial(finder.step, -1)),
            ("↓", self.tr("Next match"), partial(finder.step, 1)),
            ("✕", self.tr("Close"), self.close_bar),
        ):
            layout.addWidget(
                compact_button(text, accessible_name=said, tooltip=said, clicked=slot, variant="flat", parent=self)
            )

    def open_bar(self) -> None:
        self._open()
        self._finder.find(self._field.text())

    def close_bar(self) -> None:
        self._finder.find("")
        super().close_bar()

    def _on_enter(self, *, is_back: bool) -> None:
        self._finder.step(-1 if is_back else 1)

    def _show_count(self, number: int, count: int) -> None:
        if not self._field.text():
            self._count.clear()
        elif count:
            # Pages that are not loaded have more matches. Their number is unknown.
            pattern = self.tr("{0} of {1}+") if self._finder.has_unread else self.tr("{0} of {1}")
            self._count.setText(pattern.format(number, count))
        elif self._finder.has_unread:
            self._count.setText(self.tr("Looking…"))
        else:
            self._count.setText(self.tr("Nothing found"))
