"""Updates the model picker with the accounts' models, and carries out the choice."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.settings.settings_dialog import Setup
from desktop_agent.core.agents.definition import (
    FoundAgent,
    look_for_agents,
    read_agents,
    title_of,
)
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.models.account import USUAL, Account
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.models.model_catalog import FREE, ModelCatalog
from desktop_agent.core.models.vendors import DEMO, VENDORS, LocalServer, known_vendor, vendor_of
from desktop_agent.core.protocol.model import AGENTS, ModelRef
from desktop_agent.core.protocol.ops import SetMode
from desktop_agent.core.providers.auth.accounts import LoadedAccounts
from desktop_agent.core.providers.auth.keys import entry_of, in_daemon_thread, resolve_key
from desktop_agent.core.providers.local import Place, is_here, look_at
from desktop_agent.core.providers.provider import EarlyStart
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.ui.models.model_offers import AccountOffers, ModelKey, ModelOffer


def accounts_offered(
    loaded: LoadedAccounts,
    now: ModelRef | None,
    reached: Callable[[Account], Account],
    environ: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Account]:
    """Yield the current model's account first. Accounts with the same address and key are offered once.

    The usual account of a cloud is offered if the user, the environment or the current model names it.
    """
    if loaded.problems:
        return
    seen: set[tuple[str, str]] = set()
    for vendor in sorted(VENDORS, key=lambda vendor: now is None or vendor.id != now.provider):
        place = (vendor.address, vendor.key_variable)
        is_named = any(account.provider == vendor.id for account in loaded.added)
        if place not in seen or is_named:
            accounts = loaded.of(vendor.id)
            is_present = now is not None and now.provider == vendor.id
            if vendor.cloud is not None and not is_present and not environ.get(vendor.key_variable):
                accounts = tuple(account for account in accounts if account in loaded.added)
            for account in sorted(accounts, key=lambda account: now is None or account.name != now.account):
                yield _in_force(loaded, account, now) or reached(account)
        seen.add(place)


def demo_offers() -> AccountOffers:
    label = QCoreApplication.translate("Models", "Demo model")
    offer = ModelOffer(ModelKey(DEMO, "", DEMO), KnownModel(provider=DEMO, name=DEMO, label=label, price=FREE))
    heading = QCoreApplication.translate("Models", "Without a key")
    return AccountOffers(provider=DEMO, label=heading, models=(offer,), is_fixed=True)


_tr = partial(QCoreApplication.translate, "Models")


def agent_offers(agents: Sequence[FoundAgent]) -> AccountOffers:
    """Return the offer of agents; if there are none, it leads to where they are added."""
    if not agents:
        return AccountOffers(provider=AGENTS, label=_tr("an agent of another program"), is_connected=False)
    offers = (
        ModelOffer(
            ModelKey(AGENTS, "", agent.definition.name),
            KnownModel(provider=AGENTS, name=agent.definition.name, label=agent.title),
            _tr("outside the sandbox") if agent.definition.sandbox is None else _tr("in the sandbox"),
        )
        for agent in agents
        if not agent.missing
    )
    text = _tr("{0} is not offered: there is no program {1}.")
    missing = (text.format(agent.title, agent.missing) for agent in agents if agent.missing)
    return AccountOffers(
        provider=AGENTS, label=_tr("Agents"), models=tuple(offers), problem=" ".join(missing), is_fixed=True
    )


def _in_force(loaded: LoadedAccounts, account: Account, now: ModelRef | None) -> Account | None:
    if now is None or (now.provider, now.account) != (account.provider, account.name) or not known_vendor(now.provider):
        return None
    try:
        return loaded.of_model(now)
    except AgentError:  # the address belongs to another provider, so it is not in force
        return None


_Key = tuple[str, str]


class ModelLists:
    def __init__(self, catalog: ModelCatalog, changed: Callable[[], None]) -> None:
        self._catalog = catalog
        self._changed = changed
        self._models: dict[_Key, Sequence[KnownModel]] = {}
        self._refreshing: set[_Key] = set()
        self._problems: dict[_Key, str] = {}

    def offers(self, account: Account, *, is_connected: bool) -> AccountOffers:
        key = _key(account)
        models = self._models.get(key, ())
        return AccountOffers(
            provider=account.provider,
            account=account.name,
            label=account.full_label,
            models=tuple(ModelOffer(ModelKey(account.provider, account.name, model.name), model) for model in models),
            is_connected=is_connected,
            is_plan=account.kind == "oauth",
            is_listing=_has_list(account),
            listed_at=self._catalog.fetched_at(account),
            is_refreshing=key in self._refreshing,
            problem=self._problems.get(key, ""),
        )

    async def read(self, accounts: Iterable[Account]) -> None:
        for account in accounts:
            self._models[_key(account)] = await self._catalog.read(account)

    async def refresh(self, accounts: Iterable[Account]) -> None:
        asked = [account for account in accounts if _has_list(account) and _key(account) not in self._refreshing]
        self._refreshing |= set(map(_key, asked))
        self._changed()
        await asyncio.gather(*map(self._refresh, asked))

    async def look_around(self, accounts: Iterable[Account]) -> None:
        local = [account for account in accounts if vendor_of(account.provider).is_local and is_here(account.where)]
        found = await asyncio.gather(*map(_server_of, local))
        running = [account for account, server in zip(local, found, strict=True) if server.is_usable]
        if running:
            await self.refresh(running)

    async def _refresh(self, account: Account) -> None:
        key = _key(account)
        try:
            problem = await _why_not(account)
            if not problem:
                self._models[key] = await self._catalog.refresh(account)
        except AgentError as error:
            problem = " ".join(filter(None, (error.title, error.hint)))
        finally:
            self._refreshing.discard(key)
        self._problems[key] = problem
        self._changed()


async def _why_not(account: Account) -> str:
    if not vendor_of(account.provider).is_local or not is_here(account.where):
        return ""
    server = await _server_of(account)
    return "" if server.is_usable else server.words


async def _server_of(account: Account) -> LocalServer:
    return await look_at(Place(provider=account.provider, address=account.where))


def _has_list(account: Account) -> bool:
    """Whether an account can list its models. A cloud cannot: ours are known, and asking would start a process."""
    return vendor_of(account.provider).cloud is None


def _key(account: Account) -> _Key:
    return account.provider, account.name


class ModelOffering(Controller):
    def __init__(self, context: WindowContext, setup: Setup) -> None:
        super().__init__(context)
        self._picker = self._panels.models
        self._pickers = self._panels.pickers
        self._session = self._panels.session
        self._setup = setup
        self._accounts: tuple[Account, ...] = ()
        self._agents: tuple[FoundAgent, ...] = ()
        self._has_key: dict[str, bool] = {}
        """Whether the keyring has a key, by the name of its entry."""
        self._lists = ModelLists(self._bench.models, changed=self._show)
        self._picker.opened.connect(in_background(self._launch, self._offer))
        self._early = EarlyStart(self._bench.opener.started_early)
        self._pickers.model_shown.connect(self._early.follow)  # also before the conversation has a session
        self._pickers.model_shown.connect(self._on_shown)
        self._pickers.effort_chosen.connect(self._on_effort)
        self._picker.chosen.connect(self._on_chosen)
        self._picker.connect_requested.connect(self._on_connect)
        self._picker.refresh_requested.connect(in_background(self._launch, self._refresh))

    async def aclose(self) -> None:
        await self._early.aclose()

    def _on_shown(self, model: ModelRef) -> None:
        if model.is_agent:
            if (title := title_of(model.model)) != model.model:
                self._pickers.show_label(model, title)
        elif known_vendor(model.provider) is not None:
            self._launch(self._name(model))

    async def _name(self, model: ModelRef) -> None:
        loaded = await asyncio.to_thread(self._bench.accounts.load)
        try:
            account = loaded.of_model(model)
        except AgentError:  # its account is missing: only its name is available
            return
        await self._bench.models.read(account)
        known = self._bench.models.model(account, model.model)
        self._pickers.show_label(model, known.label, known.efforts or ())

    def _on_chosen(self, key: ModelKey, effort: str | None) -> None:
        now = self._session.transcript.session.model
        is_same = now is not None and (now.provider, now.account) == (key.provider, key.account)
        account = None if is_same else key.account or USUAL
        meant = NamedModel(provider=key.provider, model=key.model, account=account, effort=effort)
        self._session.submit(SetMode(model=self._bench.model_meant(meant, now)))

    def _on_effort(self, level: str) -> None:
        if (now := self._session.transcript.session.model) is not None:
            self._on_chosen(ModelKey(now.provider, now.account, now.model), level)

    def _on_connect(self, account: AccountOffers) -> None:
        self._setup.open_for(account.provider)

    async def _refresh(self) -> None:
        await self._lists.refresh([account for account in self._accounts if self._is_connected(account)])

    async def _offer(self) -> None:
        """Show the available accounts now, and the rest once the keyring answers, because it may ask the user first."""
        loaded = await asyncio.to_thread(self._bench.accounts.load)
        session = self._session.transcript.session
        self._agents = await asyncio.to_thread(self._agents_in, Path(session.workspace))
        now = session.model
        self._accounts = tuple(accounts_offered(loaded, now, self._reached, self._bench.environ))
        await self._lists.read(self._accounts)
        self._show()
        if asked := [account for account in self._accounts if not self._needs_no_keyring(account)]:
            self._has_key = await in_daemon_thread(lambda: self._keys_of(asked))
            self._show()
        await self._lists.look_around(self._accounts)
        connected = filter(self._is_connected, self._accounts)
        if old := [account for account in connected if self._bench.models.is_old(account)]:
            await self._lists.refresh(old)

    def _agents_in(self, root: Path) -> tuple[FoundAgent, ...]:
        tables = self._bench.settings_in(root).loaded.tables
        return look_for_agents(read_agents(tables).agents, self._bench.environ, root).agents

    def _show(self) -> None:
        offered = (
            self._lists.offers(account, is_connected=is_connected)
            for account in self._accounts
            if (is_connected := self._is_connected(account)) is not None
        )
        self._picker.show_accounts([*offered, agent_offers(self._agents), demo_offers()])
        if (now := self._session.transcript.session.model) is not None:
            self._on_shown(now)  # a new list may have its display name

    def _is_connected(self, account: Account) -> bool | None:
        """Whether an account's models can be used; `None` until the keyring has answered."""
        return True if self._needs_no_keyring(account) else self._has_key.get(entry_of(account))

    def _needs_no_keyring(self, account: Account) -> bool:
        variable = vendor_of(account.provider).key_variable if account.is_usual else ""
        has_variable = bool(variable) and bool(self._bench.environ.get(variable, "").strip())
        return account.kind != "key" or has_variable or bool(self._bench.keys.kept_for_now(entry_of(account)))

    def _keys_of(self, accounts: Sequence[Account]) -> dict[str, bool]:
        """Return which accounts have a key. Blocks. After a failure, the keyring is not asked again."""
        found = dict.fromkeys(map(entry_of, accounts), False)
        with suppress(CredentialsError):
            for account in accounts:
                key = resolve_key(account, self._bench.environ, self._bench.keys)
                found[entry_of(account)] = key.value is not None
        return found

    def _reached(self, account: Account) -> Account:
        meant = NamedModel(provider=account.provider, account=account.label)
        address = self._bench.model_meant(meant).base_url
        return replace(account, address=address) if address else account
