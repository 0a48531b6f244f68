"""The rows of the session list: what is pinned, the open folder's, those of other folders, and what was put away."""

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import PurePath
from typing import NamedTuple

from PySide6.QtCore import QAbstractListModel, QLocale, QObject, Qt

from desktop_agent.core.base.hidden_text import named
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex
from desktop_agent.ui.wording.moments import long_moment, short_moment
from desktop_agent.ui.wording.tooltips import plain_tooltip


class SessionRow(NamedTuple):
    """A session, or the heading above some."""

    session: SessionSummary | None
    folder: str = ""
    """The name of the session's folder when it is another one than the open one."""
    heading: str = ""

    @property
    def key(self) -> str:
        """What stays the same when the row's content changes."""
        return self.heading if self.session is None else self.session.id


class SessionModel(QAbstractListModel):
    """One row per session, in groups; in each the most recently used first. Renaming is passed on, not done."""

    def __init__(
        self, now: Callable[[], datetime], rename: Callable[[str, str], None], parent: QObject | None = None
    ) -> None:
        """`rename` gets a session's id and the title that the user typed."""
        super().__init__(parent)
        self._now = now
        self._rename = rename
        self._rows: list[SessionRow] = []
        self._shown_as: tuple[str | None, bool] | None = None
        """The folder and whether archived ones are shown, which decide about the groups."""

    # --- content --------------------------------------------------------------------------------------------------

    def show(self, sessions: Iterable[SessionSummary], workspace: str | None, *, with_archived: bool = False) -> None:
        """Show these sessions; rows that stay keep their selection and an editor that is open in them."""
        wanted = self._grouped(sessions, workspace, with_archived)
        if self._shown_as != (workspace, with_archived):  # nearly all rows are new or elsewhere
            self._shown_as = (workspace, with_archived)
            self.beginResetModel()
            self._rows = wanted
            self.endResetModel()
            return
        keys = {row.key for row in wanted}
        for at in reversed(range(len(self._rows))):
            if self._rows[at].key not in keys:
                self.beginRemoveRows(NO_PARENT, at, at)
                del self._rows[at]
                self.endRemoveRows()
        for at, row in enumerate(wanted):
            if at == len(self._rows) or self._rows[at] != row:
                self._bring(row, at)

    def show_in_place(self, sessions: Iterable[SessionSummary]) -> None:
        """Show what is new of the sessions that are listed, and move no row: the user points at one."""
        known = {session.id: session for session in sessions}
        for at, row in enumerate(self._rows):
            session = known.get(row.session.id) if row.session is not None else None
            if session is not None and session != row.session:
                self._rows[at] = row._replace(session=session)
                self.dataChanged.emit(self.index(at), self.index(at))

    def _grouped(
        self, sessions: Iterable[SessionSummary], workspace: str | None, with_archived: bool
    ) -> list[SessionRow]:
        pinned: list[SessionRow] = []
        here: list[SessionRow] = []
        elsewhere: list[SessionRow] = []
        archived: list[SessionRow] = []
        names = {workspace: ""}
        for session in sorted(sessions, key=_active_at, reverse=True):
            if session.workspace not in names:
                names[session.workspace] = PurePath(session.workspace).name
            row = SessionRow(session, names[session.workspace])
            if session.is_archived:
                archived.append(row)
            elif session.is_pinned:
                pinned.append(row)
            elif session.workspace == workspace:
                here.append(row)
            else:
                elsewhere.append(row)
        rows = [_heading(self.tr("Pinned")), *pinned] if pinned else []
        rows += [_heading(self.tr("This folder")), *here] if pinned and here else here
        rows += [_heading(self.tr("Other folders")), *elsewhere] if elsewhere else []
        return rows + ([_heading(self.tr("Archived")), *archived] if archived and with_archived else [])

    def row_at(self, row: int) -> SessionRow:
        """Return what is in this row."""
        return self._rows[row]

    def find(self, session_id: str | None) -> int:
        """Return the row of a session, -1 if it is not in the list."""
        return next((at for at, row in enumerate(self._rows) if row.session and row.session.id == session_id), -1)

    def status_of(self, session: SessionSummary) -> str:
        """Return what is said at the right edge: what the session is doing, else when it was last used."""
        match session.state:
            case "waiting":
                return self.tr("asks")
            case "working":
                return self.tr("runs")
            case "idle":
                return short_moment(session.active_at, self._now(), QLocale())

    def title_of(self, session: SessionSummary) -> str:
        """Return the title, or a stand-in while there is none."""
        return named(session.title) or self.tr("New session")

    def _bring(self, row: SessionRow, at: int) -> None:
        """Have `row` at `at`; everything before it is in place already."""
        known = next((i for i in range(at, len(self._rows)) if self._rows[i].key == row.key), None)
        if known is None:
            self.beginInsertRows(NO_PARENT, at, at)
            self._rows.insert(at, row)
            self.endInsertRows()
            return
        if known != at:
            self.beginMoveRows(NO_PARENT, known, known, NO_PARENT, at)
            self._rows.insert(at, self._rows.pop(known))
            self.endMoveRows()
        if self._rows[at] != row:
            self._rows[at] = row
            self.dataChanged.emit(self.index(at), self.index(at))

    # --- Qt -------------------------------------------------------------------------------------------------------

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        if not index.isValid() or self._rows[index.row()].session is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not self.checkIndex(index, QAbstractListModel.CheckIndexOption.IndexIsValid):
            return None
        row = self._rows[index.row()]
        if row.session is None:
            shown = role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
            return row.heading if shown else None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.title_of(row.session)
            case Qt.ItemDataRole.EditRole:
                return row.session.title
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._spoken(row.session, row.folder)
            case Qt.ItemDataRole.ToolTipRole:
                return self._details(row.session)
            case _:
                return None

    def setData(self, index: AnyIndex, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        session = self._rows[index.row()].session
        title = str(value).strip()
        if role != Qt.ItemDataRole.EditRole or session is None or not title or title == session.title:
            return False
        self._rename(session.id, title)
        return True

    def _spoken(self, session: SessionSummary, folder: str) -> str:
        pinned = self.tr("pinned") if session.is_pinned else ""
        archived = self.tr("archived") if session.is_archived else ""
        return ", ".join(filter(None, [self.title_of(session), self._spoken_state(session), folder, pinned, archived]))

    def _spoken_state(self, session: SessionSummary) -> str:
        match session.state:
            case "waiting":
                return self.tr("waits for you")
            case "working":
                return self.tr("is working")
            case "idle":
                return long_moment(session.active_at, self._now(), QLocale())

    def _details(self, session: SessionSummary) -> str:
        facts = [
            self.tr("1 turn") if session.turns == 1 else self.tr("{0} turns").format(session.turns),
            QLocale().formattedDataSize(session.size_bytes),
            long_moment(session.active_at, self._now(), QLocale()),
        ]
        return plain_tooltip("\n".join([self.title_of(session), session.workspace, " · ".join(facts)]))


def _heading(text: str) -> SessionRow:
    return SessionRow(None, heading=text)


def _active_at(session: SessionSummary) -> datetime:
    return session.active_at
