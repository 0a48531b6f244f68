"""A diff with overlays for decisions, comments, moved lines and problems. Moved lines are found after painting."""

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.diff.hunks import Moves, moved_blocks
from desktop_agent.core.diff.rows import LineSide
from desktop_agent.core.protocol.model import Diagnostic, FileDiff, MovedBlock
from desktop_agent.ui.review.diff.diff_overlay import DiffOverlay
from desktop_agent.ui.review.diff.diff_painter import LineNote, Scene
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import moved_label, problem_words
from desktop_agent.ui.review.overlays.comment_overlay import CommentOverlay
from desktop_agent.ui.review.overlays.hunk_buttons import HunkOverlay
from desktop_agent.ui.runtime.pacing import BackgroundCall
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.wording.visible_text import plain_tooltip

_MAX_LINES_AT_ONCE = 5_000
"""Up to this many changed lines, the search takes a few ms. In a thread, the window would wait longer for the GIL."""

_NO_MOVES = Moves(())


class MovedLines(DiffOverlay):
    """Marks moved lines. Enter, or a click on the label, goes to the lines' other position."""

    def __init__(self, view: DiffView) -> None:
        super().__init__(view)
        self._view = view
        self._moves = _NO_MOVES
        self._search: BackgroundCall[Moves] | None = None
        self._is_small = True
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._poll)

    def block_at(self, row: int) -> tuple[MovedBlock, LineSide] | None:
        shown = self._view.document.rows[row]
        if shown.kind in ("context", "hunk", "gap"):
            return None
        new = self._moves.of_new(shown.new) if shown.new is not None else None
        old = self._moves.of_old(shown.old) if shown.old is not None else None
        prefers_old = self._view.document.mode == "side_by_side" and self._view.navigation.side == "old"
        if old and (prefers_old or not new):
            return old, "old"
        return (new, "new") if new else None

    # -- searching, from when the diff is painted until it is not visible any more --

    def set_diff(self, diff: FileDiff | None) -> None:
        if diff is None:
            return
        self._moves = _NO_MOVES
        self._search = None
        self._timer.stop()
        if diff.landmarks is not None:
            self._moves = Moves(diff.landmarks.moved)
        elif len(diff.edits) > 1:  # a move needs two edits: one removes lines, one adds them
            self._search = BackgroundCall(partial(_moves_in, diff), _NO_MOVES)
            self._is_small = diff.added + diff.removed <= _MAX_LINES_AT_ONCE

    def decorate(self, scene: Scene) -> Scene:
        if self._search and not self._timer.isActive():
            self._timer.start(0)
        return scene._replace(moves=self._moves)

    def hide(self) -> None:
        self._timer.stop()

    def _poll(self) -> None:
        search = self._search
        if search is None or search.is_done:
            self._timer.stop()
            self._search = None
            self._moves = search.result if search else _NO_MOVES
            if self._moves is not _NO_MOVES:
                self._view.viewport().update()
        elif not search.is_started:
            self._timer.setInterval(10)
            if self._is_small:
                search.run()
            else:
                search.start()

    def describe(self, row: int, words: str) -> str:
        block = self.block_at(row)
        return f"{words}. {moved_label(*block)}" if block else words

    def do(self, action: str) -> bool:
        if action != "open":
            return False
        block = self.block_at(self._view.navigation.row) if len(self._view.document.rows) else None
        if block:
            self._jump(*block)
        return block is not None

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        is_left = event.button() == Qt.MouseButton.LeftButton
        found = self._view.moved_at(event.position().toPoint()) if is_left else None
        if found:
            self._jump(*found)
        return found is not None

    def hover(self, point: QPoint) -> bool:
        return self._view.moved_at(point) is not None

    def _jump(self, block: MovedBlock, side: LineSide) -> None:
        view = self._view
        other, line = ("new", block.new_start) if side == "old" else ("old", block.old_start)
        view.navigation.side = other
        row = view.document.rows.find(other, line)
        view.navigation.go_to(row)
        view.scroller.ensure_visible(row, margin_rows=5)


class LineProblems(DiffOverlay):
    """Marks the lines that language servers complain of, and says behind each what it is."""

    def __init__(self, view: DiffView) -> None:
        super().__init__(view)
        self._view = view
        self._path = ""
        self._found: dict[int, list[Diagnostic]] = {}
        self._notes: dict[int, LineNote] = {}
        self._tip = ""

    def set_found(self, path: str, found: Iterable[Diagnostic]) -> None:
        """Show what was found in the new file at `path`, the worst of each line first."""
        by_line: dict[int, list[Diagnostic]] = {}
        for each in found:
            by_line.setdefault(each.line - 1, []).append(each)
        if (path, by_line) != (self._path, self._found):
            self._path, self._found = path, by_line
            self._notes = {line: _note_of(all_of) for line, all_of in by_line.items()}
            self._view.viewport().update()
            self._view.describe(only_news=True)

    def decorate(self, scene: Scene) -> Scene:
        return scene._replace(notes=self._notes) if scene.rows.diff.path == self._path else scene

    def describe(self, row: int, words: str) -> str:
        return ". ".join((words, *map(problem_words, self._of_row(row))))

    def hover(self, point: QPoint) -> bool:
        rows, scroller = self._view.document.rows, self._view.scroller
        is_line = len(rows) and point.y() >= 0 and not scroller.is_in_block(point)
        pane = scroller.pane_at(point) if is_line else None
        is_text = pane is not None and pane.side != "old" and point.x() >= pane.text_left
        found = self._of_row(scroller.row_at(point)) if is_text else []
        self._tip = "\n".join(f"{problem_words(each)}{each.code and f' [{each.code}]'}" for each in found)
        return False

    def tool_tip(self) -> str:
        return plain_tooltip(self._tip)

    def _of_row(self, row: int) -> list[Diagnostic]:
        rows = self._view.document.rows
        new = rows[row].new if len(rows) and rows.diff.path == self._path else None
        return self._found.get(new, []) if new is not None else []


def _note_of(found: list[Diagnostic]) -> LineNote:
    more = f" (+{len(found) - 1})" if len(found) > 1 else ""
    return LineNote(found[0].severity, f"{found[0].message}{more}", is_new=any(each.is_new for each in found))


def _moves_in(diff: FileDiff) -> Moves:
    blocks = moved_blocks(diff)
    return Moves(blocks) if blocks else _NO_MOVES


class DiffReview(QObject):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        view = DiffView(theme, parent)
        super().__init__(view)
        self.view = view
        view.document.has_heads = True
        self.hunks = HunkOverlay(theme, view)
        self.moved = MovedLines(view)
        self.problems = LineProblems(view)
        self.comments = CommentOverlay(theme, view)
        self.hunks.comment_requested.connect(self.comments.write_on_change)
        view.overlays += (self.hunks, self.moved, self.problems, self.comments)
