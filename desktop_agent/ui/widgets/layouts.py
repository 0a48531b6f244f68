"""Rows and columns of widgets, each written as what is in it."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLayout,
    QScrollArea,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.ui.runtime.known_viewport import give_viewport
from desktop_agent.ui.theme import Space

Margins = tuple[int, int, int, int]
"""Left, top, right and bottom, in device-independent pixels."""


class Stretch(Struct, frozen=True):
    """Empty room that takes this share of what the others leave; with 0, what no other part wants."""

    share: int = 0


STRETCH = Stretch()

Part = QWidget | QLayout | int | Stretch | tuple[QWidget | QLayout, int | Qt.AlignmentFlag]
"""A widget or layout, with its share of the room that is left or its alignment if need be; or a gap, in pixels."""


def hbox(*parts: Part, on: QWidget | None = None, margins: Margins = (0, 0, 0, 0), spacing: int = 0) -> QHBoxLayout:
    """Return a layout of these parts from left to right, which is that of the widget `on`."""
    layout = QHBoxLayout(on) if on is not None else QHBoxLayout()
    _fill(layout, parts, margins, spacing)
    return layout


def vbox(*parts: Part, on: QWidget | None = None, margins: Margins = (0, 0, 0, 0), spacing: int = 0) -> QVBoxLayout:
    """Return a layout of these parts from top to bottom, which is that of the widget `on`."""
    layout = QVBoxLayout(on) if on is not None else QVBoxLayout()
    _fill(layout, parts, margins, spacing)
    return layout


def stack(*pages: QWidget, on: QWidget) -> QStackedLayout:
    """Return a layout that shows one of these pages at a time, to be a part of the layout of the widget `on`."""
    layout = QStackedLayout()
    for page in pages:
        page.setParent(on)  # the layout shows its first page at once: without a parent, as a window of its own
        layout.addWidget(page)
    return layout


def scroll_down(area: QScrollArea, content: QWidget) -> None:
    """Let an area show this content, as wide as itself, and scroll it down. What lies below both shows through."""
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    give_viewport(area).setAutoFillBackground(False)
    area.setWidget(content)
    content.setAutoFillBackground(False)  # Qt turns it on for whatever it scrolls


def hairline(*, is_vertical: bool = False) -> QFrame:
    """Return a line that lies between what is above it and what is below, or at its left and right."""
    line = QFrame()
    line.setProperty("role", "hairline")
    if is_vertical:
        line.setFixedWidth(1)
    else:
        line.setFixedHeight(1)
    return line


def _fill(layout: QBoxLayout, parts: tuple[Part, ...], margins: Margins, spacing: int) -> None:
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    for part in parts:
        match part:
            case QWidget():
                layout.addWidget(part)
            case QLayout():
                layout.addLayout(part)
            case Stretch():
                layout.addStretch(part.share)
            case int():
                layout.addSpacing(part)
            case (QWidget() as widget, Qt.AlignmentFlag() as alignment):
                layout.addWidget(widget, 0, alignment)
            case (QWidget() as widget, share):
                layout.addWidget(widget, share)
            case (inner, share):
                layout.addLayout(inner, share)


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
