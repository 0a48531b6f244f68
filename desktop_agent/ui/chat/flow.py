"""Puts widgets in rows like words: as many as fit, the rest below."""

from collections.abc import Sequence

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.theme import Space


def flow(widgets: Sequence[QWidget], area: QRect) -> int:
    """Place `widgets` from the top left of `area`, at most as wide as it; return how high they are together."""
    x, y, row_height = area.left(), area.top(), 0
    for widget in widgets:
        size = widget.sizeHint()
        width = min(size.width(), area.width())
        if x > area.left() and x + width > area.left() + area.width():
            x, y, row_height = area.left(), y + row_height + Space.S, 0
        widget.setGeometry(x, y, width, size.height())
        x += width + Space.S
        row_height = max(row_height, size.height())
    return y + row_height - area.top()
