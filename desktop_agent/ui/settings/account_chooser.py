"""The accounts of a provider: which one is used, what each is called and is for, and the form for a new one."""

from collections.abc import Sequence
from functools import partial
from urllib.parse import urlsplit

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.models.account import Account, is_same_name
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.settings.model_choice import Destination
from desktop_agent.ui.settings.page_parts import AddingForm, Removal, form, name_of
from desktop_agent.ui.settings.settings_view import AccountsView, SettingsActions, SettingsView
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.account_fields import AccountFields
from desktop_agent.ui.widgets.buttons import Picker, make_button
from desktop_agent.ui.widgets.labels import Note, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox

_tr = partial(QCoreApplication.translate, "Accounts")


def account_label(account: Account, there: Destination) -> str:
    """Return an account's name in a list, with what tells it from others: `work · models.example`."""
    return f"{_name(account)} · {_what(account, there)}"


def account_purpose(account: Account, there: Destination) -> str:
    """Return where an account's requests go, what determines that, and what is sent with them."""
    match account.kind:
        case "key":
            text = _tr("Requests go to {0}, with its API key. The key is sent nowhere else.")
        case "none":
            text = _tr("Requests go to {0}. No key is needed there.")
        case "oauth":
            text = _tr("Requests go to {0}, signed in as you. Removing the account signs you out.")
        case "profile":
            text = _tr("Requests go to {0}, with a profile of the provider's own tools, which keep its tokens.")
    return text.format(_where(there))


def _where(there: Destination) -> str:
    match there.named_by:
        case "":
            text = "{0}"
        case "account":
            text = _tr("{0} (the account's own address)")
        case "settings":
            text = _tr("{0} (from the settings)")
        case _:
            text = _tr("{0} (from the environment variable {1})")
    where = text.format(there.address, there.named_by)
    if not there.proxy:
        return where
    return _tr("{0}, through the proxy {1} (from {2})").format(where, there.proxy, there.proxy_named_by)


def _name(account: Account) -> str:
    return account.name or _tr("Usual")


def _what(account: Account, there: Destination) -> str:
    match account.kind:
        case "key" | "none":
            return urlsplit(there.address).netloc
        case "oauth":
            return _tr("signed in")
        case "profile":
            return _tr("profile")


class AccountForm(AddingForm):
    """Asks for a new account of one provider."""

    added = Signal(object)  # an Account

    def __init__(self) -> None:
        super().__init__()
        self._provider = ""
        self._others: tuple[Account, ...] = ()
        self._title = make_label("", role="strong")
        self._fields = AccountFields("accountNameEdit", "accountAddressEdit")
        self._lay_out()
        self._fields.confirmed.connect(self._on_add)
        self._fields.changed.connect(self.problem.hide)

    def begin(self, provider: str, others: Sequence[Account]) -> None:
        self._provider, self._others = provider, tuple(others)
        vendor = vendor_of(provider)
        self._title.setText(self.tr("New account of {0}").format(vendor.label))
        self._fields.begin(vendor)
        self.problem.hide()
        self.show()
        self._fields.name.setFocus()

    def _lay_out(self) -> None:
        fields = form()
        fields.addRow(name_of(self.tr("Name")), self._fields.name)
        fields.addRow(name_of(self.tr("Address")), self._fields.address)
        fields.addRow(
            name_of(""), Note(self.tr("The key is sent to this address only. Leave it empty for the provider's own."))
        )
        fields.addRow(name_of(self.tr("Key sent as")), self._fields.header)
        add = make_button(self.tr("Add account"), object_name="addAccountButton", clicked=self._on_add)
        cancel = make_button(self.tr("Cancel"), object_name="cancelAccountButton", clicked=self.cancelled.emit)
        buttons = hbox(name_of(""), add, cancel, STRETCH, spacing=Space.S)
        vbox(self._title, fields, self.problem, buttons, on=self, spacing=Space.M)

    def _on_add(self) -> None:
        account = self._fields.account(self._provider)
        if problem := self._fields.why_not(account, self._others):
            self.say(problem)
            return
        self.added.emit(account)


class AccountChooser(QWidget):
    """The accounts of one provider."""

    chosen = Signal(str)  # an account's name

    def __init__(self, actions: SettingsActions, form: AccountForm) -> None:
        super().__init__()
        self._actions = actions
        self._provider = ""
        self._name = ""
        self._view = AccountsView()
        self._settings: SettingsView | None = None
        self._box = Picker(object_name="accountPicker", accessible_name=self.tr("Account"), min_chars=24)
        self._add = make_button(self.tr("Add…"), object_name="newAccountButton", clicked=self._on_new)
        self._add.setAccessibleName(self.tr("Add an account"))
        remove = make_button(
            object_name="removeAccountButton", accessible_name=self.tr("Remove this account"), variant="destructive"
        )
        confirm = make_button(object_name="reallyRemoveAccountButton", variant="destructive")
        self._removal = removal = Removal(
            remove, confirm, "keepAccountButton", remove=self._on_removed, changed=self._update
        )
        self._purpose = Note("", object_name="accountPurpose")
        self.form = form
        form.hide()
        row = hbox((self._box, 1), self._add, remove, confirm, removal.keep, STRETCH, spacing=Space.S)
        vbox(row, self._purpose, on=self, spacing=Space.S)
        removal.ask(is_asking=False)
        self._box.currentIndexChanged.connect(self._on_chosen)
        self.form.added.connect(self._on_added)
        self.form.cancelled.connect(self._on_cancelled)

    @property
    def account(self) -> Account | None:
        return self._view.find(self._provider, self._name) if self._provider else None

    def show_accounts(self, view: AccountsView, provider: str, name: str, settings: SettingsView) -> None:
        """Show the accounts of a provider and which is used. Emits nothing."""
        self._settings = settings
        if provider != self._provider:
            self.form.hide()
            self._removal.ask(is_asking=False)
        self._view, self._provider, self._name = view, provider, name
        self._fill()
        self._say_purpose()
        self._update()

    def _fill(self) -> None:
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
        is_signed_in = account is not None and account.kind in ("oauth", "profile")
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
        self.form.begin(self._provider, self._view.of(self._provider))
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
