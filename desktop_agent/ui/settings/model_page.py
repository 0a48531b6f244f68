"""The settings section about the model: provider, model, account, address and key."""

from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.web_address import completed, is_readable_on_the_way, why_no_address
from desktop_agent.core.models.account import Account, named, usual_account
from desktop_agent.core.models.vendors import (
    DEMO,
    PROVIDER_IDS,
    PROVIDER_LABELS,
    VENDORS,
    LocalServer,
    known_vendor,
    vendor_of,
)
from desktop_agent.core.protocol.model import AGENTS
from desktop_agent.core.settings.model_choice import name_in
from desktop_agent.ui.settings.accounts import AccountChooser, AccountForm, CloudEditor, KeyEditor, SignInPanel
from desktop_agent.ui.settings.page_parts import Page, field_row, settings_of
from desktop_agent.ui.settings.setting_controls import words
from desktop_agent.ui.settings.settings_view import AccountsView, SettingsActions, SettingsView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words, error_words
from desktop_agent.ui.widgets.buttons import Picker, make_button, make_line
from desktop_agent.ui.widgets.labels import Note, show_text
from desktop_agent.ui.widgets.layouts import add_parts, hairline, hbox, vbox


class AddressEditor(QWidget):
    def __init__(self, actions: SettingsActions, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions = actions
        self._known = ""
        self._line = make_line("baseUrlEdit", self.tr("Address"))
        self._note = Note("")
        self._readable = Note(
            self.tr("Not encrypted: anyone on the way can read the key and the conversation."), "warning"
        )
        self._readable.hide()
        vbox(self._line, self._note, self._readable, on=self, spacing=Space.XS)
        self._line.editingFinished.connect(self._on_edited)
        self._line.textChanged.connect(self._update_warning)

    @property
    def text(self) -> str:
        return self._line.text()

    def show_address(self, view: SettingsView, account: Account | None) -> None:
        vendor = known_vendor(view.settings.model.provider)
        is_usual = account is None or account.is_usual
        self._known = view.settings.model.base_url
        self._line.setPlaceholderText(vendor.address if vendor is not None else "")
        self._line.setText(self._known if account is None or is_usual else account.where)
        self._line.setReadOnly(not is_usual)
        self._line.setEnabled(is_usual and not view.variable_of("model.base_url"))
        if is_usual:
            self._note.say(self.tr("Only for a gateway or proxy; empty means the provider's own."))
        else:
            self._note.say(self.tr("Set by the account. For a different address, add another account."))
        self._update_warning()

    def _update_warning(self) -> None:
        address = completed(self._line.text())
        self._readable.setVisible(not why_no_address(address) and is_readable_on_the_way(address))

    def _on_edited(self) -> None:
        address = completed(self._line.text())
        if self._line.isReadOnly() or address == self._known:
            return
        self._known = address
        self._line.setText(address)
        if address and (reason := why_no_address(address)):
            self._note.say(self.tr("This address cannot be used: {0}.").format(core_words(reason)), "error")
        else:
            self._actions.change("model.base_url", address)


class ServerNote(QWidget):
    def __init__(self, actions: SettingsActions) -> None:
        super().__init__()
        self._actions = actions
        self._account: Account | None = None
        self._address = ""
        self._words = Note("", object_name="localServerNote")
        self._again = make_button(self.tr("Look again"), "lookAgainButton", clicked=self._on_look)
        hbox((self._words, 1), self._again, on=self, spacing=Space.S)
        self.hide()

    def show_account(self, account: Account | None, address: str) -> None:
        if (account, address) == (self._account, self._address):
            return
        self._account, self._address = account, address
        self.hide()
        if account is not None and vendor_of(account.provider).is_local:
            self._actions.look_for_server(account)

    def show_server(self, account: Account, server: LocalServer) -> None:
        if account != self._account:
            return
        self._words.say(error_words(server), "good" if server.is_usable else "warning")
        self._again.setEnabled(True)
        self.show()

    def _on_look(self) -> None:
        if self._account is not None:
            self._again.setEnabled(False)
            self._words.say(self.tr("Looking…"))
            self._actions.look_for_server(self._account)


_HAND_MADE = ("model.provider", "model.account", "model.name", "model.base_url")


class ModelPage(Page):
    def __init__(self, title: str, theme: Theme, actions: SettingsActions) -> None:
        super().__init__(title, theme, actions)
        self.key = KeyEditor(usual_account(VENDORS[0].id), actions, self)
        self.cloud = CloudEditor(actions, self)
        self.sign_in = SignInPanel(actions, self)
        self._accounts = AccountsView()
        self._connecting = ""
        self._known_name = ""
        self._found: tuple[Account, LocalServer] | None = None

    def _show(self, view: SettingsView) -> None:
        variables = [variable for key in _HAND_MADE if (variable := view.variable_of(key))]
        text = self.tr("Set by the environment: {0}.").format(", ".join(variables))
        show_text(self._variables, text if variables else "")
        self._show_provider(view)

    def connect_provider(self, provider: str) -> None:
        self._connecting = provider
        self._show_again()

    def show_accounts(self, accounts: AccountsView) -> None:
        self._accounts = accounts
        self._show_again()

    def _show_again(self) -> None:
        if self.is_built and self.view is not None:
            self._show_provider(self.view)

    def show_server(self, account: Account, server: LocalServer) -> None:
        self.show_later("server", partial(self._show_server, account, server))

    def _show_server(self, account: Account, server: LocalServer) -> None:
        self._found = (account, server)
        self._server.show_server(account, server)
        if self.view is not None and account == self._chooser.account:
            self._show_name(self.view)

    def show_key(self, do: Callable[[], object]) -> None:
        def show() -> None:
            self._asked.show()
            do()

        self.when_built(show)

    def _show_provider(self, view: SettingsView) -> None:
        settings = view.settings.model
        if self._connecting == settings.provider:
            self._connecting = ""
        vendor = known_vendor(self._connecting or settings.provider)
        self._provider.pick(self._connecting or settings.provider)
        self._asked.setVisible(vendor is not None)
        self._demo.setVisible(vendor is None)
        self._which.setHidden(bool(self._connecting))
        text = self.tr("Add a key to choose its models in any conversation. New conversations begin with {0}.")
        self._unchosen.say(text.format(words(PROVIDER_LABELS[settings.provider])))
        self._unchosen.setVisible(bool(self._connecting))
        is_agent = settings.provider == AGENTS
        agent = self.tr("{0} takes the turns of new conversations. Another agent is chosen below the message field.")
        self._demo.say(agent.format(settings.name) if is_agent else self._demo_words)
        if vendor is None:
            self._chooser.show_accounts(self._accounts, self.key.account.provider, self.key.account.name, view)
            return
        self._chooser.show_accounts(
            self._accounts, vendor.id, "" if self._connecting else named(settings.account), view
        )
        if (account := self._chooser.account) is not None:
            self.key.show_account(account)
        self.cloud.show_account(account, view.environ)
        self.sign_in.show_account(vendor.id, account)
        self.key.setVisible(account is not None and account.kind in ("key", "none") and not self._accounts.problem)
        if self._connecting:
            return  # the rest belongs to the chosen provider
        self._show_name(view)
        self._address.show_address(view, account)
        self._server.show_account(account, self._address.text)

    def _show_name(self, view: SettingsView) -> None:
        settings = view.settings.model
        models = vendor_of(settings.provider).models
        self._known_name = name_in(settings, is_written="model.name" in view.sources) or next(iter(models), "")
        self._name.blockSignals(True)
        self._name.clear()
        self._name.addItems(models)
        if self._found is not None and self._found[0] == self._chooser.account:
            self._name.addItems(self._found[1].models)
        self._name.setCurrentText(self._known_name)
        self._name.blockSignals(False)
        self._name.setEnabled(not view.variable_of("model.name"))

    def _build(self) -> Iterator[None]:
        is_agent = self.view is not None and self.view.settings.model.provider == AGENTS
        choices = [(words(PROVIDER_LABELS[known]), known) for known in (*PROVIDER_IDS, *([AGENTS] if is_agent else []))]
        self._provider = Picker(accessible_name=self.tr("Provider"), choices=choices, fills=True)
        if self.view is not None:
            self._provider.pick(self._connecting or self.view.settings.model.provider)
        self._provider.currentIndexChanged.connect(self._on_provider)
        self.column.addLayout(field_row(self.tr("Provider"), self._provider))
        yield
        self._asked = QWidget(self.widget())
        self._asked.setVisible(self.view is not None and self.view.settings.model.provider != DEMO)
        asked = vbox(on=self._asked, spacing=Space.M)
        self.column.addWidget(self._asked)
        self._unchosen = Note("")
        self._unchosen.hide()
        self._which = QWidget(self._asked)
        self._which.hide()
        add_parts(asked, self._unchosen, self._which)
        yield from self._build_which()
        self._variables = Note("", "warning")
        self._variables.hide()
        for widget in (self._variables, hairline(), self.cloud, self.sign_in, self.key):
            asked.addWidget(widget)
            yield
        self._demo_words = self.tr("The demo follows a script. It needs no key, no network and no address.")
        self._demo = Note(self._demo_words)
        self._demo.setVisible(self._asked.isHidden())
        add_parts(self.column, self._demo, hairline())
        yield from self.add_rows(settings_of("model", _HAND_MADE))
        self.column.addStretch()
        self._chooser.chosen.connect(self._on_account)
        self.sign_in.grown.connect(self._on_grown)
        self._name.currentIndexChanged.connect(self._on_name)
        self._name.edit.editingFinished.connect(self._on_name)

    def _build_which(self) -> Iterator[None]:
        which = vbox(on=self._which, spacing=Space.M)
        form_of_account = AccountForm()
        yield
        self._chooser = AccountChooser(self.settings_actions, form_of_account)
        yield
        self._server = ServerNote(self.settings_actions)
        add_parts(which, field_row(self.tr("Account"), self._chooser, self._server), self._chooser.form)
        yield
        name = self.tr("Model")
        self._name = Picker(object_name="modelNameEdit", accessible_name=name, fills=True, is_editable=True)
        self._name.edit.setPlaceholderText(self.tr("Model name used by the server"))
        which.addLayout(field_row(name, self._name))
        yield
        self._address = AddressEditor(self.settings_actions, self._which)
        which.addLayout(field_row(self.tr("Address"), self._address))
        yield

    def _on_provider(self) -> None:
        provider = self._provider.currentData()
        self._connecting = ""
        if self.is_built:
            self._asked.setVisible(provider != DEMO)
            self._demo.setVisible(provider == DEMO)
        self.settings_actions.change("model.provider", provider)

    def _on_account(self, name: str) -> None:
        if name:
            self.settings_actions.change("model.account", name)
        else:
            self.settings_actions.reset("model.account")

    def _on_grown(self) -> None:
        content = self.widget()
        assert content is not None, "a page has it from the start"
        content.adjustSize()
        self.ensureWidgetVisible(self.sign_in)

    def _on_name(self) -> None:
        # Qt says that editing has finished at Enter, and again when the field loses the focus.
        name = self._name.currentText().strip()
        if name and name != self._known_name:
            self._known_name = name
            self.settings_actions.change("model.name", name)
