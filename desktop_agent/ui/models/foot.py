"""The line below the list: how old what it shows is, and the button that asks for it anew."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import ElidedLabel
from desktop_agent.ui.widgets.layouts import STRETCH, hbox


class PickerFoot(QWidget):
    """Says how old the list of one account is.

    Signals:
        refresh_requested: the lists of all accounts shall be asked for.
    """

    refresh_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._age = ElidedLabel()
        self._age.setObjectName("modelListAge")
        self._age.setProperty("role", "secondary")
        self._refresh = make_button(
            object_name="refreshModelsButton", clicked=self.refresh_requested, variant="flat", is_compact=True
        )
        hbox(self._age, STRETCH, self._refresh, on=self, margins=(Space.S, 0, 0, 0), spacing=Space.S)
        self.show_state("", is_refreshing=False, can_refresh=False)

    def show_state(self, age: str, *, is_refreshing: bool, can_refresh: bool) -> None:
        """Show an age, and whether lists are being asked for, or can be."""
        self._age.setText(age)
        self._refresh.setText(self.tr("Refreshing…") if is_refreshing else self.tr("Refresh list"))
        self._refresh.setVisible(can_refresh)
        self._refresh.setEnabled(not is_refreshing)
