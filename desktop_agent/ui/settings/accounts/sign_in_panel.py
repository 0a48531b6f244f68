"""Signing in and out in the settings: what a provider offers for that, and the wait for the browser."""

from typing import assert_never

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import SignInWay, vendor_of
from desktop_agent.ui.connecting.browser_wait import BrowserWait
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.parts import note, say
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox


class SignInPanel(QWidget):
    """Offers the sign-in of one provider; hidden where there is none.

    Signals:
        grown: it has more to show.
    """

    grown = Signal()

    def __init__(self, actions: SettingsActions) -> None:
        super().__init__()
        self._actions = actions
        self._way: SignInWay | None = None
        self._account: Account | None = None
        self._sign_in = make_button(object_name="accountSignInButton", clicked=self._on_sign_in)
        self._check = make_button(self.tr("Check the sign-in"), object_name="checkSignInButton", clicked=self._on_check)
        self._cancel = make_button(self.tr("Cancel"), object_name="cancelSignInButton", clicked=self._on_cancel)
        self._wait = BrowserWait()
        self._result = note("")
        self._result.setObjectName("signInNote")
        row = hbox(self._sign_in, self._check, self._cancel, STRETCH, spacing=Space.S)
        vbox(row, self._wait, self._result, on=self, spacing=Space.S)
        self._end_wait()
        self._result.hide()
        self.hide()

    def show_account(self, provider: str, account: Account | None) -> None:
        """Offer what this provider has, for the account that is chosen there."""
        way = vendor_of(provider).sign_in
        if way != self._way:
            self._result.hide()
        self._way, self._account = way, account
        self.setVisible(way is not None)
        if way is not None:
            self._sign_in.setText(self.tr("Sign in again…") if self._is_signed_in else _offer(way))
            self._check.setVisible(self._is_signed_in and self._cancel.isHidden())

    def show_busy(self, words: str) -> None:
        """Show that a sign-in is under way; it can be given up."""
        self._sign_in.hide()
        self._check.hide()
        self._cancel.show()
        self._cancel.setFocus(Qt.FocusReason.OtherFocusReason)
        self._say(words)

    def show_waiting(self, address: str, *, is_open: bool) -> None:
        """Show that the browser is waited for, and where the sign-in goes on."""
        self._wait.show_address(address, is_open=is_open)
        self._wait.show()
        self._result.hide()
        self.grown.emit()

    def show_result(self, words: str, *, is_good: bool) -> None:
        """Show what came of it."""
        self._end_wait()
        self._say(words, "good" if is_good else "error")

    @property
    def _is_signed_in(self) -> bool:
        return self._account is not None and self._account.kind in ("oauth", "profile")

    def _say(self, words: str, role: str = "secondary") -> None:
        say(self._result, words, role)
        self._result.show()
        self.grown.emit()

    def _end_wait(self) -> None:
        had_focus = self._cancel.hasFocus()
        self._wait.hide()
        self._cancel.hide()
        self._sign_in.show()
        self._check.setVisible(self._is_signed_in)
        if had_focus:
            self._sign_in.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_sign_in(self) -> None:
        if self._way is not None:
            again = self._account.name if self._is_signed_in and self._account is not None else ""
            self._actions.sign_in(self._way, again)

    def _on_check(self) -> None:
        if self._account is not None:
            self._actions.check_sign_in(self._account)

    def _on_cancel(self) -> None:
        self._actions.cancel_sign_in()
        self._end_wait()
        self._result.hide()


def _offer(way: SignInWay) -> str:
    match way:
        case "chatgpt":
            return _tr("Sign in with ChatGPT…")
        case "openrouter":
            return _tr("Sign in with OpenRouter…")
        case "profile":
            return _tr("Use a profile of Anthropic's tools")
        case _:
            assert_never(way)


def _tr(text: str) -> str:
    return QCoreApplication.translate("SignInPanel", text)
