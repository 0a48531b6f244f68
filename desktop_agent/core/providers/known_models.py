"""What is known of the model that a session names, by the account that it names."""

import asyncio

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.catalogue import ModelCatalogue
from desktop_agent.core.models.known_model import KnownModel, levels_of
from desktop_agent.core.models.vendors import known_vendor
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import AccountsFile


class KnownModels:
    """Finds them. Reads files, off the loop, and asks no network."""

    def __init__(self, catalogue: ModelCatalogue, accounts: AccountsFile) -> None:
        self._catalogue = catalogue
        self._accounts = accounts

    async def of(self, model: ModelRef) -> KnownModel | None:
        """Return what is known of a model; `None` for one without a vendor, and while its account is not there."""
        if known_vendor(model.provider) is None:
            return None
        try:
            account = await asyncio.to_thread(self._account, model)
        except AgentError:
            return None
        await self._catalogue.read(account)
        return self._catalogue.model(account, model.model)

    async def takes_images(self, model: ModelRef) -> bool | None:
        """Return whether a model sees pictures; `None` where nobody says."""
        known = await self.of(model)
        return known.takes_images if known is not None else None

    async def efforts(self, model: ModelRef) -> tuple[str, ...] | None:
        """Return the levels of effort that may be asked of a model; `None` where nothing is known of it."""
        known = await self.of(model)
        return levels_of(known) if known is not None else None

    def _account(self, model: ModelRef) -> Account:
        return self._accounts.load().of_model(model)
