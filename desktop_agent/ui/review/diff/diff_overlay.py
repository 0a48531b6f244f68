"""What a diff can have besides its lines: the interface that such an overlay fills in."""

from PySide6.QtCore import QObject, QPoint
from PySide6.QtGui import QMouseEvent

from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_painter import Scene


class DiffOverlay(QObject):
    """Draws over a diff and hears its keyboard and mouse. Here it does nothing. Points are in the viewport."""

    def set_diff(self, diff: FileDiff | None) -> None:
        """Belong to this diff from now on; its rows are not laid out yet."""

    def block_heights(self) -> dict[int, int]:
        """Return the room that is needed below rows, in pixels by row."""
        return {}

    def place(self) -> None:
        """Put widgets where they belong: the rows have moved."""

    def decorate(self, scene: Scene) -> Scene:
        """Return what to paint, with what is drawn here. Called for each frame."""
        return scene

    def describe(self, row: int, words: str) -> str:
        """Return what a screen reader says of a row; without this overlay it would be `words`."""
        return words

    def hide(self) -> None:
        """Rest: the diff is not visible any more."""

    def takes(self, action: str) -> bool:
        """Whether this action of the diff's keys is done here, so that they come before those of the window."""
        return False

    def do(self, action: str) -> bool:
        """Whether an action that keys of the diff asked for did something here."""
        return False

    def tab_pressed(self) -> None:
        """Get ready: the keyboard is about to leave the lines forwards."""

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        """Whether the mouse is for this overlay until it is released."""
        return False

    def mouse_moved(self, point: QPoint) -> None:
        """Follow the mouse, which was pressed here."""

    def mouse_released(self, point: QPoint) -> None:
        """Finish what began with `mouse_pressed`."""

    def hover(self, point: QPoint) -> bool:
        """Show what is at `point`; whether a click there would do something."""
        return False

    def tool_tip(self) -> str:
        """Return the words for what is below the mouse."""
        return ""
