"""The conversation, and above it the bars that appear when there is something to say or to find in it."""

from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.settings.settings_banners import HoldBanner, ProjectBanner
from desktop_agent.ui.widgets.banner import Banner
from desktop_agent.ui.widgets.find_bar import FindBar
from desktop_agent.ui.widgets.layouts import vbox
from desktop_agent.ui.window.bar.news_bar import NewsBar
from desktop_agent.ui.window.viewing_bar import ViewingBar


class ConversationPane(QWidget):
    """One above the other: what holds for the session, what went wrong, what asks, the search, the transcript."""

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
