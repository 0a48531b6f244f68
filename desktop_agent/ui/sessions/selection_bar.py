"""What can be done with all selected sessions, below the list while there are any."""

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.ui.sessions.menu import SessionAction
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox


class SelectionBar(QWidget):
    """How many are selected, and buttons for all of them.

    Signals:
        action_requested: do this with them: one of `menu.SESSION_ACTIONS`.
        cleared: select none.
    """

    action_requested = Signal(str)
    cleared = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("selectionBar")
        self.setAccessibleName(self.tr("Selected sessions"))
        self._count = make_label(role="secondary")
        clear = make_button(self.tr("Clear"), clicked=self.cleared, variant="flat", is_compact=True)
        clear.setObjectName("clearSelectionButton")
        self._pin = self._button("pin", self.tr("Pin"))
        self._archive = self._button("archive", self.tr("Archive"))
        delete = self._button("delete", self.tr("Delete…"))
        vbox(
            hbox(self._count, STRETCH, clear, spacing=Space.XS),
            hbox(self._pin, self._archive, delete, STRETCH, spacing=Space.XS),
            on=self,
            margins=(Space.S, Space.XS, 0, Space.S),
            spacing=Space.XS,
        )
        self.hide()

    def show_for(self, count: int, *, all_pinned: bool, all_archived: bool) -> None:
        """Offer what can be done with `count` sessions; nothing is shown without any."""
        self._count.setText(plural("SelectionBar", count, "%n selected", "%n selected"))
        self._pin.setText(self.tr("Unpin") if all_pinned else self.tr("Pin"))
        self._pin.setProperty("action", "unpin" if all_pinned else "pin")
        self._archive.setText(self.tr("Take back") if all_archived else self.tr("Archive"))
        self._archive.setProperty("action", "unarchive" if all_archived else "archive")
        self.setVisible(count > 0)

    @property
    def actions_offered(self) -> tuple[SessionAction, ...]:
        """What can be done with all of them at the moment."""
        return (self._pin.property("action"), self._archive.property("action"), "delete")

    def _button(self, action: SessionAction, text: str) -> QPushButton:
        button = make_button(text, object_name=f"{action}SelectedButton", is_compact=True)
        button.setProperty("action", action)
        button.clicked.connect(partial(self._on_clicked, button))
        return button

    def _on_clicked(self, button: QPushButton) -> None:
        self.action_requested.emit(button.property("action"))
