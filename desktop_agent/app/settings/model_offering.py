"""Keeps the model picker up to date, and carries out what is chosen in it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.settings.model_lists import ModelLists
from desktop_agent.app.settings.model_offers import accounts_offered, at_address, demo_offers
from desktop_agent.app.settings.setup import Setup
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.models.account import USUAL, Account
from desktop_agent.core.models.vendors import known_vendor, vendor_of
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.keys import beside, entry_of, resolve_key
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.ui.models.model_offers import AccountOffers, ModelKey


class ModelOffering(QObject):
    """Gives the picker accounts with their models whenever it opens. None of it blocks the window."""

    def __init__(self, panels: WindowPanels, bench: Workbench, setup: Setup, try_: Try) -> None:
        super().__init__(panels.window)
        self._picker = panels.models
        self._pickers = panels.pickers
        self._controls = panels.wiring.controls
        self._bench = bench
        self._setup = setup
        self._try = try_
        self._accounts: tuple[Account, ...] = ()
        """Those that are offered."""
        self._has_key: dict[str, bool] = {}
        """What the keyring said last, by its entries."""
        self._lists = ModelLists(bench.models, changed=self._show)
        self._picker.opened.connect(self._on_opened)
        self._pickers.model_shown.connect(self._on_shown)
        self._picker.chosen.connect(self._on_chosen)
        self._picker.connect_requested.connect(self._on_connect)
        self._picker.refresh_requested.connect(self._on_refresh)

    def _on_shown(self, model: ModelRef) -> None:
        if known_vendor(model.provider) is not None:
            self._try(self._name(model))

    async def _name(self, model: ModelRef) -> None:
        """Let the button say what people call the model, as the list of the model's account has it."""
        loaded = await asyncio.to_thread(self._bench.accounts.load)
        try:
            account = loaded.of_model(model)
        except AgentError:  # its account is not there: its name is all that is known
            return
        await self._bench.models.read(account)
        self._pickers.show_label(model, self._bench.models.model(account, model.model).label)

    def _on_opened(self) -> None:
        self._try(self._offer())

    def _on_chosen(self, key: ModelKey, effort: str | None) -> None:
        """Ask the session for it, as `/model` does: by the same account what is set besides stays as it is."""
        now = self._controls.model
        is_same = now is not None and (now.provider, now.account) == (key.provider, key.account)
        account = None if is_same else key.account or USUAL
        meant = NamedModel(provider=key.provider, model=key.model, account=account, effort=effort)
        self._controls.set_model(self._bench.model_meant(meant, now))

    def _on_connect(self, account: AccountOffers) -> None:
        self._setup.connect_provider(account.provider)

    def _on_refresh(self) -> None:
        self._try(self._lists.refresh([account for account in self._accounts if self._is_connected(account)]))

    async def _offer(self) -> None:
        """Show what is known at once, and the rest when the keyring has answered: it may ask the user first."""
        loaded = await asyncio.to_thread(self._bench.accounts.load)
        self._accounts = tuple(accounts_offered(loaded, self._controls.model, self._reached))
        await self._lists.read(self._accounts)
        self._show()
        if asked := [account for account in self._accounts if not self._needs_no_keyring(account)]:
            self._has_key = await beside(lambda: self._keys_of(asked))
            self._show()
        await self._lists.look_around(self._accounts)

    def _show(self) -> None:
        offered = (
            self._lists.offers(account, is_connected=is_connected)
            for account in self._accounts
            if (is_connected := self._is_connected(account)) is not None
        )
        self._picker.show_accounts([*offered, demo_offers()])
        if (now := self._controls.model) is not None:
            self._on_shown(now)  # a list may have come that has a name for it

    def _is_connected(self, account: Account) -> bool | None:
        """Whether an account can be asked; `None` while only the keyring knows."""
        return True if self._needs_no_keyring(account) else self._has_key.get(entry_of(account))

    def _needs_no_keyring(self, account: Account) -> bool:
        """Whether an account has a credential, or needs none, whatever the keyring says."""
        variable = vendor_of(account.provider).key_variable if account.is_usual else ""
        has_variable = bool(variable) and bool(self._bench.environ.get(variable, "").strip())
        return account.kind != "key" or has_variable or bool(self._bench.keys.kept_for_now(entry_of(account)))

    def _keys_of(self, accounts: Sequence[Account]) -> dict[str, bool]:
        """Look which accounts have a key. Blocks. A keyring that cannot be read is asked once, and has none."""
        found = dict.fromkeys(map(entry_of, accounts), False)
        with suppress(CredentialsError):
            for account in accounts:
                key = resolve_key(account, self._bench.environ, self._bench.keys)
                found[entry_of(account)] = key.value is not None
        return found

    def _reached(self, account: Account) -> Account:
        """Return the account at the address where new conversations would ask it."""
        meant = NamedModel(provider=account.provider, account=account.label)
        return at_address(account, self._bench.model_meant(meant).base_url)
