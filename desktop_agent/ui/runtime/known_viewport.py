"""Keeps the start free of a search for classes that Qt's binding makes at the first widget that it does not know.

Asked for a widget that Qt made, such as the viewport of a scroll area, the binding (PySide6 6.11) looks for its class
among all classes of widgets, and makes those that nothing has used yet, with their enumerations: 9 to 15 ms and 2 MB,
once.
"""

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QAbstractScrollArea, QPlainTextEdit, QScrollArea, QWidget


def give_viewport(area: QAbstractScrollArea) -> QWidget:
    """Replace the viewport that Qt made by one like it that the binding knows, and return that.

    To be called before the area holds anything, and not for a text field, which keeps hold of the one that it had.
    """
    viewport = QWidget()
    if not isinstance(area, QScrollArea):
        viewport.setBackgroundRole(QPalette.ColorRole.Base)
    viewport.setAutoFillBackground(True)
    area.setViewport(viewport)
    return viewport


def make_widget_classes() -> None:
    """Let the binding make them now. A window that is shown has a moment for it; a user who clicks has not."""
    QPlainTextEdit().viewport()  # Qt made it
