"""A bar above a conversation that is written elsewhere: why nothing can be sent, and the way to take it over."""

from PySide6.QtCore import Signal

from desktop_agent.ui.widgets.banner import BannerFrame


class ViewingBar(BannerFrame):
    """Stays for as long as the session is only read. What it says changes when the session becomes free.

    Signals:
        take_over_requested: the user wants to go on with the session here.
    """

    take_over_requested = Signal()

    def __init__(self) -> None:
        super().__init__("viewingBar")
        self._button = self.add_button(self.tr("Take over"), "takeOverButton")
        self._button.clicked.connect(self.take_over_requested)
        self.show_state(is_free=False)

    def show_state(self, *, is_free: bool) -> None:
        """Say whether it can be taken over now."""
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
