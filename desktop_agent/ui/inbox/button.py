"""The way to the inbox: a tray, with the number of what is in it. Painted first, so it imports nothing of the core."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton, QWidget

_SIGN = "⚑"
_MOST = 99


class InboxButton(QToolButton):
    """Amber while something waits for an answer. Before icons are attached a sign stands in for them."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("inboxButton")
        self.setProperty("variant", "flat")
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._has_icon = False
        self._number = ""
        self.show_count(0, 0)

    def note_icon(self) -> None:
        """An icon stands in the place of the sign from now on."""
        self._has_icon = True
        self._show_text()

    def show_count(self, items: int, waiting: int) -> None:
        """Show that there are so many rows, and how many of them wait for an answer."""
        self._number = "" if not items else f"{_MOST}+" if items > _MOST else str(items)
        self._show_text()
        spoken = self._spoken(items, waiting)
        self.setAccessibleName(spoken)
        self.setToolTip(spoken)
        variant = "warning" if waiting else "flat"
        if self.property("variant") != variant:
            self.setProperty("variant", variant)
            self.style().unpolish(self)
            self.style().polish(self)

    def _spoken(self, items: int, waiting: int) -> str:
        """Say how much there is, as the name of the button."""
        if not items:
            return self.tr("Inbox, nothing waits")
        if not waiting:
            return self.tr("Inbox, {0} new").format(items)
        if waiting == items:
            return self.tr("Inbox, {0} waiting for you").format(waiting)
        return self.tr("Inbox, {0} waiting for you, {1} new").format(waiting, items - waiting)

    def _show_text(self) -> None:
        self.setText(self._number if self._has_icon else f"{_SIGN} {self._number}".strip())
        is_bare = self._has_icon and not self._number
        style = Qt.ToolButtonStyle.ToolButtonIconOnly if is_bare else Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        self.setToolButtonStyle(style)
