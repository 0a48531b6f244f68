"""A diff whose hunks are decided about: their states, their buttons, and the keys for them."""

from collections import Counter
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal, SignalInstance
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_bars import PAD, Bars, button_rect
from desktop_agent.ui.review.diff.diff_painter import Scene
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import bar_label, row_words
from desktop_agent.ui.review.diff.hunk_actions import HunkActions
from desktop_agent.ui.review.diff.hunk_states import HunkDecisions, HunkState
from desktop_agent.ui.theme import Theme

if TYPE_CHECKING:
    from PySide6.QtGui import QPixmap

_STATES: tuple[HunkState, ...] = ("undecided", "kept", "undone")
_LETTERS = (Qt.Key.Key_K, Qt.Key.Key_U, Qt.Key.Key_R, Qt.Key.Key_C, Qt.Key.Key_E)


class HunkView(DiffView):
    """Draws what was decided about each hunk, and says what the user wants with one. It changes nothing itself.

    K keeps the hunk that the marked row is in, or leaves it undecided again; U undoes it, R makes it again. Tab goes to
    its buttons.

    Signals:
        keep_requested, undecide_requested, undo_requested, redo_requested: for these hunks; carry a tuple of
            `HunkKey`.
        comment_requested: the user wants to comment on the hunk of this row.
    """

    keep_requested = Signal(object)
    undecide_requested = Signal(object)
    undo_requested = Signal(object)
    redo_requested = Signal(object)
    comment_requested = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._are_actions_shown = False
        self._said = HunkDecisions()
        self._decisions = HunkDecisions()
        """What was said, with what the diff itself knows to be undone."""
        self._buttons: dict[HunkState, QPixmap] = {}
        self._hovered_bar: int | None = None
        self._pressed_button: QPushButton | None = None
        self._cover: QWidget | None = None
        self._actions: tuple[HunkActions, ...] = ()
        super().__init__(theme, parent)
        self._actions = (self._new_actions(), self._new_actions())
        self._template = HunkActions(self.viewport())
        for button in self._template.findChildren(QPushButton):
            button.setObjectName("")  # these buttons are only painted: a search by name must not find them

    # -- what it can be asked --

    @property
    def current_key(self) -> HunkKey | None:
        """The hunk that the marked row is in."""
        number = self.current_change
        return self._rows.keys[number] if number >= 0 else None

    @property
    def change_keys(self) -> tuple[HunkKey, ...]:
        """Everything there is to decide about."""
        keys = (self._rows.key(row) for row in self._rows.changes)
        return tuple(dict.fromkeys(key for key in keys if key is not None))

    def set_actions_shown(self, is_shown: bool) -> None:
        """Offer buttons and comments, or leave the diff to be read, which is how it starts."""
        if is_shown != self._are_actions_shown:
            self._are_actions_shown = self._has_heads = is_shown
            self._set_rows(self._new_rows(self._rows.diff, self._rows.mode, self._rows.opened))

    def set_states(
        self,
        kept: frozenset[HunkKey],
        undone: frozenset[HunkKey],
        can_revert: bool,
        reason: str = "",
    ) -> None:
        """Say what was decided about which hunks, and why nothing can be undone now, if so."""
        said = HunkDecisions(kept, undone, can_revert, reason)
        if said != self._said:
            if said.can_revert != self._said.can_revert:
                self._buttons.clear()
            self._said = said
            self._decisions = said._replace(undone=said.undone | self._rows.diff.undone)
            self._describe_row()
            self._place_children()
            self.viewport().update()

    def show_diff(self, diff: FileDiff | None, *, keep_place: bool = False) -> None:
        self._hovered_bar = None
        self._decisions = self._said._replace(undone=self._said.undone | diff.undone) if diff else self._said
        super().show_diff(diff, keep_place=keep_place)

    def next_undecided(self, *, from_start: bool = False, with_current: bool = False) -> bool:
        """Go to the next hunk without decision below the mark, or to the first of all; whether there is one."""
        first = 0 if from_start else self.current_change + (not with_current)
        return self._go_to_undecided(range(max(first, 0), len(self._rows.changes)))

    def previous_undecided(self, *, from_end: bool = False, with_current: bool = False) -> bool:
        """Go to the next hunk without decision above the mark, or to the last of all; whether there is one."""
        last = len(self._rows.changes) - 1 if from_end else self.current_change - (not with_current)
        return self._go_to_undecided(range(last, -1, -1))

    def _go_to_undecided(self, order: range) -> bool:
        for number in order:
            if self._decisions.state(self._rows.keys[number]) == "undecided":
                return self._go_to_change(number)
        return False

    def decided_counts(self) -> tuple[int, int]:
        """Return how many of the changes are kept, and how many undone."""
        states = Counter(map(self._decisions.state, self._rows.keys))
        return states["kept"], states["undone"]

    # -- what is drawn --

    def _scene(self) -> Scene:
        scene = super()._scene()
        if not self._are_actions_shown:
            return scene
        if not self._buttons:
            for state in _STATES:
                self._template.show_hunk(-1, state, "", self._as_if(state))
                self._buttons[state] = self._template.picture()
        live = frozenset(actions.row for actions in self._actions if actions.isVisible())
        return scene._replace(bars=Bars(self._decisions, self._buttons, live))

    def _as_if(self, state: HunkState) -> HunkDecisions:
        """As if the hunk that is named like a state were in that state."""
        names = frozenset([state])
        none = frozenset[HunkKey]()
        return self._said._replace(kept=names if state == "kept" else none, undone=names if state == "undone" else none)

    def _on_theme_changed(self) -> None:
        self._buttons.clear()
        for actions in (*self._actions, self._template):
            actions.forget()
        super()._on_theme_changed()

    def _words_of(self, row: int) -> str:
        return row_words(self._rows, row, self._decisions if self._are_actions_shown else None)

    # -- buttons --

    def _place_children(self) -> None:
        if not self._actions:
            return
        has_buttons = self._are_actions_shown and self._cover is None
        change = self.current_change
        current = self._rows.changes[change] if change >= 0 and has_buttons else None
        hovered = self._hovered_bar if has_buttons else None
        self._place_actions(self._actions[0], current)
        self._place_actions(self._actions[1], hovered if hovered != current else None)

    def _new_actions(self) -> HunkActions:
        actions = HunkActions(self.viewport())
        actions.keep_clicked.connect(self._on_keep)
        actions.undecide_clicked.connect(self._on_undecide)
        actions.undo_clicked.connect(self._on_undo)
        actions.redo_clicked.connect(self._on_redo)
        actions.comment_clicked.connect(self._on_comment)
        return actions

    def _place_actions(self, actions: HunkActions, row: int | None) -> None:
        key = self._rows.key(row) if row is not None else None
        has_focus = actions.isAncestorOf(self.focusWidget()) if self.focusWidget() else False
        rect = self.row_rect(row) if row is not None else QRect()
        if row is None or key is None or not (rect.intersects(self.viewport().rect()) or has_focus):
            if actions.isVisible():
                if has_focus:
                    self.setFocus()
                self.viewport().update(self.row_rect(actions.row) if actions.row < len(self._rows) else QRect())
                actions.hide()
            return
        is_other = actions.row != row or not actions.isVisible()
        if is_other and 0 <= actions.row < len(self._rows):
            self.viewport().update(self.row_rect(actions.row))
        actions.show_hunk(row, key, bar_label(self._rows, row), self._decisions)
        actions.move(button_rect(rect.adjusted(PAD, 0, -PAD, 0), actions.width(), actions.height()).topLeft())
        actions.show()

    def _move_to(self, row: int, *, is_selecting: bool = False) -> None:
        super()._move_to(row, is_selecting=is_selecting)
        self._place_children()

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        change = self.current_change
        if next and self._are_actions_shown and change >= 0 and self.hasFocus():
            self.ensure_visible(self._rows.changes[change])  # its buttons come next
        return super().focusNextPrevChild(next)

    # -- decisions --

    def _on_keep(self) -> None:
        self._emit_for(self.keep_requested)

    def _on_undecide(self) -> None:
        self._emit_for(self.undecide_requested)

    def _on_undo(self) -> None:
        self._emit_for(self.undo_requested)

    def _on_redo(self) -> None:
        self._emit_for(self.redo_requested)

    def _on_comment(self) -> None:
        actions = self.sender()
        if isinstance(actions, HunkActions):
            self._move_to(actions.row)
            self.comment_requested.emit(actions.row)

    def _emit_for(self, signal: SignalInstance) -> None:
        actions = self.sender()
        if isinstance(actions, HunkActions):
            self._move_to(actions.row)
            self._request(signal, actions.key)

    def _request(self, signal: SignalInstance, key: HunkKey) -> None:
        signal.emit((key,))

    # -- keyboard --

    def _act_on(self, event: QKeyEvent) -> bool:
        if super()._act_on(event):
            return True
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier or not self._are_actions_shown:
            return False
        key = self.current_key
        return event.key() in _LETTERS and self._decide_by(event.key(), key)

    def _decide_by(self, letter: int, key: HunkKey | None) -> bool:
        """Whether the letter is one for hunks. What cannot be done now is left undone."""
        state = self._decisions.state(key) if key is not None else None
        can_revert = self._decisions.can_revert
        match letter:
            case Qt.Key.Key_K if key is not None and state != "undone":
                self._request(self.undecide_requested if state == "kept" else self.keep_requested, key)
            case Qt.Key.Key_U if key is not None and state != "undone" and can_revert:
                self._request(self.undo_requested, key)
            case Qt.Key.Key_R if key is not None and state == "undone" and can_revert:
                self._request(self.redo_requested, key)
            case _:
                return letter in (Qt.Key.Key_K, Qt.Key.Key_U, Qt.Key.Key_R)
        return True

    def event(self, event: QEvent) -> bool:
        is_override = event.type() == QEvent.Type.ShortcutOverride and self._are_actions_shown
        if is_override and isinstance(event, QKeyEvent) and event.key() in _LETTERS and not event.modifiers():
            event.accept()
            return True
        return super().event(event)

    # -- mouse --

    def mousePressEvent(self, event: QMouseEvent) -> None:
        # Where a finger taps there was no mouse before: the buttons have not come yet.
        point = event.position().toPoint()
        self._hover(point)
        child = self.viewport().childAt(point) if event.button() == Qt.MouseButton.LeftButton else None
        self._pressed_button = child if isinstance(child, QPushButton) else None
        if self._pressed_button is None:
            super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed_button = self._pressed_button, None
        if pressed is None:
            super().mouseReleaseEvent(event)
        elif self.viewport().childAt(event.position().toPoint()) is pressed:
            pressed.click()

    def _hover(self, point: QPoint) -> None:
        super()._hover(point)
        row = self._row_at(point) if len(self._rows) and point.y() >= 0 else None
        self._hovered_bar = row if row is not None and self._rows.key(row) is not None else None
        self._place_children()
