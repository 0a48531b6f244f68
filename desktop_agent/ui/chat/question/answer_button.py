"""A button of a question."""

from PySide6.QtWidgets import QPushButton, QWidget


def answer_button(text: str, card: QWidget, *, variant: str = "") -> QPushButton:
    """Return a button that Enter elsewhere on the card does not press: nothing is answered by accident."""
    button = QPushButton(text, card)
    if variant:
        button.setProperty("variant", variant)
    button.setAutoDefault(False)
    return button
