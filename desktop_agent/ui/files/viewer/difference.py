"""How a file on disk differs from what the user made of it."""

from PySide6.QtWidgets import QDialog, QWidget

from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.dialogs import DIALOG_MARGINS, set_up_dialog
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox


class DifferenceDialog(QDialog):
    """Shows it, to be looked at. Show it with `open()`."""

    def __init__(self, theme: Theme, diff: FileDiff, parent: QWidget) -> None:
        super().__init__(parent)
        set_up_dialog(self, "viewerDifferenceDialog", self.tr("From the file on disk to yours"))
        view = DiffView(theme)
        view.setObjectName("viewerDiffView")
        close = make_button(self.tr("Close"), clicked=self.accept)
        title = make_label(self.windowTitle(), role="title")
        vbox(title, (view, 1), hbox(STRETCH, close), on=self, margins=DIALOG_MARGINS, spacing=Space.M)
        self.resize(parent.size() * 0.9)
        view.show_diff(diff)
        view.setFocus()
