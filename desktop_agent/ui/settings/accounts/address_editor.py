"""The field for the address of a provider, with what it is for, and a warning where anyone on the way could read."""

from PySide6.QtWidgets import QLineEdit, QWidget

from desktop_agent.core.base.web_address import is_readable_on_the_way, why_no_address
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import known_vendor
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.parts import note, say
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.layouts import vbox


class AddressEditor(QWidget):
    """Changes the address of the settings; that of an account with a name is only shown, as it keeps its own."""

    def __init__(self, actions: SettingsActions, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions = actions
        self._known = ""
        """The address of the settings, when it was shown or changed last."""
        self._line = QLineEdit()
        self._line.setObjectName("baseUrlEdit")
        self._line.setAccessibleName(self.tr("Address"))
        self._note = note("")
        self._readable = note(
            self.tr("Not encrypted: anyone on the way can read the key and the conversation."), "warning"
        )
        self._readable.hide()
        vbox(self._line, self._note, self._readable, on=self, spacing=Space.S)
        self._line.editingFinished.connect(self._on_edited)
        self._line.textChanged.connect(self._update_warning)

    @property
    def text(self) -> str:
        """What is written in the field; empty for the provider's own address."""
        return self._line.text()

    def show_address(self, view: SettingsView, account: Account | None) -> None:
        """Show where requests of this account go. Changes nothing."""
        vendor = known_vendor(view.settings.model.provider)
        is_usual = account is None or account.is_usual
        self._known = view.settings.model.base_url
        self._line.setPlaceholderText(vendor.address if vendor is not None else "")
        self._line.setText(self._known if account is None or is_usual else account.where)
        self._line.setReadOnly(not is_usual)
        self._line.setEnabled(is_usual and not view.variable_of("model.base_url"))
        if is_usual:
            say(self._note, self.tr("Only for a gateway or proxy; empty means the provider's own."))
        else:
            say(self._note, self.tr("The account's own. To have another, add another account."))
        self._update_warning()

    def _update_warning(self) -> None:
        address = self._line.text().strip()
        self._readable.setVisible(not why_no_address(address) and is_readable_on_the_way(address))

    def _on_edited(self) -> None:
        address = self._line.text().strip()
        if self._line.isReadOnly() or address == self._known:
            return
        self._known = address
        if address and (reason := why_no_address(address)):
            say(self._note, self.tr("This address cannot be used: {0}.").format(reason), "error")
        else:
            self._actions.change("model.base_url", address)
