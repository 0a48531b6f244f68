"""Finds the cut texts of a window."""

from collections.abc import Iterator

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QComboBox, QLabel, QWidget

from desktop_agent.ui.widgets.buttons import PickerButton
from desktop_agent.ui.widgets.labels import ElidedLabel

_SLACK = 1
"""Pixels by which fonts and layouts round."""
_ARROW = 20
"""Pixels that a picker needs beside its text."""


def cut_texts(window: QWidget) -> list[str]:
    """Return the visible labels and buttons with cut texts, with the reason.

    A text that is elided on purpose has a tool tip with the whole text.
    """
    found = [f"{_named(widget)}: {problem}" for widget in _in_sight(window) if (problem := _problem(widget))]
    return found + [
        f"{_named(picker)} “{picker.currentText()}” has {picker.width()} px"
        for picker in window.findChildren(QComboBox)
        if picker.isVisibleTo(window)
        and not picker.toolTip()
        and picker.fontMetrics().horizontalAdvance(picker.currentText()) + _ARROW > picker.width()
    ]


def _in_sight(window: QWidget) -> Iterator[QLabel | QAbstractButton]:
    for widget in window.findChildren(QWidget):
        if isinstance(widget, QLabel | QAbstractButton) and widget.text().strip() and widget.isVisibleTo(window):
            yield widget


def _problem(widget: QLabel | QAbstractButton) -> str:
    if outside := _outside(widget):
        return outside
    if isinstance(widget, QLabel) and widget.wordWrap():
        needed = widget.heightForWidth(widget.width())
        return f"{needed} px high, and has {widget.height()}" if needed > widget.height() + _SLACK else ""
    needed = widget.sizeHint().width()
    if needed <= widget.width() + _SLACK or (isinstance(widget, ElidedLabel | PickerButton) and widget.toolTip()):
        return ""
    return f"{needed} px wide, and has {widget.width()}"


def _outside(widget: QWidget) -> str:
    """Describe how much its parent cuts off; what can be scrolled to is not cut."""
    parent = widget.parentWidget()
    while parent is not None and not parent.isWindow():
        if isinstance(parent.parentWidget(), QAbstractScrollArea):
            return ""
        place = QRect(widget.mapTo(parent, widget.rect().topLeft()), widget.size())
        if not parent.rect().adjusted(-_SLACK, -_SLACK, _SLACK, _SLACK).contains(place):
            return f"{place.getRect()} is not within {_named(parent)} of {parent.width()} × {parent.height()}"
        parent = parent.parentWidget()
    return ""


def _named(widget: QWidget) -> str:
    text = f" “{widget.text()}”" if isinstance(widget, QLabel | QAbstractButton) else ""
    return f"{type(widget).__name__} {widget.objectName()}{text}"
