"""The user's browser, as a sign-in in the window opens it."""

from collections.abc import Callable

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices


class WindowBrowser:
    """Opens pages of a service, and has their address shown: a browser may be open and hidden, or be another one."""

    def __init__(self, show: Callable[[str, bool], None]) -> None:
        """`show` shows an address, and whether a browser seems to have opened."""
        self._show = show

    async def open(self, address: str) -> bool:
        """Open it in the desktop's browser, and return whether that seems to have worked."""
        self._show(address, True)
        return QDesktopServices.openUrl(QUrl(address))

    def show(self, address: str) -> None:
        """Show the address, for the user to open it by hand."""
        self._show(address, False)
