"""Which session the window begins with. Blocks: use a thread."""

import os
from collections.abc import Iterable

from desktop_agent.app.startup.arguments import NEWEST, WindowArguments
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.system.workspace import current_folder


def first_session(catalog: Catalog, arguments: WindowArguments) -> SessionId | None:
    """Return the session that the command line asks for, else the one last used; None when it is none.

    Raises `AgentError` when the one that was asked for is not there.
    """
    if arguments.is_demo:
        return None
    if arguments.resume == NEWEST:
        return catalog.latest(arguments.workspace or current_folder())
    if arguments.resume is not None:
        return catalog.find(arguments.resume)
    return _last_usable(catalog.summaries()) if arguments.workspace is None else None


def _last_usable(summaries: Iterable[SessionSummary]) -> SessionId | None:
    """The session last used whose folder is still there."""
    found = (item for item in summaries if item.workspace and item.is_listed)
    return next((item.id for item in found if os.path.isdir(item.workspace)), None)  # noqa: PTH112 - Path's raises
