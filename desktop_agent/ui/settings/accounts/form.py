"""The form for a new account: what it is called, where its key goes, and how that travels."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.ui.connecting.account_fields import AccountFields
from desktop_agent.ui.settings.parts import form, name_of, note, say
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox


class AccountForm(QWidget):
    """Asks for a new account of one provider.

    Signals:
        added: the user wants this account, which can be used as it is.
        cancelled: the user wants none.
    """

    added = Signal(object)
    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._provider = ""
        self._others: tuple[Account, ...] = ()
        self._title = make_label("", role="strong")
        self._fields = AccountFields("accountNameEdit", "accountAddressEdit")
        self._problem = note("", "error")
        self._problem.hide()
        self._lay_out()
        self._fields.confirmed.connect(self._on_add)
        self._fields.changed.connect(self._problem.hide)

    def begin(self, provider: str, others: Sequence[Account]) -> None:
        """Ask for an account of this provider beside the others that it has."""
        self._provider, self._others = provider, tuple(others)
        vendor = vendor_of(provider)
        self._title.setText(self.tr("New account of {0}").format(vendor.label))
        self._fields.begin(vendor)
        self._problem.hide()
        self.show()
        self._fields.name.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Escape close the form, not the dialog around it."""
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    def _lay_out(self) -> None:
        fields = form()
        fields.addRow(name_of(self.tr("Name")), self._fields.name)
        fields.addRow(name_of(self.tr("Address")), self._fields.address)
        fields.addRow(name_of(""), note(self.tr("Its key is sent to this address only. Empty: the provider's own.")))
        fields.addRow(name_of(self.tr("Key sent as")), self._fields.header)
        add = make_button(self.tr("Add account"), object_name="addAccountButton", clicked=self._on_add)
        cancel = make_button(self.tr("Cancel"), object_name="cancelAccountButton", clicked=self.cancelled.emit)
        buttons = hbox(name_of(""), add, cancel, STRETCH, spacing=Space.S)
        vbox(self._title, fields, self._problem, buttons, on=self, spacing=Space.M)

    def _on_add(self) -> None:
        account = self._fields.account(self._provider)
        if problem := self._fields.why_not(account, self._others):
            say(self._problem, problem, "error")
            self._problem.show()
            return
        self.added.emit(account)
