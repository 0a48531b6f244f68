"""The diff of the review panel: decisions about hunks, comments on lines, and editing, besides all of reading."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QHideEvent, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QToolTip, QWidget

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.core.protocol.model import FileDiff, LineComment
from desktop_agent.ui.review.comments.comment_anchor import CommentAnchor, spot_of_change
from desktop_agent.ui.review.comments.comment_blocks import CommentBlocks
from desktop_agent.ui.review.diff.diff_geometry import Pane
from desktop_agent.ui.review.diff.diff_painter import Scene
from desktop_agent.ui.review.diff.diff_selection import line_of
from desktop_agent.ui.review.diff.diff_words import moved_label
from desktop_agent.ui.review.diff.hunk_view import HunkView
from desktop_agent.ui.review.diff.moved_search import MovedSearch
from desktop_agent.ui.theme import Theme

if TYPE_CHECKING:
    from desktop_agent.core.protocol.model import MovedBlock


class ReviewView(HunkView):
    """A diff to decide about, to comment on and to edit. It changes nothing itself.

    C, or a click in the gutter, writes a comment on the selected lines or the marked one; E edits the file; Enter on
    moved lines goes to where they went or came from.

    Signals:
        comment_added: carries a `LineComment`; one with a known id replaces the one that is there.
        comment_removed: carries the id of a comment.
        edit_requested: the user wants to edit the file, starting where the mark is.
        find_requested: the user wants to find something in the diff.
    """

    comment_added = Signal(object)
    comment_removed = Signal(str)
    edit_requested = Signal()
    find_requested = Signal()

    _comments: CommentBlocks | None = None
    """Made when the base has been: it asks for heights before."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._plus: tuple[int, Pane] | None = None
        self._gutter_from: int | None = None
        self._moved: MovedSearch | None = None
        self._all_comments: tuple[LineComment, ...] = ()
        super().__init__(theme, parent)
        self._moved = MovedSearch(self)
        self._moved.found.connect(self.viewport().update)
        self.comment_requested.connect(self._on_comment_requested)
        self._comments = CommentBlocks(theme, self.viewport())
        self._comments.resized.connect(self._on_blocks_resized)
        self._comments.closed.connect(self.setFocus)
        self._comments.added.connect(self.comment_added)
        self._comments.removed.connect(self.comment_removed)

    # -- what it can be asked --

    def set_comments(self, comments: tuple[LineComment, ...]) -> None:
        """Show these comments, as far as they are about this file."""
        self._all_comments = comments
        if self._comments and self._comments.set_comments(comments):
            self._on_blocks_resized()

    def show_diff(self, diff: FileDiff | None, *, keep_place: bool = False) -> None:
        if self._comments:
            self._comments.show_file(diff.path if diff else "")
            self._comments.set_comments(self._all_comments)
        self._plus = None
        super().show_diff(diff, keep_place=keep_place)
        if self._moved and diff:
            self._moved.set_diff(diff)

    def write_comment(self) -> None:
        """Let the user comment on the selected lines, or on the marked one."""
        if self._are_actions_shown and len(self._rows):
            if self._rows.gap(self._current_row) and (self._selection is None or self._selection.is_empty):
                self._open(self._current_row)  # to see what the comment is on
            self._write_on(self._spot())

    def current_new_line(self) -> int:
        """Return the new line that is marked, or the next one; on the bar of a change, the first one it changed."""
        if len(self._rows) and self._rows[self._current_row].kind == "hunk":
            spot = spot_of_change(self._rows, self._current_row)
            if spot.side == "new":
                return spot.start
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

    def _scene(self) -> Scene:
        if self._moved is None:
            return super()._scene()
        self._moved.go_on()
        return super()._scene()._replace(moves=self._moved.moves, plus=self._plus)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._moved:
            self._moved.pause()

    def _words_of(self, row: int) -> str:
        words = [super()._words_of(row)]
        if block := self.moved_block(row):
            words.append(moved_label(*block))
        if self._comments and (comments := self._comments.words_at(row)):
            words.append(comments)
        return ". ".join(words)

    # -- room for comments --

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
        super()._place_children()
        if self._comments is None:
            return
        self._comments.place(self._geometry, self.verticalScrollBar().value(), self._block_left())
        if self._cover:
            left = self._panes[-1].left if self._panes else 0
            height = self.viewport().height() if left else self.height()  # the other side scrolls sideways
            self._cover.setGeometry(left, 0, self.width() - left, height)
            self._cover.raise_()

    # -- comments --

    def _on_comment_requested(self, row: int) -> None:
        self._write_on(spot_of_change(self._rows, row))

    def _spot(self) -> CommentAnchor:
        """The lines that are selected, or the marked one; on the bar of a change, its lines."""
        selection, row = self._selection, self._current_row
        side = self._selecting_side()
        if selection and not selection.is_empty:
            end = selection.end.row - (selection.end.offset == 0 and selection.end.row > selection.start.row)
            if spot := self._spot_between(selection.start.row, end, selection.side):
                return spot
        if found := line_of(self._rows[row], side) or line_of(self._rows[row], None):
            return CommentAnchor(found[0], found[1], found[1] + 1)
        return spot_of_change(self._rows, row)

    def _spot_between(self, first: int, last: int, side: LineSide | None) -> CommentAnchor | None:
        """The lines that these rows show on one side: without a side, the new one if it has any of them."""
        sides: tuple[LineSide, ...] = (side,) if side else ("new", "old")
        for wanted in sides:
            ends = [
                self._first_line(range(first, last + 1), wanted),
                self._first_line(range(last, first - 1, -1), wanted),
            ]
            if ends[0] is not None and ends[1] is not None:
                return CommentAnchor(wanted, ends[0], ends[1] + 1)
        return None

    def _first_line(self, rows: range, side: LineSide) -> int | None:
        found = (line_of(self._rows[row], side) for row in rows)
        return next((line[1] for line in found if line), None)

    def _write_on(self, spot: CommentAnchor) -> None:
        if self._comments:
            self._comments.write(self._rows, spot)

    # -- moved lines --

    def moved_block(self, row: int) -> "tuple[MovedBlock, LineSide] | None":
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
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if block := self.moved_block(self._current_row):
                self._jump(*block)
            case Qt.Key.Key_C if self._are_actions_shown:
                self.write_comment()
            case Qt.Key.Key_E if self._are_actions_shown:
                self.edit_requested.emit()
            case _:
                return False
        return True

    def event(self, event: QEvent) -> bool:
        is_override = event.type() == QEvent.Type.ShortcutOverride
        if is_override and isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Find):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Find):
            self.find_requested.emit()
        else:
            super().keyPressEvent(event)

    # -- mouse --

    def mousePressEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._is_in_block(point):
            return
        if event.button() == Qt.MouseButton.LeftButton and len(self._rows):
            if found := self._painter.moved_at(self._scene(), point):
                self._jump(*found)
                return
            if pane := self._gutter_at(point):
                self._start_in_gutter(self._row_at(point), pane)
                return
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._gutter_from is None:
            super().mouseMoveEvent(event)
        else:
            self._select(self._lines_selected(self._gutter_from, self._row_at(event.position().toPoint())))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        start, self._gutter_from = self._gutter_from, None
        if start is None:
            super().mouseReleaseEvent(event)
        else:
            self.write_comment()

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
        pane = self._pane_of_line(point)
        plus = (self._row_at(point), pane) if pane else None
        if plus != self._plus:
            for changed in (self._plus, plus):
                if changed and changed[0] < len(self._rows):
                    self.viewport().update(self.row_rect(changed[0]))
            self._plus = plus
        if self._gutter_at(point) or (len(self._rows) and self._painter.moved_at(self._scene(), point)):
            self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
