"""A line above the conversation after an update: which version this is, and the way to what is new in it."""

from PySide6.QtCore import Signal

from desktop_agent.ui.widgets.banner import BannerFrame


class NewsBar(BannerFrame):
    """Stays until one of its buttons was clicked.

    Signals:
        wanted: the user wants to read what is new.
    """

    wanted = Signal()

    def __init__(self) -> None:
        super().__init__("newsBar")
        self.setProperty("role", "bar")  # nothing to be warned of
        self._title.setProperty("role", "strong")
        read = self.add_button(self.tr("What is new…"), "readNewsButton")
        read.clicked.connect(self.hide)
        read.clicked.connect(self.wanted)
        self.add_button(self.tr("Dismiss"), "dismissNewsButton", is_flat=True).clicked.connect(self.hide)

    def show_version(self, version: str) -> None:
        """Say that this version runs now."""
        self.say(self.tr("Desktop Agent was updated to {0}.").format(version), "")
        self.show()
