"""What can be done with a tool call: the buttons at the right end of its card's line."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.tool_body import entry_of
from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.wording.tooltips import plain_tooltip


class CallButtons(QObject):
    """Stop while the call runs, afterwards what it changed, and what can be put back."""

    def __init__(self, card: EntryWidget) -> None:
        super().__init__(card)
        self._row = card.row
        self._line_height = card.styles.card_line
        self._actions = card.entry_actions
        stop, change = self.tr("Stop this turn"), self.tr("Show change")
        self._stop = make_button(
            self.tr("Stop"), clicked=self._actions.stop_requested, accessible_name=stop, parent=card, is_compact=True
        )
        self._change = make_button(
            self.tr("Show change ▸"),
            clicked=self._on_change,
            variant="flat",
            accessible_name=change,
            parent=card,
            is_compact=True,
        )
        self._recover = make_button(
            self.tr("Recover"), object_name="recoverButton", clicked=self._on_recover, parent=card, is_compact=True
        )
        for button in self.tab_stops():
            button.hide()

    def show(self, entry: ToolEntry, *, is_running: bool, is_asked_about: bool) -> None:
        """Offer what can be done now."""
        self._stop.setVisible(is_running)
        self._change.setVisible(bool(entry.changes) and not is_asked_about)
        what = entry_words.recovery(entry)
        self._recover.setVisible(bool(what) and not is_asked_about)
        self._recover.setToolTip(plain_tooltip(what))
        self._recover.setAccessibleDescription(what)
        self._recover.setAccessibleName(self.tr("Recover. {what}").format(what=what) if what else self.tr("Recover"))

    def place(self, width: int) -> int:
        """Stand at the right end of a line this wide; return how much of it they take."""
        right = width - Space.S
        for button in (self._stop, self._change, self._recover):
            if not button.isHidden():
                size = button.sizeHint()
                button.setGeometry(
                    right - size.width(),
                    (self._line_height - size.height()) // 2,
                    size.width(),
                    size.height(),
                )
                button.raise_()
                right -= size.width()
        taken = width - Space.S - right
        return taken + Space.XS if taken else 0

    def tab_stops(self) -> list[QWidget]:
        """Return them in the order of reading."""
        return [self._stop, self._recover, self._change]

    def _on_change(self) -> None:
        self._actions.changes_requested.emit(entry_of(self._row).call.id)

    def _on_recover(self) -> None:
        self._actions.recover_requested.emit(entry_of(self._row).call.id)
