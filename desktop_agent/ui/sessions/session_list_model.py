"""The rows of the session list: groups with headings, and the sessions in each group."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import takewhile
from operator import attrgetter
from pathlib import PurePath
from typing import Literal, NamedTuple

from msgspec import Struct
from PySide6.QtCore import QAbstractListModel, QCoreApplication, QLocale, QObject, Qt

from desktop_agent.core.base.plain_text import cost_text, named
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex
from desktop_agent.ui.wording import long_moment, plain_tooltip, short_moment

_tr = partial(QCoreApplication.translate, "SessionGroups")

Grouping = Literal["nearby", "folder", "day", "state"]
"""How the list is grouped: the open folder before all others, or one group per folder, span of days, or state."""


class Arrangement(Struct, frozen=True):
    grouping: Grouping = "nearby"
    is_detailed: bool = False
    folded: frozenset[str] = frozenset()


class SessionGroup(NamedTuple):
    """Sessions under a heading, the most recently used first. Only the first group may lack a heading."""

    key: str
    heading: str
    sessions: Sequence[SessionSummary]
    says_folder: bool = False


def grouped(
    sessions: Iterable[SessionSummary], workspace: str | None, grouping: Grouping, now: datetime
) -> list[SessionGroup]:
    """Return pinned sessions first, archived ones last. The days depend on the time zone of `now`.

    The session of a sub-agent follows that of its parent, unless it is pinned or archived itself.
    """
    found = sorted(sessions, key=attrgetter("active_at"), reverse=True)
    parents = {session.id for session in found if session.task is None and not session.is_archived}
    below = _split(
        (one.task.session_id, one)
        for one in found
        if one.task is not None and one.task.session_id in parents and not one.is_pinned and not one.is_archived
    )
    nested = {one.id for children in below.values() for one in children}
    ordered = [session for session in found if session.id not in nested]
    pinned = [session for session in ordered if session.is_pinned and not session.is_archived]
    archived = [session for session in ordered if session.is_archived]
    others = [session for session in ordered if not session.is_pinned and not session.is_archived]
    groups = _by(grouping, others, workspace, now)
    if not pinned and grouping == "nearby" and groups and groups[0].key == "here":
        groups[0] = groups[0]._replace(heading="")
    ends = (
        SessionGroup("pinned", _tr("Pinned"), pinned, True),
        SessionGroup("archived", _tr("Archived"), archived, True),
    )
    return [
        group._replace(sessions=[each for one in group.sessions for each in (one, *below.get(one.id, ()))])
        for group in (ends[0], *groups, ends[1])
        if group.sessions
    ]


def _by(
    grouping: Grouping, sessions: Sequence[SessionSummary], workspace: str | None, now: datetime
) -> list[SessionGroup]:
    match grouping:
        case "nearby":
            here = [session for session in sessions if session.home == workspace]
            elsewhere = [session for session in sessions if session.home != workspace]
            return [
                SessionGroup("here", _tr("This folder"), here),
                SessionGroup("elsewhere", _tr("Other folders"), elsewhere, True),
            ]
        case "folder":
            folders = _split((session.home, session) for session in sessions)
            first = sorted(folders, key=lambda folder: folder != workspace)  # others stay in order of last use
            names = _names(first)
            return [SessionGroup(f"folder:{folder}", names[folder], folders[folder]) for folder in first]
        case "day":
            days = _split((_span(session.active_at, now), session) for session in sessions)
            return [SessionGroup(f"day:{span}", _span_words(span), found, True) for span, found in days.items()]
        case "state":
            states = _split(("failed" if has_failed(session) else session.state, session) for session in sessions)
            words = {"waiting": _tr("Waiting for you"), "working": _tr("Working"), "failed": _tr("Failed")}
            words["idle"] = _tr("Done")
            return [SessionGroup(f"state:{state}", words[state], states.get(state, ()), True) for state in words]


def has_failed(session: SessionSummary) -> bool:
    return session.state == "idle" and bool(session.failure)


def _failed_words(session: SessionSummary) -> str:
    words = {"authentication": _words_tr("key refused"), "no_key": _words_tr("no key")}
    words["not_signed_in"] = _words_tr("not signed in")
    return words.get(session.failure) or _words_tr("failed")


def _split(pairs: Iterable[tuple[str, SessionSummary]]) -> Mapping[str, list[SessionSummary]]:
    found: dict[str, list[SessionSummary]] = {}
    for key, session in pairs:
        found.setdefault(key, []).append(session)
    return found


def _names(folders: Sequence[str]) -> Mapping[str, str]:
    names = [PurePath(folder).name for folder in folders]
    return {
        folder: named("/".join(PurePath(folder).parts[-2:]) if names.count(name) > 1 else name) or folder
        for folder, name in zip(folders, names, strict=True)
    }


def _span(moment: datetime, now: datetime) -> str:
    day = moment.astimezone(now.tzinfo).date()
    days = (now.date() - day).days
    if days < 7:
        return "today" if days <= 0 else "yesterday" if days == 1 else "week"
    return "month" if days < 31 else str(day.year) if day.year != now.year else "year"


def _span_words(span: str) -> str:
    words = {
        "today": _tr("Today"),
        "yesterday": _tr("Yesterday"),
        "week": _tr("The last 7 days"),
        "month": _tr("The last 30 days"),
        "year": _tr("Earlier this year"),
    }
    return words.get(span) or QLocale().toString(int(span)).replace(QLocale().groupSeparator(), "")


class SessionRow(NamedTuple):
    session: SessionSummary | None
    folder: str = ""
    """The name of the session's folder if it is not the open folder."""
    heading: str = ""
    group: str = ""
    folded: int = 0
    is_below: bool = False
    """Whether it is the session of a sub-agent, below that of its parent."""

    @property
    def key(self) -> str:
        return f"group:{self.group}" if self.session is None else self.session.id


_words_tr = partial(QCoreApplication.translate, "SessionWords")


class SessionListModel(QAbstractListModel):
    def __init__(
        self, now: Callable[[], datetime], rename: Callable[[str, str], None], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._now = now
        self._rename = rename
        self._rows: list[SessionRow] = []
        self.selected: frozenset[str] = frozenset()
        self.arrangement = Arrangement()
        self._shown_as: tuple[str | None, Arrangement, bool] | None = None

    def show(
        self,
        sessions: Iterable[SessionSummary],
        workspace: str | None,
        arrangement: Arrangement | None = None,
        *,
        with_archived: bool = False,
    ) -> None:
        """Show these sessions. Rows that remain keep their selection and any open editor."""
        arrangement = arrangement or Arrangement()
        groups = grouped(sessions, workspace, arrangement.grouping, self._now())
        wanted = [
            row
            for group in groups
            if with_archived or group.key != "archived"
            for row in _rows_of(group, workspace, arrangement.folded)
        ]
        shown_as = (workspace, arrangement, with_archived)
        self.arrangement = arrangement
        if self._shown_as != shown_as:  # nearly all rows are new, moved, or of another height
            self._shown_as = shown_as
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
        """Update the listed sessions without moving rows, because the user points at a row."""
        known = {session.id: session for session in sessions}
        for at, row in enumerate(self._rows):
            session = known.get(row.session.id) if row.session is not None else None
            if session is not None and session != row.session:
                self._rows[at] = row._replace(session=session)
                self.dataChanged.emit(self.index(at), self.index(at))

    def select(self, sessions: Collection[str]) -> None:
        changed = self.selected.symmetric_difference(sessions)
        self.selected = frozenset(sessions)
        for at, row in enumerate(self._rows):
            if row.key in changed:
                self.dataChanged.emit(self.index(at), self.index(at))

    def sessions(self) -> Iterator[tuple[int, SessionSummary]]:
        return ((at, row.session) for at, row in enumerate(self._rows) if row.session is not None)

    def below(self, heading: int) -> list[str]:
        rows = takewhile(lambda row: row.session is not None, self._rows[heading + 1 :])
        return [row.key for row in rows]

    def row_at(self, row: int) -> SessionRow:
        return self._rows[row]

    def find(self, session_id: str | None) -> int:
        return next((at for at, session in self.sessions() if session.id == session_id), -1)

    def title(self, session: SessionSummary) -> str:
        return named(session.title) or _words_tr("New session")

    def status(self, session: SessionSummary) -> str:
        if has_failed(session):
            return _failed_words(session)
        if session.state == "idle":
            return short_moment(session.active_at, self._now(), QLocale())
        return _words_tr("asks") if session.state == "waiting" else _words_tr("runs")

    def details(self, row: SessionRow) -> str:
        worktree = row.session.worktree if row.session is not None else None
        return self._details(row, f"⎇ {worktree.name}" if worktree is not None else "")

    def _details(self, row: SessionRow, worktree: str) -> str:
        facts = [row.folder, worktree]
        if row.session is not None and self.arrangement.is_detailed:
            usage = row.session.usage
            facts += [self._turns(row.session), cost_text(usage.cost_usd, is_partial=usage.is_cost_partial)]
        return " · ".join(filter(None, facts))

    def _tooltip(self, session: SessionSummary) -> str:
        facts = [
            self._turns(session),
            cost_text(session.usage.cost_usd, is_partial=session.usage.is_cost_partial),
            QLocale().formattedDataSize(session.size_bytes),
            long_moment(session.active_at, self._now(), QLocale()),
        ]
        said = " · ".join(filter(None, facts))
        return plain_tooltip("\n".join([self.title(session), session.home, *_worktree_words(session), said]))

    def _spoken_state(self, session: SessionSummary) -> str:
        if session.state == "idle":
            ended = _failed_words(session) if has_failed(session) else ""
            return ", ".join(filter(None, (ended, long_moment(session.active_at, self._now(), QLocale()))))
        return _words_tr("waits for you") if session.state == "waiting" else _words_tr("is working")

    def _turns(self, session: SessionSummary) -> str:
        return plural("SessionWords", session.turns, "%n turn", "%n turns")

    def _bring(self, row: SessionRow, at: int) -> None:
        """All rows before the index `at` must already be in place."""
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

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        if self._rows[index.row()].session is None:
            return Qt.ItemFlag.ItemIsEnabled
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not self.checkIndex(index, QAbstractListModel.CheckIndexOption.IndexIsValid):
            return None
        row = self._rows[index.row()]
        if row.session is None:
            return self._heading(row, role)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.title(row.session)
            case Qt.ItemDataRole.EditRole:
                return row.session.title
            case Qt.ItemDataRole.AccessibleTextRole:
                selected = _words_tr("selected") if row.session.id in self.selected else ""
                pinned = _words_tr("pinned") if row.session.is_pinned else ""
                archived = _words_tr("archived") if row.session.is_archived else ""
                said = [
                    self.title(row.session),
                    _words_tr("sub-agent") if row.is_below else "",
                    self._spoken_state(row.session),
                    self._details(row, "".join(_worktree_words(row.session))),
                    pinned,
                    archived,
                    selected,
                ]
                return ", ".join(filter(None, said))
            case Qt.ItemDataRole.ToolTipRole:
                return self._tooltip(row.session)
            case _:
                return None

    def setData(self, index: AnyIndex, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        session = self._rows[index.row()].session
        title = str(value).strip()
        if role != Qt.ItemDataRole.EditRole or session is None or not title or title == session.title:
            return False
        self._rename(session.id, title)
        return True

    def _heading(self, row: SessionRow, role: int) -> str | None:
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return f"{row.heading} ({row.folded})" if row.folded else row.heading
            case Qt.ItemDataRole.AccessibleTextRole:
                return self.tr("{0}, folded, {1}").format(row.heading, row.folded) if row.folded else row.heading
            case Qt.ItemDataRole.ToolTipRole:
                return self.tr("Show the sessions") if row.folded else self.tr("Fold the sessions")
            case _:
                return None


def _worktree_words(session: SessionSummary) -> list[str]:
    worktree = session.worktree
    return [_words_tr("in the worktree {0}").format(worktree.name)] if worktree is not None else []


def _rows_of(group: SessionGroup, workspace: str | None, folded: Collection[str]) -> Iterator[SessionRow]:
    is_folded = bool(group.heading) and group.key in folded
    if group.heading:
        yield SessionRow(None, heading=group.heading, group=group.key, folded=len(group.sessions) if is_folded else 0)
    if not is_folded:
        parent = ""
        for session in group.sessions:
            is_below = session.task is not None and session.task.session_id == parent
            parent = parent if is_below else session.id
            says_folder = group.says_folder and session.home != workspace and not is_below
            yield SessionRow(session, PurePath(session.home).name if says_folder else "", is_below=is_below)
