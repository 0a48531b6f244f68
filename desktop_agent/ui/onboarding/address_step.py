"""Another address: what is spoken there, what it is called, and the key for it."""

from PySide6.QtWidgets import QFormLayout, QLineEdit, QPushButton

from desktop_agent.core.base.web_address import is_readable_on_the_way
from desktop_agent.core.models.account import Account, why_unusable
from desktop_agent.ui.connecting.key_field import KeyField
from desktop_agent.ui.onboarding.state import WelcomeActions
from desktop_agent.ui.onboarding.step import Step, plain_note, primary_button
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.picker import Picker


class AddressStep(Step):
    """Asks for an account with an address of its own."""

    def __init__(self, actions: WelcomeActions) -> None:
        super().__init__(
            self.tr("Enter an address"),
            self.tr("Its key is sent to this address only. The connection is tested before anything is kept."),
        )
        self._actions = actions
        self._speaks = Picker(min_chars=24)
        self._speaks.setAccessibleName(self.tr("Format"))
        for text, provider in (
            (self.tr("Chat Completions: most servers"), "openai-chat"),
            (self.tr("OpenAI's Responses"), "openai"),
            (self.tr("Anthropic's Messages"), "anthropic"),
        ):
            self._speaks.addItem(text, provider)
        self._name = _line("newAccountNameEdit", self.tr("Name"), self.tr("For example: work"))
        self._address = _line("newAddressEdit", self.tr("Address"), "https://models.example/v1")
        self._header = Picker(min_chars=24)
        self._header.setAccessibleName(self.tr("How the key travels"))
        for text, header in (
            ("Authorization: Bearer", "bearer"),
            ("x-api-key", "x-api-key"),
            (self.tr("No key is needed"), ""),
        ):
            self._header.addItem(text, header)
        self.key = KeyField()
        self._problem = plain_note(role="error", object_name="addressProblem")
        self._try = primary_button(self.tr("Test and continue"), "tryAddressButton")
        self._lay_out()
        for line in (self._name, self._address):
            line.textChanged.connect(self._update)
        self.key.changed.connect(self._update)
        self._header.currentIndexChanged.connect(self._update)
        self._try.clicked.connect(self._on_try)
        self._update()

    @property
    def primary(self) -> QPushButton:
        return self._try

    def take_focus(self) -> None:
        self._name.setFocus()

    def forget(self) -> None:
        self.key.forget()

    def _lay_out(self) -> None:
        fields = QFormLayout()
        fields.setHorizontalSpacing(Space.L)
        fields.setVerticalSpacing(Space.M)
        fields.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        fields.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        fields.addRow(self.tr("Name"), self._name)
        fields.addRow(self.tr("Address"), self._address)
        fields.addRow(self.tr("Format"), self._speaks)
        fields.addRow(self.tr("Key sent as"), self._header)
        fields.addRow(self.tr("API key"), self.key)
        self.column.addLayout(fields)
        self.column.addSpacing(Space.S)
        self.column.addWidget(self._problem)
        self.column.addStretch()

    @property
    def _account(self) -> Account:
        header = self._header.currentData()
        return Account(
            provider=self._speaks.currentData(),
            name=self._name.text().strip(),
            address=self._address.text().strip().rstrip("/"),
            kind="key" if header else "none",
            header=header or "bearer",
        )

    def _update(self) -> None:
        account = self._account
        is_keyless = account.kind == "none"
        self.key.setEnabled(not is_keyless)
        is_whole = bool(account.name and account.address and (is_keyless or self.key.text))
        reason = why_unusable(account) if account.name and account.address else ""
        self._try.setEnabled(is_whole and not reason)
        if reason:
            self._say(self.tr("This cannot be used: {0}.").format(reason), "error")
        elif is_readable_on_the_way(account.address):
            self._say(self.tr("Not encrypted: anyone on the way can read the key and the conversation."), "warning")
        else:
            self._say("", "error")
        self.changed.emit()

    def _say(self, text: str, role: str) -> None:
        self._problem.setText(text)
        self._problem.setProperty("role", role)
        self._problem.style().unpolish(self._problem)
        self._problem.style().polish(self._problem)

    def _on_try(self) -> None:
        self._actions.connect(self._account, self.key.text if self._account.kind == "key" else "")


def _line(object_name: str, accessible_name: str, example: str) -> QLineEdit:
    line = QLineEdit()
    line.setObjectName(object_name)
    line.setAccessibleName(accessible_name)
    line.setPlaceholderText(example)
    return line
