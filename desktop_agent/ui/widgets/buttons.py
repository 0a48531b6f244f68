"""Buttons with a look of the theme."""

from typing import ClassVar

from PySide6.QtWidgets import QPushButton, QWidget


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


class Button(QPushButton):
    """Enter presses it only while it has the focus, or is the default button of its dialog.

    `name` is its object name; `spoken` is read out in the place of its text; `clicked` is connected to.
    """

    is_compact: ClassVar[bool] = False

    def __init__(
        self,
        text: str,
        parent: QWidget | None = None,
        *,
        name: str = "",
        spoken: str = "",
        variant: str = "",
        clicked: object = None,
    ) -> None:
        super().__init__(text, parent)
        self.setObjectName(name)
        self.setAccessibleName(spoken)
        self.setAutoDefault(False)
        if variant:
            self.setProperty("variant", variant)
        if self.is_compact:
            self.setProperty("compact", True)
        if clicked is not None:
            self.clicked.connect(clicked)


class SmallButton(Button):
    """Less high than others: stands among text."""

    is_compact: ClassVar[bool] = True
