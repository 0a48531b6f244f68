"""The wait for a sign-in with an MCP server, on its card."""

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from desktop_agent.ui.connecting.browser_wait import BrowserWait
from desktop_agent.ui.settings.parts import note
from desktop_agent.ui.settings.servers.view import SignInProgress
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox


class SignInWait(QWidget):
    """Shows how far it is, and lets it be given up."""

    def __init__(self, server: str, cancel: Callable[[], None]) -> None:
        super().__init__()
        self._preparing = note(self.tr("Preparing the sign-in…"))
        self._wait = BrowserWait()
        stop = make_button(
            self.tr("Cancel"),
            object_name="cancelServerSignInButton",
            accessible_name=self.tr("Cancel the sign-in with {0}").format(server),
            clicked=cancel,
            is_compact=True,
        )
        vbox(self._preparing, self._wait, hbox(stop, STRETCH), on=self, spacing=Space.S, margins=(0, Space.S, 0, 0))

    def show_progress(self, progress: SignInProgress) -> None:
        """Show that it is prepared, or that the browser is waited for."""
        self._preparing.setVisible(not progress.address)
        self._wait.setVisible(bool(progress.address))
        if progress.address:
            self._wait.show_address(progress.address, is_open=progress.is_open)
