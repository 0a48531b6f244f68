"""The conversation, the bars above it, and the window with the news."""

from PySide6.QtCore import QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.settings.settings_banners import HoldBanner, ProjectBanner
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.banner import Banner, BannerFrame
from desktop_agent.ui.widgets.find_bar import FindBar
from desktop_agent.ui.widgets.layouts import resize_within_screen, vbox


class NewsBar(BannerFrame):
    wanted = Signal()

    def __init__(self) -> None:
        super().__init__("newsBar")
        self.setProperty("role", "bar")  # not a warning
        self._title.setProperty("role", "strong")
        read = self.add_button(self.tr("What is new…"), "readNewsButton")
        read.clicked.connect(self.hide)
        read.clicked.connect(self.wanted)
        self.add_button(self.tr("Dismiss"), "dismissNewsButton", self.hide, is_flat=True)

    def show_version(self, version: str) -> None:
        self.say(self.tr("Desktop Agent was updated to {0}.").format(version), "")
        self.show()


_NEWS_SIZE = QSize(640, 560)
_LEAST_NEWS_SIZE = QSize(360, 240)


class NewsWindow(QWidget):
    def __init__(self, markdown: str, parent: QWidget) -> None:
        """`markdown` must be short, because all of it is laid out at once."""
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
        resize_within_screen(self, _NEWS_SIZE, _LEAST_NEWS_SIZE)

    def _on_link(self, address: QUrl) -> None:
        if not address.isRelative():  # a relative address leads into the repository, which is not available
            QDesktopServices.openUrl(address)


class ViewingBar(BannerFrame):
    take_over_requested = Signal()

    def __init__(self) -> None:
        super().__init__("viewingBar")
        self._button = self.add_button(self.tr("Take over"), "takeOverButton")
        self._button.clicked.connect(self.take_over_requested)
        self.show_state(is_free=False)

    def show_state(self, *, is_free: bool) -> None:
        if is_free:
            title = self.tr("This session is no longer open in another window.")
            hint = self.tr("Take it over to go on with it here.")
        else:
            title = self.tr("This session is open in another window. You can read it here.")
            hint = self.tr("You can take it over when it is closed there.")
        self.say(title, hint)
        self._button.setEnabled(is_free)
        self._button.setToolTip("" if is_free else hint)
        self._button.setAccessibleDescription(hint)


class ConversationPane(QWidget):
    def __init__(self, transcript: TranscriptView) -> None:
        super().__init__()
        self.viewing_bar = ViewingBar()
        self.news_bar = NewsBar()
        self.hold_banner = HoldBanner()
        self.banner = Banner()
        self.project_banner = ProjectBanner()
        self.find_bar = FindBar(
            transcript.finder,
            transcript.finder.found,
            transcript,
            self.tr("Find in the conversation"),
            name="findBar",
        )
        bars = (self.news_bar, self.viewing_bar, self.hold_banner, self.banner, self.project_banner, self.find_bar)
        vbox(*bars, (transcript, 1), on=self)
