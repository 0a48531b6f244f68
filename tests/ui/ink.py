"""Where a widget's text is visible, by its difference from the background."""

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QColor, QImage, QPixmap
from PySide6.QtWidgets import QWidget

_DIFFERENCE = 90
"""In lightness, of 255: includes text in the secondary colour, but no hairline."""


def ink_rect(widget: QWidget, area: QRect) -> QRect:
    """Return the bounds of the text in this area, from the widget's edges. The area's last pixel is background."""
    window = widget.window()  # a transparent widget shows its parent's background
    picture = window.grab(QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())).toImage()
    ground = QColor(picture.pixel(area.bottomRight())).lightness()
    seen = [
        (x, y)
        for x in range(area.left(), area.right() + 1)
        for y in range(area.top(), area.bottom() + 1)
        if abs(QColor(picture.pixel(x, y)).lightness() - ground) > _DIFFERENCE
    ]
    assert seen, "there is no text"
    columns, rows = zip(*seen, strict=True)
    left, top = min(columns), min(rows)
    return QRect(left, top, max(columns) - left + 1, max(rows) - top + 1)


def colours_of(picture: QPixmap, area: QRect | None = None) -> set[str]:
    """Return the colours in a picture, or in a part of it, as palettes write them."""
    image = (picture.copy(area) if area is not None else picture).toImage()
    if image.isNull():
        return set()
    pixels = memoryview(bytes(image.convertToFormat(QImage.Format.Format_RGB32).constBits())).cast("I")
    return {f"#{pixel & 0xFFFFFF:06X}" for pixel in set(pixels)}
