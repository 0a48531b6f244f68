"""The diff of the review panel: decisions about hunks, comments on lines, and editing, besides all of reading."""

from collections import Counter
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal, SignalInstance
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QPushButton, QToolTip, QWidget

from desktop_agent.core.changes.rows import LineSide
from desktop_agent.core.ids import HunkKey
from desktop_agent.core.model import FileDiff, LineComment
from desktop_agent.ui.review.comment_anchor import Spot, spot_of_change
from desktop_agent.ui.review.comment_blocks import CommentBlocks
from desktop_agent.ui.review.decisions import Decisions, HunkState
from desktop_agent.ui.review.diff_bars import PAD, Bars, button_rect
from desktop_agent.ui.review.diff_geometry import Pane
from desktop_agent.ui.review.diff_painter import Scene
from desktop_agent.ui.review.diff_selection import line_of
from desktop_agent.ui.review.diff_view import DiffView
from desktop_agent.ui.review.diff_words import bar_label, moved_label, row_words
from desktop_agent.ui.review.hunk_actions import HunkActions
from desktop_agent.ui.review.moved_search import MovedSearch
from desktop_agent.ui.theme import Theme

if TYPE_CHECKING:
    from PySide6.QtGui import QPixmap

    from desktop_agent.core.changes.moved import MovedBlock

_STATES: tuple[HunkState, ...] = ("undecided", "kept", "undone")
_LETTERS = (Qt.Key.Key_K, Qt.Key.Key_U, Qt.Key.Key_R, Qt.Key.Key_C, Qt.Key.Key_E)


class ReviewView(DiffView):
    """A diff to decide about. It changes nothing itself: what the person wants comes as a signal.

    Keys, besides those of reading: K keeps the change that the marked row is in, U undoes it, R makes it again, C
    writes a comment on the selected lines or the marked one, E edits the file; Enter on moved lines goes to where they
    went or came from. Tab goes to the buttons of the change.

    Signals:
        keep_requested, undecide_requested, undo_requested, redo_requested: for these hunks; carry a tuple of
            `HunkKey`.
        comment_added: carries a `LineComment`; one with a known id replaces the one that is there.
        comment_removed: carries the id of a comment.
        edit_requested: the person wants to edit the file, starting where the mark is.
    """

    keep_requested = Signal(object)
    undecide_requested = Signal(object)
    undo_requested = Signal(object)
    redo_requested = Signal(object)
    comment_added = Signal(object)
    comment_removed = Signal(str)
    edit_requested = Signal()

    _comments: CommentBlocks | None = None
    """Made when the base has been: it asks for heights before."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._are_actions_shown = False
        self._decisions = Decisions()
        self._buttons: dict[HunkState, QPixmap] = {}
        self._plus: tuple[int, Pane] | None = None
        self._hovered_bar: int | None = None
        self._gutter_from: int | None = None
        self._pressed_button: QPushButton | None = None
        self._moved: MovedSearch | None = None
        self._actions: tuple[HunkActions, ...] = ()
        self._all_comments: tuple[LineComment, ...] = ()
        self._cover: QWidget | None = None
        super().__init__(theme, parent)
        self._moved = MovedSearch(self)
        self._moved.found.connect(self.viewport().update)
        self._actions = (self._new_actions(), self._new_actions())
        self._template = HunkActions(self.viewport())
        self._comments = CommentBlocks(theme, self.viewport())
        self._comments.resized.connect(self._on_blocks_resized)
        self._comments.closed.connect(self.setFocus)
        self._comments.added.connect(self.comment_added)
        self._comments.removed.connect(self.comment_removed)

    # -- what it can be asked --

    @property
    def current_key(self) -> HunkKey | None:
        """The hunk that the marked row is in."""
        number = self.current_change
        return self._rows.key(self._rows.changes[number]) if number >= 0 else None

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
        decisions = Decisions(kept, undone, can_revert, reason)
        if decisions != self._decisions:
            self._decisions = decisions
            self._buttons.clear()
            self._describe_row()
            self._place_children()
            self.viewport().update()

    def set_comments(self, comments: tuple[LineComment, ...]) -> None:
        """Show these comments, as far as they are about this file."""
        self._all_comments = comments
        if self._comments and self._comments.set_comments(comments):
            self._on_blocks_resized()

    def show_diff(self, diff: FileDiff | None, *, keep_place: bool = False) -> None:
        if self._comments:
            self._comments.show_file(diff.path if diff else "")
            self._comments.set_comments(self._all_comments)
        self._plus = self._hovered_bar = None
        super().show_diff(diff, keep_place=keep_place)
        if self._moved and diff:
            self._moved.set_diff(diff)

    def next_undecided(self, *, from_start: bool = False) -> bool:
        """Go to the next hunk without decision below the mark, or to the first of all; whether there is one."""
        first = 0 if from_start else self.current_change + 1
        for number in range(first, len(self._rows.changes)):
            key = self._rows.key(self._rows.changes[number]) or ""
            if self._state(key) == "undecided":
                return self._go_to_change(number)
        return False

    def decided_counts(self) -> tuple[int, int]:
        """Return how many of the changes are kept, and how many undone."""
        keys = (self._rows.key(row) or "" for row in self._rows.changes)
        states = Counter(self._state(key) for key in keys)
        return states["kept"], states["undone"]

    def write_comment(self) -> None:
        """Let the person comment on the selected lines, or on the marked one."""
        if self._are_actions_shown and len(self._rows):
            self._write_on(self._spot())

    def current_new_line(self) -> int:
        """Return the new line that is marked, or the next one."""
        for row in range(self._current_row, len(self._rows)):
            if gap := self._rows.gap(row):
                return gap.new_start
            new = self._rows[row].new
            if new is not None:
                return new
        return max(0, len(self._rows.diff.new_lines) - 1)

    def set_cover(self, cover: QWidget | None) -> None:
        """Put a widget over the new side, which hides what it covers from the keyboard; `None` takes it away."""
        self._cover = cover
        self._place_children()

    # -- what is drawn --

    def _state(self, key: HunkKey) -> HunkState:
        return self._decided().state(key)

    def _decided(self) -> Decisions:
        """What was decided, with what the diff itself knows to be undone."""
        undone = self._decisions.undone | self._rows.diff.undone
        return self._decisions._replace(undone=undone)

    def _scene(self) -> Scene:
        scene = super()._scene()._replace(moves=self._moved.moves if self._moved else None)
        if not self._are_actions_shown:
            return scene
        if not self._buttons:
            for state in _STATES:
                self._template.show_hunk(-1, state, "", self._as_if(state))
                self._buttons[state] = self._template.picture()
        live = frozenset(actions.row for actions in self._actions if actions.isVisible())
        return scene._replace(bars=Bars(self._decided(), self._buttons, live), plus=self._plus)

    def _as_if(self, state: HunkState) -> Decisions:
        """As if the hunk that is named like a state were in that state."""
        names = frozenset([state])
        none = frozenset[HunkKey]()
        return self._decisions._replace(
            kept=names if state == "kept" else none, undone=names if state == "undone" else none
        )

    def _on_theme_changed(self) -> None:
        self._buttons.clear()
        for actions in (*self._actions, self._template):
            actions.forget()
        super()._on_theme_changed()

    def _words_of(self, row: int) -> str:
        if not self._are_actions_shown:
            return super()._words_of(row)
        words = [row_words(self._rows, row, self._decided())]
        if block := self._block_at(row):
            words.append(moved_label(*block))
        if self._comments and (comments := self._comments.words_at(row)):
            words.append(comments)
        return ". ".join(words)

    # -- children: buttons and comments --

    def _new_actions(self) -> HunkActions:
        actions = HunkActions(self.viewport())
        actions.keep_clicked.connect(self._on_keep)
        actions.undecide_clicked.connect(self._on_undecide)
        actions.undo_clicked.connect(self._on_undo)
        actions.redo_clicked.connect(self._on_redo)
        actions.comment_clicked.connect(self._on_comment)
        return actions

    def _blocks(self) -> dict[int, int]:
        if self._comments is None or not self._are_actions_shown:
            return {}
        return self._comments.heights(self._rows, self._block_left(), self.viewport().width())

    def _block_left(self) -> int:
        return self._panes[0].text_left if self._panes else 0

    def _update_panes(self) -> None:
        super()._update_panes()
        if self._comments and not self._comments.is_empty:  # their text is wrapped to the width
            self._geometry = self._new_geometry()
            self._update_scroll_bars()
            self._place_children()

    def _on_blocks_resized(self) -> None:
        anchor = self._top_line()
        self._geometry = self._new_geometry()
        self._update_scroll_bars()
        if anchor:
            side, line, above = anchor
            self.verticalScrollBar().setValue(self._geometry.top(self._rows.find(side, line)) - above)
        self._place_children()
        if self._comments and (row := self._comments.last_row()) is not None:
            self._see_block(row)
        self.viewport().update()

    def _see_block(self, row: int) -> None:
        """Scroll just as far as needed to see what is below a row, and the row itself."""
        bar = self.verticalScrollBar()
        bottom = self._geometry.top(row + 1)
        bar.setValue(max(bottom - self.viewport().height(), min(self._geometry.top(row), bar.value())))

    def _place_children(self) -> None:
        if not self._actions or self._comments is None:
            return
        has_buttons = self._are_actions_shown and self._cover is None
        change = self.current_change
        current = self._rows.changes[change] if change >= 0 and has_buttons else None
        hovered = self._hovered_bar if has_buttons else None
        self._place_actions(self._actions[0], current)
        self._place_actions(self._actions[1], hovered if hovered != current else None)
        self._comments.place(self._geometry, self.verticalScrollBar().value(), self._block_left())
        if self._cover:
            left = self._panes[-1].left if self._panes else 0
            height = self.viewport().height() if left else self.height()  # the other side scrolls sideways
            self._cover.setGeometry(left, 0, self.width() - left, height)
            self._cover.raise_()

    def _place_actions(self, actions: HunkActions, row: int | None) -> None:
        key = self._rows.key(row) if row is not None else None
        has_focus = actions.isAncestorOf(self.focusWidget()) if self.focusWidget() else False
        rect = self._bar_rect(row) if row is not None else QRect()
        if row is None or key is None or not (rect.intersects(self.viewport().rect()) or has_focus):
            if actions.isVisible():
                if has_focus:
                    self.setFocus()
                self.viewport().update(self._bar_rect(actions.row) if actions.row < len(self._rows) else QRect())
                actions.hide()
            return
        is_other = actions.row != row or not actions.isVisible()
        if is_other and 0 <= actions.row < len(self._rows):
            self.viewport().update(self._bar_rect(actions.row))
        actions.show_hunk(row, key, bar_label(self._rows, row), self._decided())
        actions.move(button_rect(rect.adjusted(PAD, 0, -PAD, 0), actions.width(), actions.height()).topLeft())
        actions.show()

    def _bar_rect(self, row: int) -> QRect:
        top = self._geometry.top(row) - self.verticalScrollBar().value()
        return QRect(0, top, self.viewport().width(), self._geometry.row_height_at(row))

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
            self._write_on(spot_of_change(self._rows, actions.row))

    def _emit_for(self, signal: SignalInstance) -> None:
        actions = self.sender()
        if isinstance(actions, HunkActions):
            self._move_to(actions.row)
            self._request(signal, actions.key)

    def _request(self, signal: SignalInstance, key: HunkKey) -> None:
        signal.emit((key,))

    # -- comments --

    def _spot(self) -> Spot:
        """The lines that are selected, or the marked one; on the bar of a change, its lines."""
        selection, row = self._selection, self._current_row
        side = self._selecting_side()
        if selection and not selection.is_empty:
            end = selection.end.row - (selection.end.offset == 0 and selection.end.row > selection.start.row)
            if spot := self._spot_between(selection.start.row, end, selection.side):
                return spot
        if found := line_of(self._rows[row], side) or line_of(self._rows[row], None):
            return Spot(found[0], found[1], found[1] + 1)
        if gap := self._rows.gap(row):
            return Spot("new", gap.new_start, gap.new_start + gap.size)
        return spot_of_change(self._rows, row)

    def _spot_between(self, first: int, last: int, side: LineSide | None) -> Spot | None:
        """The lines that these rows show on one side: without a side, the new one if it has any of them."""
        sides: tuple[LineSide, ...] = (side,) if side else ("new", "old")
        for wanted in sides:
            ends = [
                self._first_line(range(first, last + 1), wanted),
                self._first_line(range(last, first - 1, -1), wanted),
            ]
            if ends[0] is not None and ends[1] is not None:
                return Spot(wanted, ends[0], ends[1] + 1)
        return None

    def _first_line(self, rows: range, side: LineSide) -> int | None:
        found = (line_of(self._rows[row], side) for row in rows)
        return next((line[1] for line in found if line), None)

    def _write_on(self, spot: Spot) -> None:
        if self._comments:
            self._comments.write(self._rows, spot)

    # -- moved lines --

    def _block_at(self, row: int) -> "tuple[MovedBlock, LineSide] | None":
        """The moved block that a row is in, and the side it is in it with."""
        if self._moved is None or self._rows[row].kind in ("context", "hunk", "gap"):
            return None
        shown = self._rows[row]
        new = self._moved.moves.of_new(shown.new) if shown.new is not None else None
        old = self._moved.moves.of_old(shown.old) if shown.old is not None else None
        prefers_old = self.mode == "side_by_side" and self._side == "old"
        if old and (prefers_old or not new):
            return old, "old"
        return (new, "new") if new else None

    def _jump(self, block: "MovedBlock", side: LineSide) -> None:
        """Go to the other place of moved lines."""
        self._side = "new" if side == "old" else "old"
        row = self._rows.find("new", block.new_start) if side == "old" else self._rows.find("old", block.old_start)
        self._move_to(row)
        self.ensure_visible(row, margin_rows=5)

    # -- keyboard --

    def _act_on(self, event: QKeyEvent) -> bool:
        if super()._act_on(event):
            return True
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier or not len(self._rows):
            return False
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (block := self._block_at(self._current_row)):
            self._jump(*block)
            return True
        return self._are_actions_shown and self._decide_by(event.key())

    def _decide_by(self, letter: int) -> bool:
        """Whether the letter means something. What cannot be done now is left undone."""
        key = self.current_key
        state = self._state(key) if key is not None else None
        can_revert = self._decisions.can_revert
        match letter:
            case Qt.Key.Key_K if key is not None and state != "undone":
                self._request(self.undecide_requested if state == "kept" else self.keep_requested, key)
            case Qt.Key.Key_U if key is not None and state != "undone" and can_revert:
                self._request(self.undo_requested, key)
            case Qt.Key.Key_R if key is not None and state == "undone" and can_revert:
                self._request(self.redo_requested, key)
            case Qt.Key.Key_C:
                self.write_comment()
            case Qt.Key.Key_E:
                self.edit_requested.emit()
            case _:
                return letter in _LETTERS
        return True

    def event(self, event: QEvent) -> bool:
        is_override = event.type() == QEvent.Type.ShortcutOverride and self._are_actions_shown
        if is_override and isinstance(event, QKeyEvent) and event.key() in _LETTERS and not event.modifiers():
            event.accept()
            return True
        return super().event(event)

    # -- mouse --

    def mousePressEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if event.button() == Qt.MouseButton.LeftButton and len(self._rows) and not self._is_in_block(point):
            self._hover(point)
            child = self.viewport().childAt(point)
            self._pressed_button = child if isinstance(child, QPushButton) else None
            if self._pressed_button:
                return
            if found := self._painter.moved_at(self._scene(), point):
                self._jump(*found)
                return
            pane = self._gutter_at(point)
            if pane:
                self._start_in_gutter(self._row_at(point), pane)
                return
        if not self._is_in_block(point):
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._gutter_from is not None:
            self._select(self._lines_selected(self._gutter_from, self._row_at(event.position().toPoint())))
            return
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed_button = self._pressed_button, None
        start, self._gutter_from = self._gutter_from, None
        if pressed:
            if self.viewport().childAt(event.position().toPoint()) is pressed:
                pressed.click()
        elif start is not None:
            self.write_comment()
        else:
            super().mouseReleaseEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if not self._is_in_block(event.pos()):
            super().contextMenuEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and self._plus:
            QToolTip.showText(self.cursor().pos(), self.tr("Comment on this line, or drag over several (C)"), self)
            return True
        return super().viewportEvent(event)

    def _start_in_gutter(self, row: int, pane: Pane) -> None:
        self._side = pane.side or self._side
        self._move_to(row)
        self._gutter_from = row
        self._select(self._lines_selected(row, row))

    def _is_in_block(self, point: QPoint) -> bool:
        return self._geometry.is_in_block(point.y() + self.verticalScrollBar().value())

    def _gutter_at(self, point: QPoint) -> Pane | None:
        """The pane in whose gutter a comment on a line can be started at `point`."""
        pane = self._pane_of_line(point)
        return pane if pane and point.x() < pane.text_left else None

    def _pane_of_line(self, point: QPoint) -> Pane | None:
        if not self._are_actions_shown or not len(self._rows) or point.y() < 0 or self._is_in_block(point):
            return None
        pane = next((pane for pane in self._panes if point.x() < pane.right), None)
        return pane if pane and line_of(self._rows[self._row_at(point)], pane.side) else None

    def _hover(self, point: QPoint) -> None:
        super()._hover(point)
        row = self._row_at(point) if len(self._rows) and point.y() >= 0 else None
        self._hovered_bar = row if row is not None and self._rows.key(row) is not None else None
        pane = self._pane_of_line(point)
        plus = (row, pane) if pane and row is not None else None
        if plus != self._plus:
            for changed in (self._plus, plus):
                if changed and changed[0] < len(self._rows):
                    self.viewport().update(self._bar_rect(changed[0]))
            self._plus = plus
        if self._gutter_at(point):
            self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
        self._place_children()
