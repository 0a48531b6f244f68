"""What the dialogs with a question or an answer have in common."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QPushButton

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.layouts import Margins

DIALOG_MARGINS: Margins = (Space.XL, Space.XL, Space.XL, Space.L)


def set_up_dialog(dialog: QDialog, name: str, title: str) -> None:
    """Name a dialog that is opened with `open()`, and is gone when it closes."""
    dialog.setObjectName(name)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title)
    dialog.setAccessibleName(title)


def answer_with_ctrl_enter(dialog: QDialog, button: QPushButton) -> None:
    """Make Ctrl+Enter press this button from everywhere in the dialog, also from a field with several lines."""
    button.setDefault(True)
    for keys in ("Ctrl+Return", "Ctrl+Enter"):
        QShortcut(QKeySequence(keys), dialog).activated.connect(button.click)
    button.setToolTip(QKeySequence("Ctrl+Return").toString(QKeySequence.SequenceFormat.NativeText))
