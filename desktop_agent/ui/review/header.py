"""The top of the review panel, the same with and without changes."""

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel

from desktop_agent.ui.theme import Height, Space


def header_row() -> QHBoxLayout:
    """Return a row that starts with the panel's name."""
    title = QLabel(QCoreApplication.translate("ReviewPanel", "Review"))
    title.setProperty("role", "strong")
    title.setFixedHeight(Height.BUTTON)
    row = QHBoxLayout()
    row.setContentsMargins(Space.M, Space.S, Space.M, Space.S)
    row.setSpacing(Space.S)
    row.addWidget(title)
    row.addStretch()
    return row
