"""The decisions about the hunks of a diff: their states, their buttons, and the keys for them."""

from collections import Counter

from PySide6.QtCore import Signal

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_overlay import DiffOverlay
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import HunkDecisions, row_words

_ACTIONS = ("keep", "undo", "redo")


class HunkBars(DiffOverlay):
    """Marks what was decided about each hunk, and says what the user wants with one. It changes nothing itself.

    Keys keep the hunk that the marked row is in, or leave it undecided again (K by default), undo it (U), or make it
    again (R).

    Signals:
        requested: the user wants this `HunkChoice` for these hunks, a tuple of `HunkKey`.
        changed: something else was decided, or something can be undone now or no more.
    """

    requested = Signal(str, object)
    changed = Signal()

    def __init__(self, view: DiffView) -> None:
        super().__init__(view)
        self._view = view
        self._decided = HunkDecisions()
        self.decisions = HunkDecisions()
        """What was decided, with what the diff itself knows to be undone."""

    # -- what it can be asked --

    @property
    def current_key(self) -> HunkKey | None:
        """The hunk that the marked row is in."""
        number = self._view.navigation.change
        return self._view.document.rows.keys[number] if number >= 0 else None

    @property
    def keys(self) -> tuple[HunkKey, ...]:
        """Everything there is to decide about."""
        rows = self._view.document.rows
        return tuple(dict.fromkeys(key for key in map(rows.key, rows.changes) if key is not None))

    def set_decisions(self, decided: HunkDecisions) -> None:
        """Say what was decided about which hunks, and why nothing can be undone now, if so."""
        if decided != self._decided:
            self._decided = decided
            self.decisions = decided._replace(undone=decided.undone | self._view.document.rows.diff.undone)
            self._view.describe()
            self.changed.emit()
            self._view.scroller.repaint()

    def go_to_undecided(self, *, backwards: bool = False, from_edge: bool = False, with_current: bool = False) -> bool:
        """Return whether there is an undecided hunk after (or before) the mark, and go to it.

        `from_edge`: counted from the first or last.
        """
        keys, current = self._view.document.rows.keys, self._view.navigation.change
        edge, neighbour = (len(keys) - 1, current - 1) if backwards else (0, current + 1)
        start = edge if from_edge else current if with_current else neighbour
        order = range(start, -1, -1) if backwards else range(max(start, 0), len(keys))
        found = next((number for number in order if self.decisions.state(keys[number]) == "undecided"), None)
        return found is not None and self._view.navigation.go_to_change(found)

    def counts(self) -> tuple[int, int]:
        """Return how many of the changes are kept, and how many undone."""
        states = Counter(map(self.decisions.state, self._view.document.rows.keys))
        return states["kept"], states["undone"]

    # -- what is drawn --

    def set_diff(self, diff: FileDiff | None) -> None:
        self.decisions = self._decided._replace(undone=self._decided.undone | diff.undone) if diff else self._decided

    def describe(self, row: int, words: str) -> str:
        return row_words(self._view.document.rows, row, self.decisions)

    # -- keyboard --

    def takes(self, action: str) -> bool:
        return action in _ACTIONS

    def do(self, action: str) -> bool:
        if action not in _ACTIONS:
            return False
        key = self.current_key
        state = self.decisions.state(key) if key is not None else None
        can_revert = self.decisions.can_revert
        match action:  # what cannot be done now is left undone
            case "keep" if key is not None and state != "undone":
                self.requested.emit("undecide" if state == "kept" else "keep", (key,))
            case "undo" if key is not None and state != "undone" and can_revert:
                self.requested.emit("undo", (key,))
            case "redo" if key is not None and state == "undone" and can_revert:
                self.requested.emit("redo", (key,))
            case _:
                pass
        return True
