"""Another address: what is spoken there, what it is called, and the key for it."""

from PySide6.QtWidgets import QPushButton

from desktop_agent.core.base.web_address import is_readable_on_the_way
from desktop_agent.core.models.account import Account
from desktop_agent.ui.connecting.account_fields import AccountFields
from desktop_agent.ui.connecting.key_field import ApiKeyField
from desktop_agent.ui.onboarding.state import WelcomeActions
from desktop_agent.ui.onboarding.step import Step, form, primary_button
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.note import Note
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
        self._speaks.fit()
        self._fields = AccountFields("newAccountNameEdit", "newAddressEdit", may_need_no_key=True)
        self._fields.address.setPlaceholderText("https://models.example/v1")
        self.key = ApiKeyField()
        self._problem = Note(role="error", object_name="addressProblem")
        self._try = primary_button(self.tr("Test and continue"), "tryAddressButton")
        self._lay_out()
        self._fields.changed.connect(self._update)
        self.key.changed.connect(self._update)
        self._try.clicked.connect(self._on_try)
        self._update()

    @property
    def primary(self) -> QPushButton:
        return self._try

    def take_focus(self) -> None:
        self._fields.name.setFocus()

    def forget(self) -> None:
        self.key.forget()

    def _lay_out(self) -> None:
        fields = form()
        fields.addRow(self.tr("Name"), self._fields.name)
        fields.addRow(self.tr("Address"), self._fields.address)
        fields.addRow(self.tr("Format"), self._speaks)
        fields.addRow(self.tr("Key sent as"), self._fields.header)
        fields.addRow(self.tr("API key"), self.key)
        self.column.addLayout(fields)
        self.column.addSpacing(Space.S)
        self.column.addWidget(self._problem)
        self.column.addStretch()

    @property
    def _account(self) -> Account:
        return self._fields.account(self._speaks.currentData())

    def _update(self) -> None:
        account, is_filled = self._account, self._fields.is_filled
        is_keyless = account.kind == "none"
        self.key.setEnabled(not is_keyless)
        reason = self._fields.why_not(account) if is_filled else ""
        self._try.setEnabled(is_filled and not reason and (is_keyless or bool(self.key.text)))
        if not reason and is_readable_on_the_way(account.address):
            text = self.tr("Not encrypted: anyone on the way can read the key and the conversation.")
            self._problem.say(text, "warning")
        else:
            self._problem.say(reason, "error")
        self.changed.emit()

    def _on_try(self) -> None:
        self._actions.connect(self._account, self.key.text if self._account.kind == "key" else "")
