"""Looks for servers of models on this machine, at the addresses that are in force."""

import asyncio
from collections.abc import Callable

from desktop_agent.app.background_tasks import Try
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import LocalServer
from desktop_agent.core.providers.local import Place, is_here, local_places, look_at, look_for_servers
from desktop_agent.core.settings.model_choice import NamedModel


class LocalServers:
    """Looks for them beside the window."""

    def __init__(self, bench: Workbench, try_: Try, show: Callable[[Account, LocalServer], None]) -> None:
        """`show` shows what runs at the address of an account."""
        self._bench = bench
        self._try = try_
        self._show = show

    def look_for(self, account: Account) -> None:
        """Show whether the server of an account runs. Nothing is shown of one on another machine."""
        self._try(self._look_for(account))

    async def all(self) -> tuple[LocalServer, ...]:
        """Return what is at every place of this machine where a server may be."""
        chosen = self._bench.settings.model
        loaded = await asyncio.to_thread(self._bench.accounts.load)
        places = local_places(loaded.added, self._bench.environ, {chosen.provider: chosen.base_url})
        return await look_for_servers(places)

    async def _look_for(self, account: Account) -> None:
        meant = self._bench.model_meant(NamedModel(provider=account.provider, account=account.label))
        address = meant.base_url or account.where
        if is_here(address):
            self._show(account, await look_at(Place(provider=account.provider, address=address)))
