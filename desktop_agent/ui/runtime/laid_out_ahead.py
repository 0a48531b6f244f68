"""Does what showing a widget for the first time takes before that, in steps.

The most of it is polishing and measuring. Qt keeps what it measured of a part for some widths, until the part changes:
a layout of many parts is quick when each part was asked before.
"""

from collections.abc import Collection, Iterator

from PySide6.QtWidgets import QBoxLayout, QLayout, QLayoutItem, QWidget


def polished(widget: QWidget) -> Iterator[None]:
    """Give a widget and all in it their look, one in each step."""
    for part in (widget, *widget.findChildren(QWidget)):
        part.ensurePolished()
        yield


def measured(layout: QLayout, widths: Collection[int]) -> Iterator[None]:
    """Measure what stands in a column for these widths of the whole, one in each step, parts before what they make."""
    margins = layout.contentsMargins()
    inner = [width - margins.left() - margins.right() for width in widths]
    for place in range(layout.count()):
        item = layout.itemAt(place)
        assert item is not None, "only what is counted is asked for"
        if (column := _column_in(item)) is not None:
            yield from measured(column, inner)
        item.sizeHint()
        item.minimumSize()
        item.maximumSize()
        if item.hasHeightForWidth():
            for width in inner:
                item.heightForWidth(width)
        yield


def placed(widget: QWidget) -> Iterator[None]:
    """Give all in a widget that has its size its place, one layout in each step, from the outside in."""
    for part in (widget, *widget.findChildren(QWidget)):
        if (layout := part.layout()) is not None:
            layout.activate()
            yield


def _column_in(item: QLayoutItem) -> QBoxLayout | None:
    widget = item.widget()
    layout = widget.layout() if widget is not None else item.layout()
    is_column = isinstance(layout, QBoxLayout) and layout.direction() == QBoxLayout.Direction.TopToBottom
    return layout if isinstance(layout, QBoxLayout) and is_column else None
