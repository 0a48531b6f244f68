"""Shows the list of sessions and the end of the first session before the core is loaded."""

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
from desktop_agent.core.store.journal.records import Yielder, read_last_page
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.session_folder import is_locked
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.markdown.parser import parser
from desktop_agent.ui.runtime.eventloop import idle
from desktop_agent.ui.window.session_handle import OwnSession


def first_session(catalog: SessionCatalog, arguments: WindowArguments) -> SessionId | None:
    """Return the session named on the command line, else the last used one. Raises `AgentError` if it is missing."""
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
    summaries: list[SessionSummary]
    session_id: SessionId | None = None
    end: Transcript | None = None


async def show_first_sight(panels: WindowPanels, found: FirstSight | None) -> OwnSession | None:
    """Return the shown session, to which the user can already write. If there is none, the controller reports why."""
    if found is None:
        return None
    panels.sessions.set_sessions(
        one for one in found.summaries if one.is_listed or one.is_archived or one.id == found.session_id
    )
    if found.session_id is None or found.end is None:
        return None
    workspace = found.end.session.workspace
    panels.sessions.set_workspace(found.end.session.home)
    panels.sessions.set_current(found.session_id)
    panels.window.top_bar.set_workspace(Path(workspace))
    handle = OwnSession(found.session_id, found.end)
    panels.session.show(handle)
    while panels.transcript.row_layout.is_gentle:
        await idle()
    return handle


def read_first_sight(paths: AppPaths, arguments: WindowArguments) -> FirstSight | None:
    """Read the first content of the window; `None` on failure. Blocks: call this in a thread."""
    try:
        return _read(paths, arguments)
    except AgentError:
        return None


def _read(paths: AppPaths, arguments: WindowArguments) -> FirstSight:
    blobs = Blobs(paths.blobs)
    catalog = SessionCatalog(paths.sessions, blobs, paths.cache)
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
