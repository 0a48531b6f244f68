"""Which sessions of the list the user selected, to do something with all of them."""

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

from desktop_agent.ui.sessions.model import SessionListModel
from desktop_agent.ui.sessions.rows_view import SessionRows


class SessionSelection(QObject):
    """Follows keys and clicks in the rows, and the rows themselves: what is not listed any more is not selected.

    Signals:
        changed: others are selected.
    """

    changed = Signal()

    def __init__(self, model: SessionListModel, rows: SessionRows) -> None:
        super().__init__(rows)
        self._model = model
        self._rows = rows
        self._anchor: str | None = None
        """Where Shift selects from: the session that was selected last."""
        rows.toggled.connect(self.toggle)
        rows.extended.connect(self._extend)
        rows.all_selected.connect(self._select_all)
        rows.cleared.connect(self.clear)

    @property
    def ids(self) -> tuple[str, ...]:
        """The selected sessions, from the top."""
        return tuple(session.id for _, session in self._model.sessions() if session.id in self._model.selected)

    def keep_listed(self) -> None:
        """Let go of those that are not in the list any more."""
        self._set(self.ids)

    def clear(self) -> None:
        """Select none."""
        self._anchor = None
        self._set(())

    def toggle(self) -> None:
        """Select the session of the current row, or let go of it. On a heading: all below it."""
        found = self._current()
        if not found:
            return
        self._anchor = found[0]
        selected = self._model.selected
        self._set(selected.difference(found) if selected.issuperset(found) else selected.union(found))

    def _extend(self) -> None:
        current = self._rows.currentIndex().row()
        anchor = self._model.find(self._anchor)
        if anchor < 0:
            anchor = current
            self._anchor = next(iter(self._current()), None)
        first, last = sorted((anchor, current))
        self._set(session.id for at, session in self._model.sessions() if first <= at <= last)

    def _select_all(self) -> None:
        self._set(session.id for _, session in self._model.sessions())

    def _current(self) -> list[str]:
        index = self._rows.currentIndex()
        if not index.isValid():
            return []
        row = self._model.row_at(index.row())
        if row.session is not None:
            return [row.session.id]
        return self._model.below(index.row())

    def _set(self, sessions: Iterable[str]) -> None:
        wanted = frozenset(sessions)
        if wanted != self._model.selected:
            self._model.select(wanted)
            self.changed.emit()
