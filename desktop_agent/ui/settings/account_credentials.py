"""The key of an account, or its sign-in, and what can be done with it.

A key is in the field only while it is typed. It goes out by signal, into no tooltip, title, setting or log, and the
field forgets it, its undo history included, as soon as it was saved or the dialog is closed.
"""

from functools import partial
from typing import Literal

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import SignInWay, vendor_of
from desktop_agent.ui.settings.page_parts import Removal
from desktop_agent.ui.settings.settings_view import SettingsActions
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.account_fields import ApiKeyField, BrowserWait
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import Note, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox

_tr = partial(QCoreApplication.translate, "SignInPanel")


class KeyStatus(Struct, frozen=True, kw_only=True):
    """Where the key of an account comes from; never the key itself.

    `place` is the name of the environment variable, or of the keyring. `problem` says in words why the keyring cannot
    be used; a key is then used in this run only.
    """

    source: Literal["environment", "keyring", "run"] | None = None
    place: str = ""
    problem: str = ""


class KeyEditor(QWidget):
    """Save, check and remove the key of one account."""

    def __init__(self, account: Account, actions: SettingsActions) -> None:
        super().__init__()
        self._actions = actions
        self.account = account
        self._status: KeyStatus | None = None
        self._is_busy = False
        self._pressed: QPushButton | None = None
        """The button that started the work, if it had the focus."""
        self.field = ApiKeyField()
        self._save = make_button(self.tr("Save key"), object_name="saveKeyButton", clicked=self._on_save)
        self._check = make_button(self.tr("Check key"), object_name="checkKeyButton", clicked=self._on_check)
        remove = make_button(self.tr("Remove key"), object_name="removeKeyButton", variant="destructive")
        confirm = make_button(
            self.tr("Remove permanently"),
            object_name="reallyRemoveKeyButton",
            clicked=self.field.take_focus,  # before it is hidden: else the focus wanders, and the page scrolls after it
            variant="destructive",
        )
        self._removal = removal = Removal(
            remove, confirm, "keepKeyButton", remove=self._on_removed, changed=self._update
        )
        self._where = Note("")
        self._result = Note("")
        heading = make_label(self.tr("API key"), role="strong")
        entry = hbox((self.field, 1), self._save, spacing=Space.S)
        deeds = hbox(self._check, remove, confirm, removal.keep, STRETCH, spacing=Space.S)
        vbox(heading, self._where, entry, deeds, self._result, on=self, spacing=Space.S)
        self.field.changed.connect(self._update)
        self.field.confirmed.connect(self._on_save)
        self._removal.ask(is_asking=False)

    def show_account(self, account: Account) -> None:
        if account != self.account:
            self.field.forget()
            self._result.say("")
            self._where.say("")
            self.account, self._status, self._is_busy = account, None, False
            self._removal.ask(is_asking=False)
            self._actions.show_key(account)

    def show_status(self, status: KeyStatus) -> None:
        self._status = status
        self._where.say(self._words_for(status), "error" if status.problem and status.source is None else "secondary")
        self._removal.ask(is_asking=False)
        self._update()

    def show_busy(self, message: str) -> None:
        if not self._is_busy:
            focused = self.focusWidget()
            self._pressed = focused if isinstance(focused, QPushButton) and focused.hasFocus() else None
        if self._pressed is not None:
            self.field.take_focus()  # what was pressed is disabled now, and the keyboard would go to another setting
        self._is_busy = True
        self._result.say(message)
        self._update()

    def show_result(self, message: str, *, is_good: bool) -> None:
        self._is_busy = False
        self._result.say(message, "good" if is_good else "error")
        self._update()
        pressed, self._pressed = self._pressed, None
        if pressed is not None and self.field.has_keyboard and pressed.isVisible() and pressed.isEnabled():
            pressed.setFocus(Qt.FocusReason.OtherFocusReason)

    def offer(self, key: str) -> None:
        self.field.offer(key)
        self._result.say(self.tr("You pasted what looks like an API key. It was put here, and nowhere else."))
        self._update()

    def _words_for(self, status: KeyStatus) -> str:
        match status.source:
            case "environment":
                return self.tr(
                    "In use: the key from the environment variable {0}. It takes precedence over a saved one."
                ).format(status.place)
            case "keyring":
                return self.tr("In use: the key kept in the system keyring ({0}).").format(status.place)
            case "run":
                return self.tr("In use: a key for this run only. It is not saved.")
            case None if status.problem:
                return status.problem
            case None if self.account.kind == "none":
                return self.tr("No key is needed. One that you save is sent, and kept in the system keyring.")
            case None:
                kept = self.tr("There is no key yet. It will be kept in the system keyring, never in a file.")
                page = vendor_of(self.account.provider).keys_page
                return f"{kept} {self.tr('Create a key at {0}').format(page)}" if page else kept

    def _can_save(self) -> bool:
        return bool(self.field.text) and not self._is_busy and self._status is not None

    def _update(self) -> None:
        source = self._status.source if self._status is not None else None
        self._save.setEnabled(self._can_save())
        can_check = bool(self.field.text) or source is not None or self.account.kind == "none"
        self._check.setEnabled(not self._is_busy and can_check)
        self._check.setText(self.tr("Check key") if self.account.kind == "key" else self.tr("Check the server"))
        self._removal.button.setEnabled(not self._is_busy)
        self._removal.button.setVisible(source == "keyring" and not self._removal.is_asking)
        self._result.setVisible(bool(self._result.text()))

    def _on_save(self) -> None:
        if not self._can_save():
            return
        key = self.field.text
        self.field.forget()
        self._actions.save_key(self.account, key)

    def _on_check(self) -> None:
        self._actions.check_key(self.account, self.field.text)

    def _on_removed(self) -> None:
        self._actions.remove_key(self.account)


class SignInPanel(QWidget):
    """The sign-in of one provider; hidden if there is none."""

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
        self._result = Note("", object_name="signInNote")
        row = hbox(self._sign_in, self._check, self._cancel, STRETCH, spacing=Space.S)
        vbox(row, self._wait, self._result, on=self, spacing=Space.S)
        self._end_wait()
        self._result.hide()
        self.hide()

    def show_account(self, provider: str, account: Account | None) -> None:
        way = vendor_of(provider).sign_in
        if way != self._way:
            self._result.hide()
        self._way, self._account = way, account
        self.setVisible(way is not None)
        if way is not None:
            self._sign_in.setText(self.tr("Sign in again…") if self._is_signed_in else _offer(way))
            self._check.setVisible(self._is_signed_in and self._cancel.isHidden())

    def show_busy(self, words: str) -> None:
        self._sign_in.hide()
        self._check.hide()
        self._cancel.show()
        self._cancel.setFocus(Qt.FocusReason.OtherFocusReason)
        self._say(words)

    def show_waiting(self, address: str, *, is_open: bool) -> None:
        self._wait.show_address(address, is_open=is_open)
        self._wait.show()
        self._result.hide()
        self.grown.emit()

    def show_result(self, words: str, *, is_good: bool) -> None:
        self._end_wait()
        self._say(words, "good" if is_good else "error")

    @property
    def _is_signed_in(self) -> bool:
        return self._account is not None and self._account.kind in ("oauth", "profile")

    def _say(self, words: str, role: str = "secondary") -> None:
        self._result.say(words, role)
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
    words: dict[SignInWay, str] = {
        "chatgpt": _tr("Sign in with ChatGPT…"),
        "openrouter": _tr("Sign in with OpenRouter…"),
        "profile": _tr("Use a profile of Anthropic's tools"),
    }
    return words[way]
