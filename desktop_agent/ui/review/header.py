"""The top of the review panel, the same with and without changes."""

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QHBoxLayout

from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import Part, hbox


def header_row(*parts: Part) -> QHBoxLayout:
    """Return a row of the panel's name and these parts."""
    title = make_label(QCoreApplication.translate("ReviewPanel", "Review"), role="strong")
    title.setFixedHeight(Height.BUTTON)
    return hbox(title, *parts, margins=(Space.M, Space.S, Space.M, Space.S), spacing=Space.S)
