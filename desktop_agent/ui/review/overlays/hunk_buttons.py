"""The buttons in the bars of hunks: real ones where the keyboard and the mouse are, pictures on all other bars."""

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPixmap
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_layout import PAD
from desktop_agent.ui.review.diff.diff_overlay import DiffOverlay
from desktop_agent.ui.review.diff.diff_painter import Bars, Scene, button_rect
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import HunkChoice, HunkDecisions, HunkState, bar_label
from desktop_agent.ui.review.overlays.hunk_actions import HunkActions
from desktop_agent.ui.review.overlays.hunk_bars import HunkBars
from desktop_agent.ui.theme import Theme

_STATES: tuple[HunkState, ...] = ("undecided", "kept", "undone")


class HunkButtons(DiffOverlay):
    """Offers what can be done about the hunk of the marked row and the one below the mouse. Tab goes to them.

    Signals:
        comment_requested: the user wants to comment on the hunk of this row.
    """

    comment_requested = Signal(int)

    def __init__(self, theme: Theme, view: DiffView, bars: HunkBars) -> None:
        super().__init__(view)
        self._view = view
        self._bars = bars
        self._pictures: dict[HunkState, QPixmap] = {}
        self._can_revert = True
        """Whether the pictures show that hunks can be undone."""
        self._hovered: int | None = None
        self._pressed: QPushButton | None = None
        self._is_covered = False
        self._current, self._below_mouse = self._new_actions(), self._new_actions()
        self._template = HunkActions(view.viewport(), view.keys)
        for button in self._template.findChildren(QPushButton):
            button.setObjectName("")  # these buttons are only painted: a search by name must not find them
        view.navigation.moved.connect(self.place)
        bars.changed.connect(self.place)
        theme.changed.connect(self._look_anew)
        view.keys.changed.connect(self._look_anew)

    def set_covered(self, *, is_covered: bool) -> None:
        """Take the buttons away while something covers the hunks, or bring them back."""
        self._is_covered = is_covered
        self.place()

    def set_diff(self, diff: FileDiff | None) -> None:
        self._hovered = None

    def decorate(self, scene: Scene) -> Scene:
        decisions = self._bars.decisions
        if not self._pictures or self._can_revert != decisions.can_revert:
            self._can_revert = decisions.can_revert
            for state in _STATES:
                self._template.show_hunk(-1, state, "", self._as_if(state))
                self._pictures[state] = self._template.picture()
        live = frozenset(actions.row for actions in (self._current, self._below_mouse) if actions.isVisible())
        return scene._replace(bars=Bars(decisions, self._pictures, live))

    def _as_if(self, state: HunkState) -> HunkDecisions:
        """As if the hunk that is named like a state were in that state."""
        names = frozenset([state])
        none = frozenset[HunkKey]()
        return self._bars.decisions._replace(
            kept=names if state == "kept" else none, undone=names if state == "undone" else none
        )

    def _look_anew(self) -> None:
        self._pictures.clear()
        for actions in (self._current, self._below_mouse, self._template):
            actions.forget()
        self.place()

    # -- buttons --

    def place(self) -> None:
        rows, change = self._view.document.rows, self._view.navigation.change
        current = rows.changes[change] if change >= 0 and not self._is_covered else None
        hovered = None if self._is_covered else self._hovered
        self._place(self._current, current)
        self._place(self._below_mouse, hovered if hovered != current else None)

    def _new_actions(self) -> HunkActions:
        actions = HunkActions(self._view.viewport(), self._view.keys)
        actions.chosen.connect(self._on_chosen)
        return actions

    def _place(self, actions: HunkActions, row: int | None) -> None:
        view, rows = self._view, self._view.document.rows
        key = rows.key(row) if row is not None else None
        focus = view.focusWidget()
        has_focus = actions.isAncestorOf(focus) if focus else False
        rect = view.scroller.row_rect(row) if row is not None else QRect()
        if row is None or key is None or not (rect.intersects(view.viewport().rect()) or has_focus):
            if actions.isVisible():
                if has_focus:
                    view.setFocus()
                view.scroller.repaint(actions.row)
                actions.hide()
            return
        if actions.row != row or not actions.isVisible():
            view.scroller.repaint(actions.row)
        actions.show_hunk(row, key, bar_label(rows, row), self._bars.decisions)
        actions.move(button_rect(rect.adjusted(PAD, 0, -PAD, 0), actions.width(), actions.height()).topLeft())
        actions.show()

    def _on_chosen(self, choice: HunkChoice) -> None:
        actions = self.sender()
        if isinstance(actions, HunkActions):
            self._view.navigation.go_to(actions.row)
            if choice == "comment":
                self.comment_requested.emit(actions.row)
            else:
                self._bars.requested.emit(choice, (actions.key,))

    def tab_pressed(self) -> None:
        change = self._view.navigation.change
        if change >= 0:
            self._view.scroller.ensure_visible(self._view.document.rows.changes[change])  # its buttons come next

    # -- mouse --

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        # Where a finger taps there was no mouse before: the buttons have not come yet.
        point = event.position().toPoint()
        self.hover(point)
        child = self._view.viewport().childAt(point) if event.button() == Qt.MouseButton.LeftButton else None
        self._pressed = child if isinstance(child, QPushButton) else None
        return self._pressed is not None

    def mouse_released(self, point: QPoint) -> None:
        pressed, self._pressed = self._pressed, None
        if pressed is not None and self._view.viewport().childAt(point) is pressed:
            pressed.click()

    def hover(self, point: QPoint) -> bool:
        rows = self._view.document.rows
        row = self._view.scroller.row_at(point) if len(rows) and point.y() >= 0 else None
        self._hovered = row if row is not None and rows.key(row) is not None else None
        self.place()
        return False
