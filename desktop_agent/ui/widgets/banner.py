"""A banner above the conversation: what went wrong outside of it, and what to do. Never a dialog in the way."""

from PySide6.QtCore import Signal

from desktop_agent.core.base.errors import AgentError, WorkspaceError
from desktop_agent.ui.runtime.announcing import announce
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.banner_frame import BannerFrame
from desktop_agent.ui.wording.tooltips import plain_tooltip


class Banner(BannerFrame):
    """Shows one problem until it is dismissed or replaced.

    Signals:
        folder_requested: let the user choose another folder.
    """

    folder_requested = Signal()

    def __init__(self) -> None:
        super().__init__("banner")
        self._error: AgentError | None = None
        self._folder = self.add_button(self.tr("Open another folder…"), "bannerFolderButton")
        self._folder.clicked.connect(self.folder_requested)
        self.add_button(self.tr("Dismiss"), "bannerDismissButton", is_flat=True).clicked.connect(self.hide)

    def show_error(self, error: AgentError) -> None:
        """Show what happened and what to do; the details are the tool tip."""
        self._error = error
        self.say(core_words(error.title), core_words(error.hint))
        self._folder.setVisible(isinstance(error, WorkspaceError))
        self.setToolTip(plain_tooltip(error.detail))
        self.show()
        announce(self, self.accessibleName(), is_urgent=True)

    def shows(self, error: AgentError) -> bool:
        """Whether this very problem is what it shows."""
        return self._error is error and not self.isHidden()

    def withdraw(self, error: AgentError) -> None:
        """Hide this problem, which is over. Another one that was shown since stays."""
        if self._error is error:
            self.hide()
