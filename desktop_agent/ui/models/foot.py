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
        self.show_state("", asked=0, done=0)

    def show_state(self, words: str, *, asked: int, done: int) -> None:
        """Show words about the list, and how many of the lists that can be asked for are there; with all, ask again."""
        self._age.setText(words)
        is_refreshing = done < asked
        progress = self.tr("Refreshing… {0} of {1}").format(done, asked)
        self._refresh.setText(progress if is_refreshing else self.tr("Refresh list"))
        self._refresh.setVisible(asked > 0)
        self._refresh.setEnabled(not is_refreshing)
