"""How large a window may be: never larger than what its screen has to spare."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QWidget

FRAME = QSize(16, 40)
"""What a window manager's frame adds at most: it is not known before the window is shown."""


def screen_room(window: QWidget) -> QSize:
    """Return the largest size for the content of a window on the screen where it will be shown."""
    parent = window.parentWidget()
    screen = (parent.window() if parent is not None else window).screen()
    return screen.availableGeometry().size() - FRAME


def resize_within_screen(window: QWidget, size: QSize, minimum: QSize | None = None) -> None:
    """Give a window this size and least size, both as far as the screen has room."""
    room = screen_room(window)
    if minimum is not None:
        window.setMinimumSize(minimum.boundedTo(room))
    window.resize(size.boundedTo(room))
