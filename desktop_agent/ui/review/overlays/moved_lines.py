"""The moved lines of a diff: their label, and the way to their other place."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QMouseEvent

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.core.protocol.model import FileDiff, MovedBlock
from desktop_agent.ui.review.diff.diff_overlay import DiffOverlay
from desktop_agent.ui.review.diff.diff_painter import Scene
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import moved_label
from desktop_agent.ui.review.overlays.moved_search import MovedSearch


class MovedLines(DiffOverlay):
    """Marks moved lines when they are found. Enter, or a click on the label, goes to where they went or came from."""

    def __init__(self, view: DiffView) -> None:
        super().__init__(view)
        self._view = view
        self._search = MovedSearch(self)
        self._search.found.connect(view.viewport().update)

    def block_at(self, row: int) -> tuple[MovedBlock, LineSide] | None:
        """Return the moved block that a row is in, and the side it is in it with."""
        shown = self._view.document.rows[row]
        if shown.kind in ("context", "hunk", "gap"):
            return None
        new = self._search.moves.of_new(shown.new) if shown.new is not None else None
        old = self._search.moves.of_old(shown.old) if shown.old is not None else None
        prefers_old = self._view.document.mode == "side_by_side" and self._view.navigation.side == "old"
        if old and (prefers_old or not new):
            return old, "old"
        return (new, "new") if new else None

    def set_diff(self, diff: FileDiff | None) -> None:
        if diff:
            self._search.set_diff(diff)

    def decorate(self, scene: Scene) -> Scene:
        self._search.go_on()
        return scene._replace(moves=self._search.moves)

    def describe(self, row: int, words: str) -> str:
        block = self.block_at(row)
        return f"{words}. {moved_label(*block)}" if block else words

    def hide(self) -> None:
        self._search.pause()

    def do(self, action: str) -> bool:
        if action != "open":
            return False
        block = self.block_at(self._view.navigation.row) if len(self._view.document.rows) else None
        if block:
            self._jump(*block)
        return block is not None

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        is_left = event.button() == Qt.MouseButton.LeftButton
        found = self._label_at(event.position().toPoint()) if is_left else None
        if found:
            self._jump(*found)
        return found is not None

    def hover(self, point: QPoint) -> bool:
        return self._label_at(point) is not None

    def _label_at(self, point: QPoint) -> tuple[MovedBlock, LineSide] | None:
        return self._view.renderer.moved_at(self._view.scene(), point)

    def _jump(self, block: MovedBlock, side: LineSide) -> None:
        """Go to the other place of moved lines."""
        view = self._view
        other, line = ("new", block.new_start) if side == "old" else ("old", block.old_start)
        view.navigation.side = other
        row = view.document.rows.find(other, line)
        view.navigation.go_to(row)
        view.scroller.ensure_visible(row, margin_rows=5)
