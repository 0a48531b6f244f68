"""All that one window does with sessions, put together."""

from collections.abc import Callable, Mapping

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.composing.mention_finding import MentionFinding
from desktop_agent.app.composing.pasting import Pasting
from desktop_agent.app.folder_files import FolderFiles
from desktop_agent.app.inbox.announcements import Announcements
from desktop_agent.app.inbox.inbox import Inbox
from desktop_agent.app.inbox.telling import InboxTelling
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.sessions.draft_autosave import DraftAutosave
from desktop_agent.app.sessions.left_sessions import LeftSessions
from desktop_agent.app.sessions.ports import OpeningPort
from desktop_agent.app.sessions.searching import Searching
from desktop_agent.app.sessions.session_actions import SessionActions
from desktop_agent.app.sessions.session_choice import SessionChoice
from desktop_agent.app.sessions.session_following import SessionFollowing
from desktop_agent.app.sessions.session_list import SessionListUpdater
from desktop_agent.app.sessions.sessions import LiveSessions
from desktop_agent.app.sessions.viewing import Viewing
from desktop_agent.app.settings.setup import Setup
from desktop_agent.app.ways_to_begin import WaysToBegin
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import ModelRef, SessionSummary
from desktop_agent.core.store.drafts import Drafts
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.theme import Theme


class WindowSessions:
    """Those that are open, the list of all, the search, what is typed, and how the user gets from one to another."""

    def __init__(
        self,
        panels: WindowPanels,
        theme: Theme,
        bench: Workbench,
        setup: Setup,
        spawner: TaskSpawner,
        try_: Try,
        begun: OpeningPort | None,
        default_model: Callable[[], ModelRef],
    ) -> None:
        """`begun` is shown already and not open; `default_model` gives the model of a conversation that begins now."""
        clock = SystemClock()
        drafts = Drafts(bench.paths.data / "drafts")
        self._drafts = DraftAutosave(panels.composer, panels.transcript, drafts, spawner, panels.window)
        self._live = LiveSessions(bench, self._drafts, begun)
        self._listed = SessionListUpdater(panels, bench, self._live)
        self._viewing = Viewing(bench, clock, panels.window)
        self._searching = Searching(panels.search, bench, clock, spawner, self._listed.known)
        self.navigator = Navigator(
            panels,
            bench,
            self._live,
            self._viewing,
            self._drafts,
            clock,
            spawner,
            default_model=default_model,
            refresh_list=self._listed.refresh,
        )
        self.pasting = Pasting(panels, bench, clock, try_)
        """Keeps what is put into the message and is no text of it."""
        self.files = FolderFiles(bench, self.navigator, try_)
        """The files of the open folder."""
        MentionFinding(panels, bench, self.navigator, self.files, self._listed.known, try_)
        self.ways = WaysToBegin(panels, theme, bench, self.navigator, setup, try_)
        self.choice = choice = SessionChoice(panels, self.navigator, self.ways, try_)
        """Shows what the user chooses."""
        SessionActions(panels, bench, self._live, self._listed, self.navigator, choice, try_)
        inbox = Inbox(panels, theme, self._live, self._listed, self.navigator, try_)
        LeftSessions(self._live, self.navigator, inbox.has, try_, panels.window)
        self._telling = InboxTelling(inbox, panels.window, lambda: bench.live.current.ui, try_)
        Announcements(panels, inbox, self.navigator)
        SessionFollowing(panels, self.navigator, self._viewing, choice, self._listed, self._searching, try_)

    @property
    def known(self) -> Mapping[SessionId, SessionSummary]:
        """What the journals say of all sessions, as far as it was read."""
        return self._listed.known()

    @property
    def working(self) -> int:
        """How many sessions have a turn running that closing the window would stop."""
        return self._live.working

    async def start(self) -> None:
        """Read the list, and take into the search what is new. Raises `StorageError`."""
        self._searching.note_news()
        await self._listed.refresh()

    def bring_along(self, text: str) -> None:
        """Let this text at the end of the message field follow to the conversation that is shown next."""
        self._drafts.bring_along(text)

    async def aclose(self) -> None:
        """Close every session, and return when nothing of them is left."""
        self.navigator.stop()
        await self._telling.aclose()
        await self._drafts.aclose()
        await self._viewing.aclose()
        await self._live.aclose()
        await self._searching.aclose()
