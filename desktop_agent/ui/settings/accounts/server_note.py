"""Whether the server of an account on this machine runs, and what to do when it does not."""

from PySide6.QtWidgets import QWidget

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import LocalServer, vendor_of
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.parts import note, say
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import hbox


class ServerNote(QWidget):
    """Says it of one account. It shows itself when something was found, which an address elsewhere never is."""

    def __init__(self, actions: SettingsActions) -> None:
        super().__init__()
        self._actions = actions
        self._account: Account | None = None
        self._address = ""
        self._words = note("")
        self._words.setObjectName("localServerNote")
        self._again = make_button(self.tr("Look again"), object_name="lookAgainButton", clicked=self._on_look)
        hbox((self._words, 1), self._again, on=self, spacing=Space.S)
        self.hide()

    def show_account(self, account: Account | None, address: str) -> None:
        """Ask what runs at the address of this account, if it has a server of this machine and is another one."""
        if (account, address) == (self._account, self._address):
            return
        self._account, self._address = account, address
        self.hide()
        if account is not None and vendor_of(account.provider).is_local:
            self._actions.look_for_server(account)

    def show_server(self, account: Account, server: LocalServer) -> None:
        """Show what was found there; nothing, when another account is shown by now."""
        if account != self._account:
            return
        say(self._words, server.words, "good" if server.is_usable else "warning")
        self._again.setEnabled(True)
        self.show()

    def _on_look(self) -> None:
        if self._account is not None:
            self._again.setEnabled(False)
            say(self._words, self.tr("Looking…"))
            self._actions.look_for_server(self._account)
