"""Where something dark stands in a light widget: what a user sees as the edge of its text."""

from PySide6.QtCore import QRect
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

_DARK = 140
"""Lightness of 255: text in the secondary colour, too, but no border and no ground."""


def first_column(widget: QWidget, area: QRect) -> int:
    """The first column of this area with something dark in it, counted from the widget's edge."""
    picture = widget.grab().toImage()
    rows, columns = range(area.top(), area.bottom() + 1), range(area.left(), area.right() + 1)
    return next(x for x in columns if any(QColor(picture.pixel(x, y)).lightness() < _DARK for y in rows))
