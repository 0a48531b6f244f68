"""Asks the address of new conversations for its models again when its list is old. Never in the way of anything."""

import asyncio
import logging

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.vendors import known_vendor

logger = logging.getLogger(__name__)


async def refresh_old_list(bench: Workbench) -> None:
    """Refresh the list if there is one that is older than a day; a failure changes nothing and is only logged.

    An address that was never asked for its models is not asked unbidden: a key would travel before the user did
    anything.
    """
    model = bench.default_model()
    if known_vendor(model.provider) is None:
        return
    try:
        account = (await asyncio.to_thread(bench.accounts.load)).of_model(model)
        await bench.models.read(account)
        if bench.models.is_old(account):
            await bench.models.refresh(account)
    except AgentError as error:
        logger.info("The list of models was not refreshed: %s", error.title)
