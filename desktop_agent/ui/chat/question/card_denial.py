"""A no with a reason: the field for it, and the buttons that send it or go back."""

from PySide6.QtCore import QObject, QRect
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import flow

DENIAL = "denial"
"""Names the reason among the drafts that are kept when the card goes out of sight."""

_FIELD_HEIGHT = 30


class CardDenial(QObject):
    """What stands in the place of the answers once the user wants to deny. `deny` and `back` are its buttons."""

    def __init__(self, drafts: dict[str, str], card: QWidget) -> None:
        super().__init__(card)
        self._drafts = drafts
        self.field = QLineEdit(drafts.get(DENIAL, ""), card)
        self.field.setPlaceholderText(self.tr("Reason for the agent (optional)"))
        self.field.setAccessibleName(self.tr("Message to the agent"))
        self.field.textChanged.connect(self._on_text_changed)
        self.deny = make_button(self.tr("Deny"), variant="destructive", parent=card)
        self.back = make_button(self.tr("Back"), variant="flat", parent=card)
        self._show()

    @property
    def is_open(self) -> bool:
        """Whether the user is asked for a reason."""
        return DENIAL in self._drafts

    @property
    def message(self) -> str:
        """What the agent is to read."""
        return self.field.text().strip()

    def open(self) -> None:
        """Ask for a reason."""
        self._drafts.setdefault(DENIAL, "")
        self._show()
        self.field.setFocus()

    def close(self) -> None:
        """Do not deny after all."""
        self._drafts.pop(DENIAL, None)
        self._show()

    def stop(self) -> None:
        """Take no more answers."""
        for control in (self.field, self.deny):
            control.setEnabled(False)

    def place(self, x: int, y: int, width: int) -> int:
        """Stand at this point, this wide; return where it ends."""
        self.field.setGeometry(x, y, width, _FIELD_HEIGHT)
        y += _FIELD_HEIGHT + Space.S
        return y + flow([self.deny, self.back], QRect(x, y, width, 0))

    def _show(self) -> None:
        for widget in (self.field, self.deny, self.back):
            widget.setVisible(self.is_open)

    def _on_text_changed(self, text: str) -> None:
        self._drafts[DENIAL] = text
