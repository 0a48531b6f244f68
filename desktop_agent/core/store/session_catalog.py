"""The session list: the folder and the summary of each session, quick to read and always rebuildable."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from msgspec.json import Decoder

from desktop_agent.core.base.errors import SessionNotFoundError, StorageError, UsageError
from desktop_agent.core.base.ids import Digest, SessionId, is_session_id
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.events import ChangesRecorded
from desktop_agent.core.protocol.model import FileChange, SessionSummary
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.digest import JournalCache, JournalSummary, summarise
from desktop_agent.core.store.journal.journal_reader import Readable, read_line
from desktop_agent.core.store.journal.journal_scan import JOURNAL_NAME, State, journal_state, journal_states
from desktop_agent.core.store.journal.lines import open_regular, read_lines

_EARLIER_CACHE = "summary.json"

_VERSION = 8
_MOST_OTHERS = 20
_HEAD_BYTES = 400
"""The type of a record is within this many bytes of the start of its line."""


class SessionCatalog:
    """All sessions of one data folder. Methods block, and may be called from any thread."""

    def __init__(self, folder: Path, blobs: Blobs, cache: Path) -> None:
        """Does not access the disk. `cache` is the folder for data that can be rebuilt."""
        self.blobs = blobs
        self._folder = folder
        self._cache = JournalCache(cache / "sessions.sqlite3", _VERSION, Decoder(learned(SessionSummary | None)))

    @classmethod
    def of(cls, paths: AppPaths) -> "SessionCatalog":
        return cls(paths.sessions, Blobs(paths.blobs), paths.cache)

    def session_folder(self, session_id: SessionId) -> Path:
        if not is_session_id(session_id):
            raise SessionNotFoundError(f"{session_id!r} is not a session id.", hint=_LIST_HINT)
        return self._folder / session_id

    def journal_path(self, session_id: SessionId) -> Path:
        """Return the path of a session's journal. Raises `SessionNotFoundError`."""
        path = self.session_folder(session_id) / JOURNAL_NAME
        if journal_state(self._folder, session_id) is None:
            raise SessionNotFoundError(f"There is no session {session_id}.", hint=_LIST_HINT)
        return path

    def ids(self) -> list[SessionId]:
        """Return all ids, newest first. Raises `StorageError`."""
        return sorted(journal_states(self._folder), reverse=True)

    def summaries(self, *, without: Collection[SessionId] = ()) -> list[SessionSummary]:
        """All readable sessions, most recently used first."""
        journals = journal_states(self._folder)
        known = self._cache.all()
        stale = [name for name, state in journals.items() if not _is_current(known.get(name), state)]
        if gone := known.keys() - journals.keys():
            self._cache.keep({}, gone)
        known |= self._cache.look_at((name for name in stale if name not in without), known, self._summarise)
        found = (known.get(name) for name in journals if name not in without)
        listed = [entry.known for entry in found if entry is not None and entry.known is not None]
        return sorted(listed, key=lambda one: (one.active_at, one.id), reverse=True)

    def summary(self, session_id: SessionId) -> SessionSummary | None:
        state = journal_state(self._folder, self.session_folder(session_id).name)
        if state is None:
            return None
        known = self._cache.get(session_id)
        if known is None or not _is_current(known, state):
            earlier = {session_id: known} if known else {}
            known = self._cache.look_at([session_id], earlier, self._summarise).get(session_id)
        return known.known if known is not None else None

    def is_right(self, session_id: SessionId) -> bool:
        """Whether the cached summary matches the journal, or is marked as outdated."""
        known = self._cache.get(session_id)
        state = journal_state(self._folder, session_id)
        if known is None or state is None or not _is_current(known, state):
            return True  # the summary is marked as outdated
        seen = summarise(self._folder / session_id / JOURNAL_NAME, session_id, self.blobs, None)
        return seen is None or seen.known == known.known

    def look_again(self, session_id: SessionId) -> None:
        self._cache.look_at([session_id], {}, self._summarise)

    def _summarise(self, name: SessionId, known: JournalSummary | None) -> JournalSummary | None:
        path = self._folder / name / JOURNAL_NAME
        if known is None:
            with suppress(OSError):
                path.with_name(_EARLIER_CACHE).unlink(missing_ok=True)
        return summarise(path, name, self.blobs, known)

    def find(self, text: str) -> SessionId:
        """Find by an id, or a clear beginning or end of one. Raises `SessionNotFoundError` and `UsageError`."""
        ids = self.ids()
        matches = [text] if text in ids else [i for i in ids if text and (i.startswith(text) or i.endswith(text))]
        if not matches:
            raise SessionNotFoundError(f"There is no session {text!r}.", hint=_LIST_HINT)
        if len(matches) > 1:
            raise UsageError(f"{text!r} fits several sessions: {', '.join(matches[:5])}.", hint="Give more of the id.")
        return matches[0]

    def latest(self, workspace: Path) -> SessionId | None:
        wanted = str(workspace.resolve())
        return next((item.id for item in self.summaries() if item.workspace == wanted and item.is_listed), None)

    def left_by_agents(self, workspace: str, *, without: SessionId) -> dict[str, set[Digest]]:
        """Return, by path, what agents in the latest other sessions of `workspace` left in its files."""
        found: dict[str, set[Digest]] = {}
        others = (one for one in self.summaries(without=(without,)) if one.workspace == workspace)
        same = (one for one in others if one.task is None or one.is_listed)  # what a sub-agent left is its parent's
        for summary in islice(same, _MOST_OTHERS):
            with suppress(StorageError, SessionNotFoundError, OSError):
                for change in _recorded_in(self.journal_path(summary.id), self.blobs):
                    if change.is_by_agent and change.after is not None:
                        found.setdefault(change.path, set()).add(change.after.digest)
        return found


def _recorded_in(journal: Path, blobs: Blobs) -> Iterator[FileChange]:
    with open_regular(journal) as file:
        for line in read_lines(file):
            if line.content is not None and b"changes_recorded" in line.content[:_HEAD_BYTES]:
                read = read_line(line, blobs)
                if isinstance(read, Readable) and isinstance(read.event, ChangesRecorded):
                    yield from read.event.changes


def _is_current(known: JournalSummary | None, state: State) -> bool:
    return known is not None and known.mark.state == state


_LIST_HINT = "`desktop-agent sessions list` shows them all."
