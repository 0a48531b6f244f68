"""The steps of the welcome dialog. Each has a title, fields or choices, and a button to the next step."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QCompleter, QFormLayout, QPushButton, QVBoxLayout, QWidget

from desktop_agent.core.base.web_address import is_readable_on_the_way
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.vendors import VENDORS, LocalServer, SignInWay, Vendor, vendor_of
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.translation import error_words, plural
from desktop_agent.ui.widgets.account_fields import AccountFields, ApiKeyField, BrowserWait, CloudFields
from desktop_agent.ui.widgets.buttons import Picker, make_button
from desktop_agent.ui.widgets.labels import Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, Part, add_parts, discard, hbox, vbox
from desktop_agent.ui.widgets.question import ChoiceCard


class InstalledAgent(Struct, frozen=True):
    """An agent of another program that is installed."""

    name: str
    title: str


class Found(Struct, frozen=True, kw_only=True):
    provider: str = ""
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """The environment variables that hold a key, by provider."""
    clouds: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """The settings of each cloud in the environment, by provider."""
    profiles: tuple[str, ...] = ()
    """The profiles of Anthropic's tools, the active one first."""
    others: tuple[str, ...] = ()
    """One text for each sign-in of another program: why it is not used, and what to do instead."""
    agents: tuple[InstalledAgent, ...] = ()
    has_keyring: bool = True


class Connected(Struct, frozen=True, kw_only=True):
    account: Account
    models: tuple[str, ...]
    usual_model: str
    who: str = ""
    """A sentence that says where a cloud is asked, and as whom."""
    note: str = ""


class WelcomeActions(Struct, frozen=True, kw_only=True):
    """Functions that carry out the dialog's requests. Each returns at once; the dialog gets the result later."""

    start_demo: Callable[[], None]
    choose_folder: Callable[[], None]
    look_for_servers: Callable[[], None]
    connect: Callable[[Account, str], None]
    """Tests an account with this key, or with its stored credential if the key is empty; keeps both if they work."""
    sign_in: Callable[[SignInWay, str], None]
    """Signs in as the account of this name (empty: the default account), and tests the account."""
    cancel: Callable[[], None]
    begin: Callable[[Account, str], None]
    """Uses this account and model for new conversations and the current one, and closes the dialog."""
    use_agent: Callable[[str], None]
    """Does the same with an agent of another program."""


class Step(QWidget):
    """One step. The dialog puts the step's buttons at its bottom, and shows only `primary` of them."""

    changed = Signal()  # the primary button may have changed
    leads_on = Signal(str)  # the name of the next step

    def __init__(self, title: str = "", explanation: str = "") -> None:
        super().__init__()
        self._title = make_label(title, role="title", wraps=True)
        self._explanation = make_label(explanation, role="secondary", wraps=True, is_plain=True)
        self.column: QVBoxLayout = vbox(self._title, self._explanation, Space.S, on=self, spacing=Space.XS)
        self.buttons: list[QPushButton] = []
        self.problem: Note | None = None
        """Where its problems stand, if not below the step."""
        self.first: QWidget | None = None
        """The widget that the user needs first."""

    @property
    def primary(self) -> QPushButton | None:
        return self.buttons[0] if self.buttons else None

    def add_button(self, text: str, object_name: str, clicked: Callable[[], object]) -> QPushButton:
        button = make_button(text, object_name, variant="primary", clicked=clicked)
        self.buttons.append(button)
        return button

    def begin(self) -> None:
        self.take_focus()

    def take_focus(self) -> None:
        if self.first is not None:
            self.first.setFocus()

    def forget(self) -> None:
        """Forget secrets that were typed."""


class KeyedStep(Step):
    def __init__(self, title: str, explanation: str) -> None:
        super().__init__(title, explanation)
        self.key = ApiKeyField()

    def forget(self) -> None:
        self.key.forget()


def form() -> QFormLayout:
    fields = QFormLayout()
    fields.setHorizontalSpacing(Space.L)
    fields.setVerticalSpacing(Space.M)
    fields.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
    fields.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return fields


class CardsStep(Step):
    """Offers cards, of which one can be chosen. A card's value can have its own button to the next step."""

    def __init__(self, theme: Theme, title: str, explanation: str) -> None:
        super().__init__(title, explanation)
        self._theme = theme
        self._cards: list[tuple[ChoiceCard, object]] = []
        self._by_value: dict[object, QPushButton] = {}
        self.cards = QWidget()
        self._card_column = vbox(on=self.cards, spacing=Space.S)
        self.column.addWidget(self.cards)

    @property
    def value(self) -> object:
        return next((value for card, value in self._cards if card.isChecked()), None)

    @property
    def primary(self) -> QPushButton | None:
        return self._by_value.get(self.value) or super().primary

    def offer(self, value: object, text: str, object_name: str, clicked: Callable[[], object]) -> None:
        self._by_value[value] = self.add_button(text, object_name, clicked)

    def show_choices(self, choices: Sequence[tuple[str, str, object]]) -> None:
        """`choices` are titles, explanations and values. Cards that are offered again keep choice and focus."""
        before = self.value
        kept = {(card.text(), card.accessibleDescription()): card for card, _ in self._cards}
        self._cards = []
        for title, text, value in choices:
            card = kept.pop((title, text), None) or self._new_card(title, text)
            self._card_column.insertWidget(len(self._cards), card)
            self._cards.append((card, value))
        for card in kept.values():
            self._card_column.removeWidget(card)
            discard(card)
        chosen = next((card for card, value in self._cards if value == before), None)
        if self._cards:
            (chosen or self._cards[0][0]).setChecked(True)

    def take_focus(self) -> None:
        if (card := next((card for card, _ in self._cards if card.isChecked()), None)) is not None:
            card.setFocus()

    def _new_card(self, title: str, text: str) -> ChoiceCard:
        card = ChoiceCard(self._theme, title, text, self.cards)
        card.show()  # at once, because it may get the focus
        card.toggled.connect(self._on_toggled)
        card.confirmed.connect(self._on_confirmed)
        return card

    def _on_confirmed(self) -> None:
        card = self.sender()
        assert isinstance(card, ChoiceCard)
        card.setChecked(True)
        if self.primary is not None:
            self.primary.click()

    def _on_toggled(self, is_chosen: bool) -> None:
        if is_chosen:
            self.changed.emit()


DEMO_WAY = "demo"

_NAME_WIDTH = 112
_MOST_AGENTS = 2
"""How many agents the first start offers. All are in the list of models."""


class ChooseStep(CardsStep):
    def __init__(self, theme: Theme, actions: WelcomeActions) -> None:
        title, explanation = self.tr("Welcome. Choose a model"), self.tr("You can change this at any time in Settings.")
        super().__init__(theme, title, explanation)
        self._actions = actions
        self.show_found(Found())
        self.offer(DEMO_WAY, self.tr("Start the demo"), "demoButton", self._on_clicked)
        self.offer("key", self.tr("Enter a key…"), "enterKeyButton", self._on_clicked)
        self.offer("local", self.tr("Look for models…"), "localModelsButton", self._on_clicked)
        self.offer("subscription", self.tr("Continue"), "subscriptionButton", self._on_clicked)
        self.offer("cloud", self.tr("Continue"), "cloudButton", self._on_clicked)
        self.offer("other", self.tr("Continue"), "otherAddressButton", self._on_clicked)
        self._use = self.add_button(self.tr("Use this agent"), "useAgentButton", self._on_use)
        self.column.addStretch()

    @property
    def primary(self) -> QPushButton | None:
        return self._use if isinstance(self.value, InstalledAgent) else super().primary

    def show_found(self, found: Found) -> None:
        demo = self.tr("No key, no network. A scripted model works on a small project with real tools.")
        key = self.tr("For Anthropic, OpenAI, OpenRouter or xAI. Kept in your system keyring, and nowhere else.")
        local = self.tr("With Ollama, LM Studio or llama.cpp. No key, and nothing leaves this machine.")
        plan = self.tr("Sign in with your ChatGPT plan, or use a profile of Anthropic's tools.")
        cloud = self.tr("With the credentials of the cloud's own tools, or with a key.")
        other = self.tr("Sign in with OpenRouter, or enter the address of any compatible server.")
        agent = self.tr("It needs no key here. What it changes can be reviewed and undone.")
        use = self.tr("Use {0}, which is installed")
        self.show_choices(
            [
                (self.tr("Try the demo"), demo, DEMO_WAY),
                *((use.format(one.title), agent, one) for one in found.agents[:_MOST_AGENTS]),
                (self.tr("Enter an API key"), key, "key"),
                (self.tr("Use a model on this machine"), local, "local"),
                (self.tr("Use a subscription"), plan, "subscription"),
                (self.tr("Claude through AWS, Google or Microsoft"), cloud, "cloud"),
                (self.tr("OpenRouter or another address"), other, "other"),
            ]
        )

    def _on_clicked(self) -> None:
        self.leads_on.emit(self.value)

    def _on_use(self) -> None:
        if isinstance(self.value, InstalledAgent):
            self._actions.use_agent(self.value.name)


class KeyStep(KeyedStep):
    def __init__(self, actions: WelcomeActions) -> None:
        super().__init__(
            self.tr("Enter an API key"),
            self.tr("The key is tested with the provider, at no cost, and then kept in your system keyring."),
        )
        self._actions = actions
        self._found = Found()
        vendors = [(vendor.label, vendor.id) for vendor in _keyed()]
        self._provider = Picker(accessible_name=self.tr("Provider"), choices=vendors, fills=True)
        self.first = self.key
        self._page = make_label(role="secondary", wraps=True, object_name="keysPageLink")
        self._page.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self._page.setOpenExternalLinks(True)
        self._there = Note()
        self._try = self.add_button(self.tr("Test and continue"), "tryKeyButton", self._on_try)
        fields = form()
        fields.addRow(self.tr("Provider"), self._provider)
        fields.addRow(self.tr("API key"), self.key)
        add_parts(self.column, fields, Space.S, self._there, self._page, STRETCH)
        self._provider.currentIndexChanged.connect(self._on_provider)
        self.key.changed.connect(self._update)
        self._on_provider()

    def show_found(self, found: Found) -> None:
        self._found = found
        if not found.has_keyring:
            self._explanation.setText(
                self.tr(
                    "The key is tested with the provider, at no cost. This system has no keyring to keep it "
                    "in, so it is used until you quit."
                )
            )
        places = map(self._provider.findData, (*found.keys, found.provider))
        self._provider.setCurrentIndex(next((place for place in places if place >= 0), 0))
        self._on_provider()

    @property
    def _vendor(self) -> Vendor:
        return vendor_of(str(self._provider.currentData()))

    def _on_provider(self) -> None:
        vendor = self._vendor
        variable = self._found.keys.get(vendor.id, "")
        show_text(self._there, variable and self.tr("Leave it empty to use the key in {0}.").format(variable))
        shown = vendor.keys_page.removeprefix("https://")
        self._page.setText(self.tr("Create a key at {0}").format(f'<a href="{vendor.keys_page}">{shown}</a>.'))
        self._update()

    def _update(self) -> None:
        self._try.setEnabled(bool(self.key.text) or self._vendor.id in self._found.keys)
        self.changed.emit()

    def _on_try(self) -> None:
        self._actions.connect(usual_account(self._vendor.id), self.key.text)


def _keyed() -> list[Vendor]:
    """Return the vendors that need a key, one for each keys page. Vendors that share a page differ only in format."""
    pages: dict[str, Vendor] = {}
    for vendor in VENDORS:
        if vendor.needs_key and vendor.keys_page:
            pages.setdefault(vendor.keys_page, vendor)
    return list(pages.values())


class AddressStep(KeyedStep):
    def __init__(self, actions: WelcomeActions) -> None:
        super().__init__(
            self.tr("Enter an address"),
            self.tr("The key is sent to this address only. The connection is tested before anything is saved."),
        )
        self._actions = actions
        formats = [
            (self.tr("Chat Completions: most servers"), "openai-chat"),
            (self.tr("OpenAI's Responses"), "openai"),
            (self.tr("Anthropic's Messages"), "anthropic"),
        ]
        self._speaks = Picker(accessible_name=self.tr("Format"), choices=formats, fills=True)
        self._fields = AccountFields("newAccountNameEdit", "newAddressEdit", may_need_no_key=True)
        self._fields.address.setPlaceholderText("https://models.example/v1")
        self.first = self._fields.name
        self.problem = self._problem = Note(role="error", object_name="addressProblem")
        self._try = self.add_button(self.tr("Test and continue"), "tryAddressButton", self._on_try)
        fields = form()
        fields.addRow(self.tr("Name"), self._fields.name)
        fields.addRow(self.tr("Address"), self._fields.address)
        fields.addRow(self.tr("Format"), self._speaks)
        fields.addRow(self.tr("Key sent as"), self._fields.header)
        fields.addRow(self.tr("API key"), self.key)
        add_parts(self.column, fields, Space.S, self._problem, STRETCH)
        self._fields.changed.connect(self._update)
        self.key.changed.connect(self._update)
        self._update()

    @property
    def _account(self) -> Account:
        return self._fields.account(self._speaks.currentData())

    def _update(self) -> None:
        account, is_filled = self._account, self._fields.is_filled
        self._problem.setToolTip("")
        is_keyless = account.kind == "none"
        self.key.setEnabled(not is_keyless)
        reason = self._fields.problem_with(account) if is_filled else ""
        self._try.setEnabled(is_filled and not reason and (is_keyless or bool(self.key.text)))
        if not reason and is_readable_on_the_way(account.address):
            text = self.tr("Not encrypted: anyone on the way can read the key and the conversation.")
            self._problem.say(text, "warning")
        else:
            self._problem.say(reason, "error")
        self.changed.emit()

    def _on_try(self) -> None:
        self._actions.connect(self._account, self.key.text if self._account.kind == "key" else "")


class CloudStep(KeyedStep):
    def __init__(self, actions: WelcomeActions) -> None:
        super().__init__(
            self.tr("Claude through AWS, Google or Microsoft"),
            self.tr("The check shows where requests go, and as whom. It asks no model, so it costs nothing."),
        )
        self._actions = actions
        self._found = Found()
        clouds = [(vendor.label, vendor.id) for vendor in VENDORS if vendor.cloud is not None]
        self._provider = Picker(object_name="cloudPicker", accessible_name=self.tr("Cloud"), choices=clouds, fills=True)
        self.first = self._provider
        self._fields = CloudFields(_lay_out_row)
        self._key_row = QWidget()
        self._there = Note()
        self.problem = self._problem = Note(role="error", object_name="cloudProblem")
        self._try = self.add_button(self.tr("Check and continue"), "tryCloudButton", self._on_try)
        choice = QWidget()
        _lay_out_row(self.tr("Cloud"), self._provider, on=choice)
        _lay_out_row(self.tr("API key"), self.key, self._there, on=self._key_row)
        rows = (choice, Space.M, self._fields, Space.M, self._key_row, Space.S, self.problem)
        add_parts(self.column, *rows, STRETCH)
        self._provider.currentIndexChanged.connect(self._on_provider)
        self._fields.changed.connect(self._update)
        self._fields.confirmed.connect(self._on_try)
        self.key.changed.connect(self._update)
        self._on_provider()

    def show_found(self, found: Found) -> None:
        self._found = found
        self._fields.has_keyring = found.has_keyring
        said = [cloud for cloud in found.clouds if cloud in found.keys or found.clouds[cloud]]
        self._provider.setCurrentIndex(max(self._provider.findData(next(iter(said), "")), 0))
        self._on_provider()

    @property
    def _vendor(self) -> Vendor:
        return vendor_of(str(self._provider.currentData()))

    def _on_provider(self) -> None:
        vendor = self._vendor
        said = self._found.clouds.get(vendor.id, {})
        account = usual_account(vendor.id)
        kind = "key" if vendor.id in self._found.keys else account.kind
        self._fields.show_account(vendor, replace(account, kind=kind, cloud=dict(said)), said)
        variable = self._found.keys.get(vendor.id, "")
        show_text(self._there, variable and self.tr("Leave it empty to use the key in {0}.").format(variable))
        self._update()

    def _update(self) -> None:
        takes_key = self._fields.takes_key
        self._key_row.setVisible(takes_key)
        self._problem.say("")
        self._problem.setToolTip("")
        self._try.setEnabled(not takes_key or bool(self.key.text) or self._vendor.id in self._found.keys)
        self.changed.emit()

    def _on_try(self) -> None:
        account = self._fields.account(usual_account(self._vendor.id))
        self._problem.say(self._fields.problem_with(account), "error")
        if not self._problem.text() and self._try.isEnabled():
            self._actions.connect(account, self.key.text if self._fields.takes_key else "")


def _lay_out_row(name: str, *parts: Part, on: QWidget) -> None:
    label = make_label(name)
    label.setFixedWidth(_NAME_WIDTH)
    label.setMinimumHeight(Height.BUTTON)
    hbox((label, Qt.AlignmentFlag.AlignTop), (vbox(*parts, spacing=Space.XS), 1), on=on, spacing=Space.L)


class LocalStep(CardsStep):
    def __init__(self, theme: Theme, actions: WelcomeActions) -> None:
        explanation = self.tr("Servers are looked for on this machine only. They need no key.")
        super().__init__(theme, self.tr("Use a model on this machine"), explanation)
        self._actions = actions
        self._absent = Note(object_name="absentServersNote")
        self._again = make_button(self.tr("Look again"), "lookAgainButton", clicked=self.look)
        self._use = self.add_button(self.tr("Use this server"), "useServerButton", self._on_use)
        add_parts(self.column, Space.S, self._absent, Space.S, hbox(self._again, STRETCH), STRETCH)

    def begin(self) -> None:
        self.look()
        self.take_focus()

    def take_focus(self) -> None:
        if isinstance(self.value, LocalServer):
            super().take_focus()
        else:
            self._again.setFocus()

    def look(self) -> None:
        self._again.setText(self.tr("Looking…"))
        self._use.setEnabled(isinstance(self.value, LocalServer))
        self._actions.look_for_servers()

    def show_servers(self, servers: Sequence[LocalServer]) -> None:
        self._again.setText(self.tr("Look again"))
        usable = [server for server in servers if server.is_usable]
        running = {server.provider for server in usable}
        absent = [server for server in servers if not server.is_usable and server.provider not in running]
        self.show_choices([(server.label, _what(server), server) for server in usable])
        self.cards.setVisible(bool(usable))
        show_text(self._absent, "\n\n".join(error_words(server) for server in absent))
        self._use.setEnabled(bool(usable))
        if usable and self._again.hasFocus():
            super().take_focus()
        self.changed.emit()

    def _on_use(self) -> None:
        server = self.value
        if isinstance(server, LocalServer):
            account = usual_account(server.provider)
            is_usual = server.address == vendor_of(server.provider).address
            self._actions.connect(account if is_usual else replace(account, address=server.address), "")


def _what(server: LocalServer) -> str:
    models = ", ".join(server.models[:2])
    if (more := len(server.models) - 2) > 0:
        models = QCoreApplication.translate("LocalStep", "{0} and {1} more").format(models, more)
    return f"{server.place} · {models}"


class OtherStep(CardsStep):
    def __init__(self, theme: Theme, actions: WelcomeActions) -> None:
        title = self.tr("OpenRouter or another address")
        super().__init__(theme, title, self.tr("One account for the models of many vendors."))
        router = self.tr("Your browser opens OpenRouter's page. It makes a key, which is kept in your keyring.")
        address = self.tr(
            "The address of a gateway, a router or a server that speaks one of OpenAI's or Anthropic's formats."
        )
        sign_in, enter = self.tr("Sign in with OpenRouter"), self.tr("Enter an address")
        self.show_choices([(sign_in, router, "openrouter"), (enter, address, "address")])
        self.offer("openrouter", self.tr("Sign in…"), "routerSignInButton", partial(actions.sign_in, "openrouter", ""))
        enter_address = partial(self.leads_on.emit, "address")
        self.offer("address", self.tr("Enter an address…"), "enterAddressButton", enter_address)
        self.column.addStretch()


class SubscriptionStep(CardsStep):
    def __init__(self, theme: Theme, actions: WelcomeActions) -> None:
        explanation = self.tr("Providers allow other programs to use it only in these ways.")
        super().__init__(theme, self.tr("Use a subscription"), explanation)
        self._actions = actions
        self._others = Note(object_name="otherProgramsNote")
        self._sign_in = self.add_button(self.tr("Sign in…"), "signInButton", self._on_go)
        self._use = self.add_button(self.tr("Use this profile"), "useProfileButton", self._on_go)
        add_parts(self.column, Space.M, self._others, STRETCH)
        self.show_found(Found())

    @property
    def primary(self) -> QPushButton:
        return self._use if self.value else self._sign_in

    def show_found(self, found: Found) -> None:
        chatgpt = self.tr("Your browser opens OpenAI's page, where you allow this application to use your plan.")
        profile = self.tr("Your organisation's API access, through the sign-in of Anthropic's own tools.")
        self.show_choices(
            [
                (self.tr("Sign in with ChatGPT"), chatgpt, ""),
                *((self.tr("Anthropic profile “{0}”").format(name), profile, name) for name in found.profiles),
            ]
        )
        claude = self.tr(
            "A Claude subscription cannot be used here: Anthropic does not permit other applications to sign in with "
            "one. Use an API key, or a profile of Anthropic's own tools (`ant auth login`)."
        )
        has_claude = any("Claude" in text for text in found.others)
        self._others.setText("\n\n".join(found.others if has_claude else (*found.others, claude)))

    def _on_go(self) -> None:
        name = str(self.value or "")
        self._actions.sign_in("profile" if name else "chatgpt", name)


class WaitingStep(Step):
    def __init__(self) -> None:
        super().__init__(
            self.tr("Sign in"), self.tr("The sign-in continues in your browser, on the service's own page.")
        )
        self.wait = BrowserWait()
        add_parts(self.column, self.wait, STRETCH)


class DoneStep(Step):
    def __init__(self, actions: WelcomeActions) -> None:
        super().__init__()
        self._actions = actions
        self._connected: Connected | None = None
        name = self.tr("Model")
        self._model = Picker(object_name="firstModelEdit", accessible_name=name, fills=True, is_editable=True)
        completer = self._model.completer()
        assert completer is not None, "an editable box has one"
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self._note = Note(role="warning", object_name="connectionNote")
        self.first = self._begin = self.add_button(self.tr("Begin"), "beginButton", self._on_begin)
        self._model.editTextChanged.connect(self._update)
        hint = Note(self.tr("Another one can be chosen below the message field at any time."))
        heading = make_label(name, role="strong")
        self._who = Note(object_name="identityNote")
        add_parts(self.column, heading, self._model, Space.S, hint, Space.S, self._who, self._note, STRETCH)

    def show_connected(self, connected: Connected) -> None:
        self._connected = connected
        self._title.setText(self.tr("Connected with {0}").format(connected.account.full_label))
        one = "It has one model. New conversations begin with the one that you choose here."
        many = "It has %n models. New conversations begin with the one that you choose here."
        self._explanation.setText(plural("DoneStep", len(connected.models), one, many))
        self._model.clear()
        self._model.addItems(connected.models)
        self._model.setCurrentText(connected.usual_model)
        show_text(self._who, connected.who)
        show_text(self._note, connected.note)
        self._update()

    def _update(self) -> None:
        self._begin.setEnabled(bool(self._model.currentText().strip()))

    def _on_begin(self) -> None:
        if self._connected is not None:
            self._actions.begin(self._connected.account, self._model.currentText().strip())
