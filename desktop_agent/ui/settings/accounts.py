"""The accounts of a provider: the account in use, its key or sign-in, and the form for a new account.

A key is in its field only while it is typed. It is passed on only by signal, never into a tooltip, title, setting or
log. The field forgets the key and its undo history once the key is saved or the dialog is closed.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.models.account import Account, is_same_name, usual_account
from desktop_agent.core.models.vendors import SignInWay, vendor_of
from desktop_agent.core.settings.model_choice import Destination
from desktop_agent.ui.settings.page_parts import AddingForm, Removal, field_row
from desktop_agent.ui.settings.settings_view import AccountsView, SettingsActions, SettingsView
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.account_fields import AccountFields, ApiKeyField, BrowserWait, CloudFields
from desktop_agent.ui.widgets.buttons import Picker, make_button
from desktop_agent.ui.widgets.labels import Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox

_sign_in_tr = partial(QCoreApplication.translate, "SignInPanel")


class KeyStatus(Struct, frozen=True, kw_only=True):
    """The source of a key, never the key itself. `place` names the variable or the keyring."""

    source: Literal["environment", "keyring", "run"] | None = None
    place: str = ""
    problem: str = ""


class KeyEditor(QWidget):
    def __init__(self, account: Account, actions: SettingsActions, parent: QWidget) -> None:
        super().__init__(parent)
        self.hide()  # until its provider is chosen
        self._actions = actions
        self.account = account
        self._status: KeyStatus | None = None
        self._is_busy = False
        self._pressed: QPushButton | None = None
        self.field = ApiKeyField()
        self._save = make_button(self.tr("Save key"), "saveKeyButton", clicked=self._on_save)
        self._check = make_button(self.tr("Check key"), "checkKeyButton", clicked=self._on_check)
        self._removal = Removal(
            "removeKeyButton",
            "reallyRemoveKeyButton",
            "keepKeyButton",
            (self.tr("Remove key"), self.tr("Remove permanently")),
            remove=self._on_removed,
            changed=self._update,
            home=self.field,
        )
        self._where = Note("")
        self._result = Note("")
        entry = hbox((self.field, 1), self._save, spacing=Space.S)
        deeds = hbox(self._check, *self._removal.parts, STRETCH, spacing=Space.S)
        field_row(self.tr("API key"), entry, self._where, deeds, self._result, on=self)
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
            self.field.take_focus()  # the pressed button is disabled now, and the focus would move to another setting
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
                return f"{status.problem} {self.tr('A key that you enter here is used until you quit.')}"
            case None if self.account.kind == "none":
                return self.tr(
                    "No key is needed. If you save one, it is sent with each request, and kept in the system keyring."
                )
            case None:
                kept = self.tr("There is no key yet. It will be kept in the system keyring, never in a file.")
                page = vendor_of(self.account.provider).keys_page
                return f"{kept} {self.tr('Create a key at {0}').format(page)}" if page else kept

    def _can_save(self) -> bool:
        return bool(self.field.text) and not self._is_busy and self._status is not None

    def _update(self) -> None:
        source = self._status.source if self._status is not None else None
        self._save.setEnabled(self._can_save())
        is_for_now = self._status is not None and bool(self._status.problem)
        self._save.setText(self.tr("Use until I quit") if is_for_now else self.tr("Save key"))
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
    grown = Signal()

    def __init__(self, actions: SettingsActions, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions = actions
        self._way: SignInWay | None = None
        self._account: Account | None = None
        self._is_cloud = False
        self._sign_in = make_button(object_name="accountSignInButton", clicked=self._on_sign_in)
        self._check = make_button(object_name="checkSignInButton", clicked=self._on_check)
        self._cancel = make_button(self.tr("Cancel"), "cancelSignInButton", clicked=self._on_cancel)
        self._wait = BrowserWait()
        self._result = Note("", object_name="signInNote")
        row = hbox(self._sign_in, self._check, self._cancel, STRETCH, spacing=Space.S)
        field_row(self.tr("Sign-in"), row, self._wait, self._result, on=self)
        self._end_wait()
        self._result.hide()
        self.hide()

    def show_account(self, provider: str, account: Account | None) -> None:
        vendor = vendor_of(provider)
        way, self._is_cloud = vendor.sign_in, vendor.cloud is not None
        if way != self._way or (self._is_cloud and account != self._account):
            self._result.hide()
        self._way, self._account = way, account
        self.setVisible(way is not None and not (self._is_cloud and not self._is_signed_in))
        if way is not None:
            self._sign_in.setText(self.tr("Sign in again…") if self._is_signed_in else _offer(way))
            self._check.setText(self.tr("Check") if self._is_cloud else self.tr("Check the sign-in"))
            self._show_buttons(is_waiting=not self._cancel.isHidden())

    def _show_buttons(self, *, is_waiting: bool) -> None:
        self._cancel.setVisible(is_waiting)
        self._sign_in.setVisible(not is_waiting and not self._is_cloud)
        self._check.setVisible(not is_waiting and self._is_signed_in)

    def show_busy(self, words: str) -> None:
        self._show_buttons(is_waiting=True)
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
        self._show_buttons(is_waiting=False)
        if had_focus:
            home = self._check if self._is_cloud else self._sign_in
            home.setFocus(Qt.FocusReason.OtherFocusReason)

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
        "chatgpt": _sign_in_tr("Sign in with ChatGPT…"),
        "openrouter": _sign_in_tr("Sign in with OpenRouter…"),
        "profile": _sign_in_tr("Use a profile of Anthropic's tools"),
    }
    return words[way]


_tr = partial(QCoreApplication.translate, "Accounts")


def account_label(account: Account, there: Destination) -> str:
    kinds = {"oauth": _tr("signed in"), "profile": _tr("profile")}
    place = kinds.get(account.kind) or urlsplit(there.address).netloc
    if vendor_of(account.provider).cloud is not None:
        place = ", ".join(account.cloud.values()) or _tr("as the environment says")
    return f"{account.name or _tr('Default')} · {place}"


def account_purpose(account: Account, there: Destination) -> str:
    texts = {
        "key": _tr("Requests go to {0}, with its API key. The key is sent nowhere else."),
        "none": _tr("Requests go to {0}. No key is needed there."),
        "oauth": _tr("Requests go to {0}, signed in as you. Removing the account signs you out."),
        "profile": _tr("Requests go to {0}, with a profile of the provider's own tools, which store the tokens."),
    }
    if account.kind == "profile" and vendor_of(account.provider).cloud is not None:
        return _tr("Requests go to {0}, with credentials that the cloud's own tools store.").format(_where(there))
    return texts[account.kind].format(_where(there))


class CloudEditor(QWidget):
    """The fields of a cloud's account that exists. They are saved when they are left."""

    def __init__(self, actions: SettingsActions, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions = actions
        self._account: Account | None = None
        self._problem = Note("", "error", object_name="cloudProblem")
        self._fields = CloudFields(field_row)
        self._problem_row = QWidget()
        field_row("", self._problem, on=self._problem_row)
        vbox(self._fields, self._problem_row, on=self, spacing=Space.XS)
        self.hide()
        self._fields.left.connect(self._on_left)
        self._fields.changed.connect(self._problem_row.hide)

    def show_account(self, account: Account | None, environ: Mapping[str, str]) -> None:
        cloud = vendor_of(account.provider).cloud if account is not None else None
        if account is not None and cloud is not None and account != self._account:
            self._fields.show_account(vendor_of(account.provider), account, cloud.said_in(environ))
            self._problem_row.hide()
        self._account = account
        self.setVisible(cloud is not None)

    def _on_left(self) -> None:
        account = self._account
        if account is None or (said := self._fields.account(account)) == account:
            return
        problem = self._fields.problem_with(said)
        self._problem.setText(problem)
        self._problem_row.setVisible(bool(problem))
        if not problem:
            self._account = said  # another field may be typed into when this one has been saved
            self._actions.change_account(said)


def _where(there: Destination) -> str:
    texts = {"": "{0}", "account": _tr("{0} (the account's own address)"), "settings": _tr("{0} (from the settings)")}
    text = texts.get(there.named_by) or _tr("{0} (from the environment variable {1})")
    where = text.format(there.address, there.named_by)
    if not there.proxy:
        return where
    return _tr("{0}, through the proxy {1} (from {2})").format(where, there.proxy, there.proxy_named_by)


class AccountForm(AddingForm):
    added = Signal(object)  # an Account

    def __init__(self) -> None:
        super().__init__()
        self._provider = ""
        self._others: tuple[Account, ...] = ()
        self._title = make_label("", role="strong")
        self._fields = AccountFields("accountNameEdit", "accountAddressEdit")
        self._cloud = CloudFields(field_row)
        self._header = QWidget()
        hint = self.tr("The key is sent to this address only. Leave it empty for the provider's own.")
        field_row(self.tr("Key sent as"), self._fields.header, on=self._header)
        fields = (
            field_row(self.tr("Name"), self._fields.name),
            self._cloud,
            field_row(self.tr("Address"), self._fields.address, Note(hint)),
            self._header,
        )
        add = make_button(self.tr("Add account"), "addAccountButton", clicked=self._on_add)
        cancel = make_button(self.tr("Cancel"), "cancelAccountButton", clicked=self.cancelled.emit)
        buttons = field_row("", self.problem, hbox(add, cancel, STRETCH, spacing=Space.S))
        vbox(self._title, *fields, buttons, on=self, spacing=Space.M)
        for each in (self._fields, self._cloud):
            each.confirmed.connect(self._on_add)
            each.changed.connect(self.problem.hide)

    def begin(self, provider: str, others: Sequence[Account], environ: Mapping[str, str]) -> None:
        self._provider, self._others = provider, tuple(others)
        vendor = vendor_of(provider)
        self._cloud.setVisible(vendor.cloud is not None)
        self._header.setVisible(vendor.cloud is None)
        if vendor.cloud is not None:
            said = vendor.cloud.said_in(environ)
            self._cloud.show_account(vendor, replace(usual_account(provider), cloud=dict(said)), said)
        self._title.setText(self.tr("New account of {0}").format(vendor.label))
        self._fields.begin(vendor)
        self.problem.hide()
        self.show()
        self._fields.name.setFocus()

    def _on_add(self) -> None:
        account = self._fields.account(self._provider)
        problem = ""
        if vendor_of(self._provider).cloud is not None:
            account = self._cloud.account(account)
            problem = self._cloud.problem_with(account)
        show_text(self.problem, self._fields.problem_with(account, self._others) or problem)
        if self.problem.isHidden():
            self.added.emit(account)


class AccountChooser(QWidget):
    chosen = Signal(str)  # an account's name

    def __init__(self, actions: SettingsActions, form: AccountForm) -> None:
        super().__init__()
        self._actions = actions
        self._provider = ""
        self._name = ""
        self._view = AccountsView()
        self._settings: SettingsView | None = None
        self._box = Picker(object_name="accountPicker", accessible_name=self.tr("Account"), fills=True)
        name = self.tr("Add an account")
        self._add = make_button(self.tr("Add…"), "newAccountButton", accessible_name=name, clicked=self._on_new)
        self._removal = removal = Removal(
            "removeAccountButton",
            "reallyRemoveAccountButton",
            "keepAccountButton",
            remove=self._on_removed,
            changed=self._update,
            accessible_name=self.tr("Remove this account"),
        )
        self._purpose = Note("", object_name="accountPurpose")
        self.form = form
        form.hide()
        buttons = (self._add, *removal.parts, STRETCH)
        row = hbox((self._box, 1), *buttons, spacing=Space.S)
        vbox(row, self._purpose, on=self, spacing=Space.XS)
        removal.ask(is_asking=False)
        self._box.currentIndexChanged.connect(self._on_chosen)
        self.form.added.connect(self._on_added)
        self.form.cancelled.connect(self._on_cancelled)

    @property
    def account(self) -> Account | None:
        return self._view.find(self._provider, self._name) if self._provider else None

    def show_accounts(self, view: AccountsView, provider: str, name: str, settings: SettingsView) -> None:
        """Show these accounts. Emits no signal."""
        self._settings = settings
        if provider != self._provider:
            self.form.hide()
            self._removal.ask(is_asking=False)
        self._view, self._provider, self._name = view, provider, name
        accounts = self._view.of(self._provider)
        self._box.blockSignals(True)
        self._box.clear()
        for account in accounts:
            self._box.addItem(account_label(account, self._destination(account)), account.name)
        place = next((index for index, one in enumerate(accounts) if is_same_name(one.name, self._name)), None)
        if place is None:
            place = self._box.count()
            self._box.addItem(self._name, self._name)
        self._box.setCurrentIndex(place)
        self._box.blockSignals(False)
        self._say_purpose()
        self._update()

    def _destination(self, account: Account) -> Destination:
        assert self._settings is not None
        return self._settings.destination(account)

    def _say_purpose(self) -> None:
        if self._view.problem:
            self._purpose.say(self._view.problem, "error")
        elif (account := self.account) is not None:
            self._purpose.say(account_purpose(account, self._destination(account)))
        elif self._view.is_known:
            text = self.tr("The account “{0}” no longer exists. Choose another one, or add it again.")
            self._purpose.say(text.format(self._name), "error")
        else:
            self._purpose.say("")

    def _update(self) -> None:
        is_sound = self._view.is_known and not self._view.problem
        is_asking, account = self._removal.is_asking, self.account
        self._box.setEnabled(is_sound and not is_asking)
        self._add.setVisible(not is_asking)
        self._add.setEnabled(is_sound and self.form.isHidden())
        is_cloud = bool(self._provider) and vendor_of(self._provider).cloud is not None
        is_signed_in = account is not None and account.kind in ("oauth", "profile") and not is_cloud
        self._removal.button.setText(self.tr("Sign out") if is_signed_in else self.tr("Remove"))
        self._removal.confirm.setText(self.tr("Sign out now") if is_signed_in else self.tr("Remove with its key"))
        can_remove = is_sound and bool(self._name) and account is not None
        self._removal.button.setVisible(can_remove and not is_asking)

    def _on_chosen(self) -> None:
        name = self._box.currentData()
        if isinstance(name, str) and name != self._name:
            self._name = name
            self._say_purpose()
            self._update()
            self.chosen.emit(name)

    def _on_new(self) -> None:
        assert self._settings is not None
        self.form.begin(self._provider, self._view.of(self._provider), self._settings.environ)
        self._update()

    def _on_added(self, account: Account) -> None:
        self._actions.add_account(account)
        self._on_cancelled()

    def _on_cancelled(self) -> None:
        self.form.hide()
        self._update()
        self._box.setFocus()

    def _on_removed(self) -> None:
        self._box.setFocus()
        if self.account is not None:
            self._actions.remove_account(self.account)
