"""Comments on the lines of a diff: where they stand between the rows, and how the user starts one."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QMouseEvent

from desktop_agent.core.protocol.model import FileDiff, LineComment
from desktop_agent.ui.review.comments.comment_anchor import anchor_of_row, anchor_of_selection, spot_of_change
from desktop_agent.ui.review.comments.comment_blocks import CommentBlocks
from desktop_agent.ui.review.diff.diff_document import line_of
from desktop_agent.ui.review.diff.diff_layout import Pane
from desktop_agent.ui.review.diff.diff_overlay import DiffOverlay
from desktop_agent.ui.review.diff.diff_painter import Scene
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.theme import Theme


class CommentOverlay(DiffOverlay):
    """Shows comments below their lines.

    C, or a click in the gutter, writes one on the selected lines or the marked one. `blocks` says what was written.
    """

    def __init__(self, theme: Theme, view: DiffView) -> None:
        super().__init__(view)
        self._view = view
        self._comments: tuple[LineComment, ...] = ()
        self._plus: tuple[int, Pane] | None = None
        self._gutter_from: int | None = None
        self.blocks = CommentBlocks(theme, view.viewport())
        self.blocks.resized.connect(self._on_resized)
        self.blocks.closed.connect(view.setFocus)

    def set_comments(self, comments: tuple[LineComment, ...]) -> None:
        """Show these comments, as far as they are about this file."""
        self._comments = comments
        if self.blocks.set_comments(comments):
            self._on_resized()

    def write(self) -> None:
        """Let the user comment on the selected lines, or on the marked one."""
        rows, navigation = self._view.document.rows, self._view.navigation
        if len(rows):
            if rows.gap(navigation.row) and (navigation.selection is None or navigation.selection.is_empty):
                self._view.open_gap(navigation.row)  # to see what the comment is on
            rows = self._view.document.rows
            marked = anchor_of_row(rows, navigation.row, navigation.selecting_side)
            self.blocks.write(rows, anchor_of_selection(rows, navigation.selection) or marked)

    def write_on_change(self, row: int) -> None:
        """Let the user comment on the change that `row` is the head of."""
        rows = self._view.document.rows
        self.blocks.write(rows, spot_of_change(rows, row))

    # -- what is drawn --

    def set_diff(self, diff: FileDiff | None) -> None:
        self.blocks.show_file(diff.path if diff else "")
        self.blocks.set_comments(self._comments)
        self._plus = None

    def block_heights(self) -> dict[int, int]:
        scroller = self._view.scroller
        return self.blocks.heights(self._view.document.rows, scroller.text_left, self._view.viewport().width())

    def place(self) -> None:
        scroller = self._view.scroller
        self.blocks.place(scroller.geometry, scroller.position.y(), scroller.text_left)

    def decorate(self, scene: Scene) -> Scene:
        return scene._replace(plus=self._plus)

    def describe(self, row: int, words: str) -> str:
        return ". ".join(filter(None, (words, self.blocks.words_at(row))))

    def _on_resized(self) -> None:
        self._view.relayout(keep_top=True)
        if (row := self.blocks.last_row()) is not None:
            self._view.scroller.ensure_visible(row)

    # -- keyboard and mouse --

    def takes(self, action: str) -> bool:
        return action == "comment"

    def do(self, action: str) -> bool:
        if action != "comment" or not len(self._view.document.rows):
            return False
        self.write()
        return True

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        point = event.position().toPoint()
        pane = self._gutter_at(point) if event.button() == Qt.MouseButton.LeftButton else None
        if pane is None:
            return False
        row, navigation = self._view.scroller.row_at(point), self._view.navigation
        navigation.side = pane.side or navigation.side
        navigation.go_to(row)
        self._gutter_from = row
        navigation.select_lines(row, row)
        return True

    def mouse_moved(self, point: QPoint) -> None:
        if self._gutter_from is not None:
            self._view.navigation.select_lines(self._gutter_from, self._view.scroller.row_at(point))

    def mouse_released(self, point: QPoint) -> None:
        self._gutter_from = None
        self.write()

    def hover(self, point: QPoint) -> bool:
        pane = self._pane_of_line(point)
        plus = (self._view.scroller.row_at(point), pane) if pane else None
        if plus != self._plus:
            for changed in filter(None, (self._plus, plus)):
                self._view.scroller.repaint(changed[0])
            self._plus = plus
        return self._gutter_at(point) is not None

    def tool_tip(self) -> str:
        words = self.tr("Comment on this line, or drag over several")
        return self._view.keys.hint(words, "comment") if self._plus else ""

    def _gutter_at(self, point: QPoint) -> Pane | None:
        """The pane in whose gutter a comment on a line can be started at `point`."""
        pane = self._pane_of_line(point)
        return pane if pane and point.x() < pane.text_left else None

    def _pane_of_line(self, point: QPoint) -> Pane | None:
        rows, scroller = self._view.document.rows, self._view.scroller
        if not len(rows) or point.y() < 0 or scroller.is_in_block(point):
            return None
        pane = scroller.pane_at(point)
        return pane if pane and line_of(rows[scroller.row_at(point)], pane.side) else None
