"""The session list: where each session lives, and a summary of each, quick to read and always rebuildable.

A summary is cached beside its journal together with the journal's size; when the sizes differ, the journal is folded
again. Deleting every cache loses nothing.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from desktop_agent.core.errors import SessionNotFoundError, StorageError, UsageError
from desktop_agent.core.files import write_atomically
from desktop_agent.core.ids import SessionId, is_session_id
from desktop_agent.core.model import SessionSummary
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal import JOURNAL_NAME, read_journal
from desktop_agent.core.transcript import Transcript, replay

_SUMMARY_NAME = "summary.json"
_SUMMARY = TypeAdapter(SessionSummary)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All sessions of one data folder. Methods block."""

    folder: Path
    blobs: Blobs

    def session_folder(self, session_id: SessionId) -> Path:
        """Where a session's files are. Raises `SessionNotFoundError` for what is not a session id."""
        if not is_session_id(session_id):
            raise SessionNotFoundError(f"{session_id!r} is not a session id.", hint=_LIST_HINT)
        return self.folder / session_id

    def journal_path(self, session_id: SessionId) -> Path:
        """The journal of an existing session. Raises `SessionNotFoundError` when there is none."""
        path = self.session_folder(session_id) / JOURNAL_NAME
        if not self._has_journal(session_id):
            raise SessionNotFoundError(f"There is no session {session_id}.", hint=_LIST_HINT)
        return path

    def ids(self) -> list[SessionId]:
        """The ids of all sessions, newest first. Raises `StorageError` when their folder cannot be read."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208 - names are all that is wanted
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StorageError(
                "The sessions could not be listed.", hint="Check the permissions of the data folder.", detail=str(error)
            ) from error
        return sorted((name for name in names if is_session_id(name) and self._has_journal(name)), reverse=True)

    def _has_journal(self, session_id: SessionId) -> bool:
        """Whether there is one, as far as we may look."""
        return os.path.isfile(self.folder / session_id / JOURNAL_NAME)  # noqa: PTH113 - Path's raises

    def summaries(self, *, without: Collection[SessionId] = ()) -> list[SessionSummary]:
        """All sessions but these, the last used first. One that cannot be read is left out, never an error."""
        found = (self.summary(session_id) for session_id in self.ids() if session_id not in without)
        return sorted((item for item in found if item is not None), key=last_used, reverse=True)

    def summary(self, session_id: SessionId) -> SessionSummary | None:
        """One session's summary, from its cache when that is current; None when the journal cannot be read."""
        path = self.session_folder(session_id) / JOURNAL_NAME
        try:
            size = path.stat().st_size
            cached = _SUMMARY.validate_json(path.with_name(_SUMMARY_NAME).read_bytes())
            if cached.size_bytes == size and cached.id == session_id:
                return cached
        except (OSError, ValueError):  # a value that is no summary, too, is a ValueError
            pass
        return self.refresh_summary(session_id)

    def refresh_summary(self, session_id: SessionId) -> SessionSummary | None:
        """Fold the journal and write its summary anew."""
        path = self.session_folder(session_id) / JOURNAL_NAME
        try:
            size = path.stat().st_size
            events, _ = read_journal(path, self.blobs)
        except (OSError, StorageError):
            return None
        if not events:
            return None
        summary = summarise(session_id, replay(events), size)
        try:
            content = _SUMMARY.dump_json(summary)
            write_atomically(path.with_name(_SUMMARY_NAME), content, mode=0o600)
        except (OSError, ValueError):  # a cache is not worth an error; a lone surrogate, say, has no UTF-8 form
            return summary
        return summary

    def find(self, text: str) -> SessionId:
        """Return the session that `text` names: a whole id or an unambiguous beginning or end of one."""
        ids = self.ids()
        matches = [text] if text in ids else [i for i in ids if text and (i.startswith(text) or i.endswith(text))]
        if not matches:
            raise SessionNotFoundError(f"There is no session {text!r}.", hint=_LIST_HINT)
        if len(matches) > 1:
            raise UsageError(f"{text!r} fits several sessions: {', '.join(matches[:5])}.", hint="Give more of the id.")
        return matches[0]

    def latest(self, workspace: Path) -> SessionId | None:
        """The session last used in this folder, if there is one."""
        wanted = str(workspace.resolve())
        return next((item.id for item in self.summaries() if item.workspace == wanted), None)


def summarise(session_id: SessionId, transcript: Transcript, size_bytes: int) -> SessionSummary:
    """Return the summary of a folded session. What stands in the journal as running was cut off: it is idle now."""
    return SessionSummary(
        id=session_id,
        title=transcript.title,
        workspace=transcript.workspace,
        created_at=transcript.opened_at,
        updated_at=transcript.updated_at,
        state="idle",
        turns=transcript.turn,
        size_bytes=size_bytes,
    )


_LIST_HINT = "`desktop-agent sessions list` shows them all."


def last_used(summary: SessionSummary) -> tuple[str, str]:
    """The key to sort by: when it was last used, then the id."""
    return summary.updated_at.isoformat(), summary.id
