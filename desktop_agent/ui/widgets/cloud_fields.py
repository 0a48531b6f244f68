"""The fields of a cloud's account: where its models are, and with which credentials they are asked."""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop_agent.core.models.account import Account, account_problem
from desktop_agent.core.models.vendors import Cloud, CloudField, Vendor
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.buttons import Picker, make_line
from desktop_agent.ui.widgets.labels import Note
from desktop_agent.ui.widgets.layouts import Part, vbox

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
