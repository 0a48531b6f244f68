"""What the window shows before the code that opens sessions is loaded: all sessions, and the end of the one to open."""

import os
from importlib import import_module
from pathlib import Path

from msgspec import Struct

from desktop_agent.app.startup.arguments import NEWEST, WindowArguments
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.records import Yielder, read_last_page
from desktop_agent.core.store.session_folder import is_locked
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.markdown.block_parser import parser
from desktop_agent.ui.runtime.eventloop import idle
from desktop_agent.ui.window.session_handle import OwnSession


def first_session(catalog: Catalog, arguments: WindowArguments) -> SessionId | None:
    """Return the session that the command line asks for, else the one last used, if any.

    Raises `AgentError` when the one that was asked for does not exist.
    """
    if arguments.is_demo:
        return None
    if arguments.resume == NEWEST:
        return catalog.latest(arguments.workspace or current_folder())
    if arguments.resume is not None:
        return catalog.find(arguments.resume)
    if arguments.workspace is not None:
        return None
    found = (item for item in catalog.summaries() if item.workspace and item.is_listed)
    return next((item.id for item in found if os.path.isdir(item.workspace)), None)  # noqa: PTH112 - Path's raises


class FirstSight(Struct, frozen=True):
    """All sessions, and the end of the session to go on with, if that can be read and written to."""

    summaries: list[SessionSummary]
    session_id: SessionId | None = None
    end: Transcript | None = None


async def show_first_sight(panels: WindowPanels, found: FirstSight | None) -> OwnSession | None:
    """Show what was read, and return the shown session, to which the user can write already; None if there is none.

    A session that cannot be read or is open elsewhere is left to the controller, which says why.
    """
    if found is None:
        return None
    panels.sessions.set_sessions(
        one for one in found.summaries if one.is_listed or one.is_archived or one.id == found.session_id
    )
    if found.session_id is None or found.end is None:
        return None
    workspace = found.end.session.workspace
    panels.sessions.set_workspace(workspace)
    panels.sessions.set_current(found.session_id)
    panels.window.top_bar.set_workspace(Path(workspace))
    handle = OwnSession(found.session_id, found.end)
    panels.session.show(handle)
    while panels.transcript.row_layout.is_gentle:
        await idle()
    return handle


def read_first_sight(paths: AppPaths, arguments: WindowArguments) -> FirstSight | None:
    """Read what is shown first; None if that is not possible. Blocks, so call this in a thread."""
    try:
        return _read(paths, arguments)
    except AgentError:
        return None


def _read(paths: AppPaths, arguments: WindowArguments) -> FirstSight:
    blobs = Blobs(paths.blobs)
    catalog = Catalog(paths.sessions, blobs, paths.cache)
    summaries = catalog.summaries()
    session_id = first_session(catalog, arguments)
    if session_id is None:
        return FirstSight(summaries)
    journal = catalog.journal_path(session_id)
    end = None if is_locked(journal.parent) else read_last_page(journal, blobs, yield_gil=Yielder())
    # The markdown parser and the entry widgets: too slow to import in the window's thread.
    parser()
    import_module("desktop_agent.ui.chat.transcript.factory")
    is_whole = end is not None and Path(end.session.workspace).is_absolute()
    return FirstSight(summaries, session_id, end if is_whole else None)
