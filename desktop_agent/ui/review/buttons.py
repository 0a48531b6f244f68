"""The small buttons of the review."""

from PySide6.QtWidgets import QPushButton


def compact_button(text: str = "", name: str = "", *, variant: str = "") -> QPushButton:
    """Return a small button of this object name and look. In a dialog, Enter does not press it."""
    button = QPushButton(text)
    button.setObjectName(name)
    button.setProperty("compact", True)
    button.setAutoDefault(False)
    if variant:
        button.setProperty("variant", variant)
    return button
