"""The lists of models of the accounts that are offered: read, asked for anew, and why that did not work."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from desktop_agent.app.settings.model_offers import offers_of
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.catalogue import ModelCatalogue
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.models.vendors import LocalServer, vendor_of
from desktop_agent.core.providers.local import Place, is_here, look_at
from desktop_agent.ui.models.model_offers import AccountOffers

_Key = tuple[str, str]


class ModelLists:
    """What the catalogue has of each account, and what is being done about it."""

    def __init__(self, catalogue: ModelCatalogue, changed: Callable[[], None]) -> None:
        """`changed` is called when a list, or the work on one, is another than before."""
        self._catalogue = catalogue
        self._changed = changed
        self._models: dict[_Key, Sequence[KnownModel]] = {}
        self._refreshing: set[_Key] = set()
        self._problems: dict[_Key, str] = {}

    def offers(self, account: Account, *, is_connected: bool) -> AccountOffers:
        """Return what the picker shows of an account that was read."""
        key = _key(account)
        return offers_of(
            account,
            self._models.get(key, ()),
            is_connected=is_connected,
            listed_at=self._catalogue.fetched_at(account),
            is_refreshing=key in self._refreshing,
            problem=self._problems.get(key, ""),
        )

    async def read(self, accounts: Iterable[Account]) -> None:
        """Read what the catalogue keeps of these accounts."""
        for account in accounts:
            self._models[_key(account)] = await self._catalogue.read(account)

    async def refresh(self, accounts: Iterable[Account]) -> None:
        """Ask the addresses of these accounts, all at once. Why one could not be read is part of its offers."""
        asked = [account for account in accounts if _key(account) not in self._refreshing]
        self._refreshing |= set(map(_key, asked))
        self._changed()
        await asyncio.gather(*map(self._refresh, asked))

    async def look_around(self, accounts: Iterable[Account]) -> None:
        """Offer the models of servers that run on this machine. Nothing is said of those that do not."""
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
                self._models[key] = await self._catalogue.refresh(account)
        except AgentError as error:
            problem = " ".join(filter(None, (error.title, error.hint)))
        finally:
            self._refreshing.discard(key)
        self._problems[key] = problem
        self._changed()


async def _why_not(account: Account) -> str:
    """Return why a server on this machine cannot be asked, in words; empty when it can, or is elsewhere."""
    if not vendor_of(account.provider).is_local or not is_here(account.where):
        return ""
    server = await _server_of(account)
    return "" if server.is_usable else server.words


async def _server_of(account: Account) -> LocalServer:
    return await look_at(Place(provider=account.provider, address=account.where))


def _key(account: Account) -> _Key:
    return account.provider, account.name
