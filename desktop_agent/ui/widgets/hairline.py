"""The thinnest line between two parts of a panel."""

from PySide6.QtWidgets import QFrame


def hairline() -> QFrame:
    """Return a line that lies between what is above it and what is below."""
    line = QFrame()
    line.setProperty("role", "hairline")
    line.setFixedHeight(1)
    return line
