"""The interface of overlays, which add content to a diff."""

from PySide6.QtCore import QObject, QPoint
from PySide6.QtGui import QMouseEvent

from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_painter import Scene


class DiffOverlay(QObject):
    """Draws over a diff and handles its keys and mouse. The base class does nothing. Points are viewport pixels."""

    def set_diff(self, diff: FileDiff | None) -> None:
        """Use this diff from now on. Its rows are not laid out yet."""

    def block_heights(self) -> dict[int, int]:
        """Return the heights in pixels of this overlay's blocks, by the row above each block."""
        return {}

    def place(self) -> None:
        """Move the overlay's widgets, because the rows have moved."""

    def decorate(self, scene: Scene) -> Scene:
        """Return the scene with this overlay's additions. Called for each frame."""
        return scene

    def describe(self, row: int, words: str) -> str:
        """Return the text about a row for screen readers. `words` is the text without this overlay."""
        return words

    def hide(self) -> None:
        """Stop the current action, because the diff is no longer visible."""

    def takes(self, action: str) -> bool:
        """Whether this overlay handles the action of a diff key, before the window's shortcuts do."""
        return False

    def do(self, action: str) -> bool:
        """Perform the action of a diff key; return whether this overlay did anything."""
        return False

    def tab_pressed(self) -> None:
        """Prepare for Tab moving the focus out of the lines."""

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        """Handle a press. Return whether this overlay gets the mouse until the release."""
        return False

    def mouse_moved(self, point: QPoint) -> None: ...

    def mouse_released(self, point: QPoint) -> None: ...

    def hover(self, point: QPoint) -> bool:
        """Show the hover state at `point`. Return whether a click there would do something."""
        return False

    def tool_tip(self) -> str:
        return ""
