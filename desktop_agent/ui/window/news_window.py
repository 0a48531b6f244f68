"""What is new, in a window of its own beside the conversation."""

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.layouts import resize_within_screen, vbox

_SIZE = QSize(640, 560)
_LEAST = QSize(360, 240)


class NewsWindow(QWidget):
    """Shows a part of the changelog, and deletes itself when closed. Links open in a browser, by a click."""

    def __init__(self, markdown: str, parent: QWidget) -> None:
        """`markdown` is laid out at once, so it must be short."""
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("newsWindow")
        self.setWindowTitle(self.tr("What is new"))
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        text = QTextBrowser()
        text.setObjectName("newsText")
        text.setAccessibleName(self.windowTitle())
        text.setFrameShape(QFrame.Shape.NoFrame)
        text.setProperty("variant", "bare")
        text.setOpenLinks(False)
        text.anchorClicked.connect(self._on_link)
        text.setMarkdown(markdown)
        vbox(text, on=self, margins=(Space.XL, Space.L, Space.M, Space.L))
        resize_within_screen(self, _SIZE, _LEAST)

    def _on_link(self, address: QUrl) -> None:
        if not address.isRelative():  # into the repository, which is not here
            QDesktopServices.openUrl(address)
