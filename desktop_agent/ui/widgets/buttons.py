"""Buttons with a look of the theme."""

from PySide6.QtWidgets import QPushButton


def button(text: str = "", name: str = "", clicked: object = None, *, variant: str = "") -> QPushButton:
    """Return a button of this object name and look, connected with `clicked`. In a dialog, Enter does not press it."""
    made = QPushButton(text, autoDefault=False)
    made.setObjectName(name)
    if variant:
        made.setProperty("variant", variant)
    if clicked is not None:
        made.clicked.connect(clicked)
    return made


def compact_button(text: str = "", name: str = "", clicked: object = None, *, variant: str = "") -> QPushButton:
    """Return a `button` that is small."""
    made = button(text, name, clicked, variant=variant)
    made.setProperty("compact", True)
    return made
