"""What a search found, as rows: under each session's title the places in it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import NamedTuple

from PySide6.QtCore import QAbstractListModel, QLocale, QObject, Qt

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import HitKind, SearchHit, SessionSummary
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex
from desktop_agent.ui.wording.moments import long_moment, short_moment
from desktop_agent.ui.wording.tooltips import plain_tooltip


class FoundRow(NamedTuple):
    """A place, or the session above some."""

    hit: SearchHit | None
    title: str
    detail: str
    """Of a session its folder, of a place when it was."""
    kind: str = ""


class FoundModel(QAbstractListModel):
    """Sessions in the order of their newest place, and below each its places, the newest first."""

    def __init__(self, now: Callable[[], datetime], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._now = now
        self._rows: list[FoundRow] = []

    def show(self, hits: Sequence[SearchHit], sessions: Mapping[str, SessionSummary]) -> None:
        """Show these places in these sessions."""
        by_session: dict[str, list[SearchHit]] = {}
        for hit in hits:
            by_session.setdefault(hit.session_id, []).append(hit)
        rows: list[FoundRow] = []
        for session_id, places in by_session.items():
            session = sessions.get(session_id)
            title = named(session.title if session else "") or self.tr("Session without a title")
            rows.append(FoundRow(None, title, PurePath(session.workspace).name if session else ""))
            rows += [
                FoundRow(hit, title, short_moment(hit.at, self._now(), QLocale()), self.words_for(hit.kind))
                for hit in places
            ]
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def row_at(self, row: int) -> FoundRow:
        """Return what is in this row."""
        return self._rows[row]

    def step(self, row: int, by: int) -> int:
        """Return the next place from `row` on in this direction, `row` itself when there is none."""
        at = row + by
        while 0 <= at < len(self._rows):
            if self._rows[at].hit is not None:
                return at
            at += by
        return row

    def words_for(self, kind: HitKind) -> str:
        """Return what a kind of place is called."""
        match kind:
            case "title":
                return self.tr("Title")
            case "prompt":
                return self.tr("You")
            case "reply":
                return self.tr("Agent")
            case "command":
                return self.tr("Command")
            case "output":
                return self.tr("Output")
            case "change":
                return self.tr("Change")

    # --- Qt -------------------------------------------------------------------------------------------------------

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        if not index.isValid() or self._rows[index.row()].hit is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not self.checkIndex(index, QAbstractListModel.CheckIndexOption.IndexIsValid):
            return None
        row = self._rows[index.row()]
        hit = row.hit
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.title if hit is None else hit.snippet
            case Qt.ItemDataRole.AccessibleTextRole:
                parts = [row.title, row.detail] if hit is None else [row.kind, hit.snippet, row.title, row.detail]
                return ", ".join(filter(None, parts))
            case Qt.ItemDataRole.ToolTipRole if hit is not None:
                facts = [row.kind, hit.tool, hit.file, long_moment(hit.at, self._now(), QLocale())]
                return plain_tooltip("\n".join([row.title, " · ".join(filter(None, facts)), hit.snippet]))
            case _:
                return None
