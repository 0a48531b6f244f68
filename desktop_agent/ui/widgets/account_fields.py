"""Fields for access to a model: a hidden key, an account, a cloud's credentials, and the wait for a sign-in."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QMimeData, QObject, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QValidator
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from desktop_agent.core.base.secrets import is_provider_key
from desktop_agent.core.base.web_address import completed
from desktop_agent.core.models.account import Account, account_problem, is_same_name
from desktop_agent.core.models.vendors import Cloud, CloudField, Vendor
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Picker, make_button, make_line
from desktop_agent.ui.widgets.labels import Note, make_label
from desktop_agent.ui.widgets.layouts import Part, hbox, vbox

TAKES_KEYS = "takesKeys"


class PastedKeys(QValidator):
    """Rejects an API key that is typed or pasted into the focused line, and emits `found`."""

    found = Signal(str)  # the rejected key

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._refused = ""
        self._offer_soon = one_shot(self, 0, self._offer)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._on_focus_changed)

    def refuses(self, data: QMimeData) -> bool:
        text = data.text() if data.hasText() else ""
        is_refused = is_provider_key(text)
        if is_refused:
            self.found.emit(text.strip())
        return is_refused

    def validate(self, arg__1: str, arg__2: int) -> tuple[QValidator.State, str, int]:
        # Qt reverts invalid text before the line shows or reports it.
        for word in arg__1.split():
            if is_provider_key(word):
                self._refused = word
                self._offer_soon.start()  # not now, because the line is still processing the text
                return QValidator.State.Invalid, arg__1, arg__2
        return QValidator.State.Acceptable, arg__1, arg__2

    def _offer(self) -> None:
        key, self._refused = self._refused, ""
        self.found.emit(key)

    def _on_focus_changed(self, _old: QWidget | None, new: QWidget | None) -> None:
        if isinstance(new, QLineEdit) and not new.property(TAKES_KEYS):
            new.setValidator(self)


class ApiKeyField(QWidget):
    changed = Signal()
    confirmed = Signal()  # by Enter

    def __init__(self) -> None:
        super().__init__()
        self._line = make_line("apiKeyEdit", self.tr("API key"), self.tr("Paste a key"))
        self._line.setProperty(TAKES_KEYS, True)
        self._line.setEchoMode(QLineEdit.EchoMode.Password)
        self._line.setInputMethodHints(
            Qt.InputMethodHint.ImhHiddenText
            | Qt.InputMethodHint.ImhSensitiveData
            | Qt.InputMethodHint.ImhNoPredictiveText
            | Qt.InputMethodHint.ImhNoAutoUppercase
        )
        name = self.tr("Show the key")
        self._show = make_button(self.tr("Show"), "showKeyButton", accessible_name=name, is_checkable=True)
        hbox((self._line, 1), self._show, on=self, spacing=Space.S)
        self.setFocusProxy(self._line)
        self._show.toggled.connect(self._on_show)
        self._line.textChanged.connect(self.changed)
        self._line.returnPressed.connect(self.confirmed)

    @property
    def text(self) -> str:
        return self._line.text().strip()

    @property
    def has_keyboard(self) -> bool:
        return self._line.hasFocus()

    def offer(self, key: str) -> None:
        self._line.setText(key)
        self.take_focus()

    def forget(self) -> None:
        self._line.setText("")  # unlike clear(), this drops the undo history as well
        self._show.setChecked(False)

    def take_focus(self) -> None:
        self._line.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_show(self, is_shown: bool) -> None:
        self._line.setEchoMode(QLineEdit.EchoMode.Normal if is_shown else QLineEdit.EchoMode.Password)
        self._show.setText(self.tr("Hide") if is_shown else self.tr("Show"))


NO_KEY = ""
"""The choice to send no key, in place of the name of the header that carries the key."""


class AccountFields(QObject):
    changed = Signal()
    confirmed = Signal()  # by Enter

    def __init__(self, name_edit: str, address_edit: str, *, may_need_no_key: bool = False) -> None:
        """`name_edit` and `address_edit` are object names of text fields. `may_need_no_key` offers to send no key."""
        super().__init__()
        self.name = make_line(name_edit, self.tr("Name of the account"), self.tr("For example: work"))
        self.address = make_line(address_edit, self.tr("Address of the account"))
        headers: list[tuple[str, object]] = [("Authorization: Bearer", "bearer"), ("x-api-key", "x-api-key")]
        headers += [(self.tr("No key is needed"), NO_KEY)] if may_need_no_key else []
        self.header = Picker(fills=True, accessible_name=self.tr("How the key is sent"), choices=headers)
        for line in (self.name, self.address):
            line.textChanged.connect(self.changed)
            line.returnPressed.connect(self.confirmed)
        self.header.currentIndexChanged.connect(self.changed)
        self.address.editingFinished.connect(self._on_address)

    def _on_address(self) -> None:
        self.address.setText(completed(self.address.text()))  # in the form used for requests

    def begin(self, vendor: Vendor) -> None:
        self.name.clear()
        self.address.clear()
        self.address.setPlaceholderText(vendor.address)
        self.header.setCurrentIndex(self.header.findData(vendor.key_header))

    @property
    def is_filled(self) -> bool:
        return bool(self.name.text().strip() and self.address.text().strip())

    def account(self, provider: str) -> Account:
        header = self.header.currentData()
        return Account(
            provider=provider,
            name=self.name.text().strip(),
            address=completed(self.address.text()).rstrip("/"),
            kind="key" if header != NO_KEY else "none",
            header="x-api-key" if header == "x-api-key" else "bearer",
        )

    def problem_with(self, account: Account, others: Sequence[Account] = ()) -> str:
        if not account.name:
            return self.tr("Give the account a name.")
        if any(is_same_name(account.name, other.name) for other in others):
            return self.tr("An account with this name already exists.")
        reason = account_problem(account)
        return self.tr("The account cannot be used: {0}.").format(core_words(reason)) if reason else ""


class BrowserWait(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._words = make_label(role="strong", wraps=True, is_plain=True, object_name="browserWaitNote")
        self._how = make_label(role="secondary", wraps=True, is_plain=True)
        self._address = make_line("signInAddressEdit", self.tr("Sign-in address"))
        self._address.setReadOnly(True)
        name = self.tr("Copy the address")
        self._copy = make_button(self.tr("Copy"), "copyAddressButton", accessible_name=name, clicked=self._on_copy)
        row = hbox((self._address, 1), self._copy, spacing=Space.S)
        vbox(self._words, self._how, row, on=self, spacing=Space.S)
        self.show_address("", is_open=True)

    def sizeHint(self) -> QSize:
        return QSize(320, super().sizeHint().height())

    def show_address(self, address: str, *, is_open: bool) -> None:
        if is_open:
            self._words.setText(self.tr("Waiting for the browser…"))
            self._how.setText(self.tr("Sign in there within 10 minutes. If no browser opened, open this address:"))
        else:
            self._words.setText(self.tr("No browser could be opened."))
            self._how.setText(self.tr("Open this address in a browser on this machine, within 10 minutes:"))
        self._address.setText(address)
        self._address.setCursorPosition(0)
        self._copy.setText(self.tr("Copy"))
        self._copy.setEnabled(bool(address))

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._address.text())
        self._copy.setText(self.tr("Copied"))


_tr = partial(QCoreApplication.translate, "CloudFields")


class LayOutRow(Protocol):
    def __call__(self, name: str, /, *parts: Part, on: QWidget) -> object: ...


class CloudFields(QWidget):
    changed = Signal()
    left = Signal()  # a field was left, or another kind of credentials was chosen
    confirmed = Signal()  # by Enter

    def __init__(self, lay_out: LayOutRow) -> None:
        super().__init__()
        self.has_keyring = True
        self._cloud: Cloud | None = None
        self._environment: Mapping[str, str] = {}
        self._rows: dict[CloudField, tuple[QWidget, QLineEdit, Note]] = {}
        for field, name in _names().items():
            line, note, row = make_line(f"cloud_{field}", name), Note(), QWidget()
            lay_out(name, line, note, on=row)
            line.textChanged.connect(self.changed)
            line.editingFinished.connect(self.left)
            line.returnPressed.connect(self.confirmed)
            self._rows[field] = row, line, note
        name, row = self.tr("Credentials"), QWidget()
        self._access = Picker(object_name="cloudAccessPicker", accessible_name=name, fills=True)
        self._how = Note(object_name="cloudSignInNote")
        lay_out(name, self._access, self._how, on=row)
        self._access.currentIndexChanged.connect(self._on_access)
        vbox(*(row for row, _, _ in self._rows.values()), row, on=self, spacing=Space.M)

    def show_account(self, vendor: Vendor, account: Account, environment: Mapping[str, str]) -> None:
        """Show the account's fields. `environment` has the values for the fields that it leaves open. No signal."""
        cloud = vendor.cloud
        assert cloud is not None, "other vendors have no such fields"
        self._cloud, self._environment = cloud, environment
        self.blockSignals(True)
        for field, (row, line, note) in self._rows.items():
            row.setVisible(field in cloud.fields)
            line.setText(account.cloud.get(field, ""))
            line.setPlaceholderText(environment.get(field, "") or _example(field, cloud))
            note.say(_hint(field, cloud))
        self._access.clear()
        self._access.addItem(_own_credentials(cloud), "profile")
        if vendor.key_variable:
            self._access.addItem(self.tr("An API key"), "key")
        self._access.pick(account.kind)
        self.blockSignals(False)
        self._say_how()

    @property
    def takes_key(self) -> bool:
        return self._access.currentData() == "key"

    def take_focus(self) -> None:
        """Move to the first field that is empty."""
        shown = [line for row, line, _ in self._rows.values() if not row.isHidden()]
        next((line for line in shown if not line.text()), self._access).setFocus()

    def account(self, account: Account) -> Account:
        """Return the account with what the fields say."""
        assert self._cloud is not None
        typed = {field: self._rows[field][1].text().strip() for field in self._cloud.fields}
        if self.takes_key:  # then the process that asks gets nothing of the environment
            typed = {field: value or self._environment.get(field, "") for field, value in typed.items()}
        cloud: dict[str, str] = {field: value for field, value in typed.items() if value}
        return replace(account, kind="key" if self.takes_key else "profile", cloud=cloud)

    def problem_with(self, account: Account) -> str:
        """Return what is missing or wrong in the fields of `account`; empty if they can be used."""
        assert self._cloud is not None
        for field in self._cloud.needed:
            # A gateway's address takes the place of the resource.
            is_said = account.cloud.get(field) or self._environment.get(field)
            if not is_said and not (field == "resource" and account.address):
                return self.tr("Missing: {0}.").format(_names()[field])
        reason = account_problem(account)
        return self.tr("The account cannot be used: {0}.").format(core_words(reason)) if reason else ""

    def _on_access(self) -> None:
        self._say_how()
        self.changed.emit()
        self.left.emit()

    def _say_how(self) -> None:
        assert self._cloud is not None
        key = self.tr("It is kept in your system keyring, and nowhere else.") if self.has_keyring else ""
        self._how.say(key if self.takes_key else core_words(self._cloud.sign_in))


def _names() -> dict[CloudField, str]:
    return {
        "region": _tr("Region"),
        "project": _tr("Project"),
        "resource": _tr("Resource"),
        "workspace_id": _tr("Workspace ID"),
        "profile": _tr("Profile"),
    }


def _hint(field: CloudField, cloud: Cloud) -> str:
    if field == "region" and field not in cloud.needed:
        return _tr("Where you have access to Claude. Empty: the region of the profile.")
    hints = {
        "region": _tr("Where you have access to Claude."),
        "project": _tr("The ID of the project that pays. Empty: the project of the sign-in."),
        "resource": _tr("The first part of the address, before .services.ai.azure.com."),
        "workspace_id": _tr("As the Claude Console shows it."),
        "profile": _tr("A profile of the AWS tools. Empty: the default profile."),
    }
    return hints[field]


def _example(field: CloudField, cloud: Cloud) -> str:
    if field == "region":
        return _tr("For example: {0}").format("global" if "project" in cloud.fields else "eu-central-1")
    return _tr("For example: {0}").format("wrkspc_…") if field == "workspace_id" else ""


def _own_credentials(cloud: Cloud) -> str:
    match cloud.client:
        case "bedrock" | "aws":
            return _tr("Those of the AWS tools")
        case "vertex":
            return _tr("Those of the Google Cloud tools")
        case "foundry":
            return _tr("Those of the Azure tools")
