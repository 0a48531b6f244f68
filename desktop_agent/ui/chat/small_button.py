"""A button that stands among text."""

from PySide6.QtWidgets import QPushButton, QWidget


class SmallButton(QPushButton):
    """Less high than others. `name` is read out in the place of its text."""

    def __init__(self, text: str, parent: QWidget, *, name: str = "", variant: str = "") -> None:
        super().__init__(text, parent)
        self.setProperty("compact", True)
        if variant:
            self.setProperty("variant", variant)
        if name:
            self.setAccessibleName(name)
