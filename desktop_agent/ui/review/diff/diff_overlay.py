"""The interface of overlays: what a diff can show besides its lines."""

from PySide6.QtCore import QObject, QPoint
from PySide6.QtGui import QMouseEvent

from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_painter import Scene


class DiffOverlay(QObject):
    """Draws over a diff and handles its keys and mouse; the base class does nothing. Points are viewport pixels."""

    def set_diff(self, diff: FileDiff | None) -> None:
        """Show this diff from now on; its rows are not laid out yet."""

    def block_heights(self) -> dict[int, int]:
        """Return the heights in pixels of the blocks that this overlay has below rows, by row."""
        return {}

    def place(self) -> None:
        """Place the overlay's widgets anew, because the rows have moved."""

    def decorate(self, scene: Scene) -> Scene:
        """Return the scene with this overlay's additions. Called for each frame."""
        return scene

    def describe(self, row: int, words: str) -> str:
        """Return the text for screen readers about a row; `words` is the text without this overlay."""
        return words

    def hide(self) -> None:
        """Stop the current action, because the diff is no longer visible."""

    def takes(self, action: str) -> bool:
        """Whether this overlay handles a diff key's action, taking precedence over the window's shortcuts."""
        return False

    def do(self, action: str) -> bool:
        """Perform the action of a diff key; return whether this overlay did anything."""
        return False

    def tab_pressed(self) -> None:
        """Prepare for the focus leaving the lines forwards."""

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        """Return whether this overlay handles the mouse until it is released."""
        return False

    def mouse_moved(self, point: QPoint) -> None:
        """Handle a move of the mouse that was pressed on this overlay."""

    def mouse_released(self, point: QPoint) -> None:
        """Finish the action that `mouse_pressed` began."""

    def hover(self, point: QPoint) -> bool:
        """Show the hover state at `point`; return whether a click there would do something."""
        return False

    def tool_tip(self) -> str:
        return ""
