"""What sessions ask about the abilities of models: the catalogue knows, by the account that a model is asked by."""

import asyncio
from collections.abc import Awaitable, Callable

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.catalogue import ModelCatalogue
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import AccountsFile


def sight_of(accounts: AccountsFile, models: ModelCatalogue) -> Callable[[ModelRef], Awaitable[bool | None]]:
    """Return what tells whether a model takes pictures; `None` where nobody says."""

    def look(model: ModelRef) -> bool | None:
        try:
            return models.model(accounts.load().of_model(model), model.model).takes_images
        except AgentError:  # a provider or an account that is not there is said where the model is asked
            return None

    async def takes_images(model: ModelRef) -> bool | None:
        return await asyncio.to_thread(look, model)

    return takes_images
