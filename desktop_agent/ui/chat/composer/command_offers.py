"""Offers slash commands above the message field, while what is written there begins with a slash."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRect, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.theme import Space, Theme

if TYPE_CHECKING:
    from desktop_agent.ui.chat.composer.offer_popups import CommandPopup


class CommandOffers(QObject):
    """Follows the text and the focus of a field; its list exists only while there is something to choose."""

    wanted = Signal()  # a slash was typed: the owner passes the commands to `show`

    def __init__(self, edit: MessageEdit, theme: Theme, composer: QWidget) -> None:
        super().__init__(composer)
        self._edit = edit
        self._theme = theme
        self._composer = composer
        self._area = QRect()
        self._commands: Sequence[Declaration] = ()
        self._popup: CommandPopup | None = None
        edit.key_takers.append(self._takes_key)
        edit.escape_takers.append(self._takes_escape)
        edit.textChanged.connect(self._follow)
        edit.focus_changed.connect(self._on_focus_changed)

    def show(self, commands: Sequence[Declaration]) -> None:
        """Offer these commands from now on."""
        self._commands = commands
        self._follow()

    def place(self, area: QRect) -> None:
        """Stand above `area` of the composer, inside the window."""
        self._area = area
        if self._popup is not None:
            field = QRect(self._composer.mapTo(self._composer.window(), area.topLeft()), area.size())
            self._popup.place(field, field.top() - Space.XS)

    def _follow(self) -> None:
        """Show the commands that fit what is written, when that begins with a slash."""
        text = self._edit.toPlainText()
        if not text.startswith("/"):
            self._close()
            return
        from desktop_agent.ui.chat.composer.offer_popups import offer  # with the first slash

        popup = self._popup or self._make_popup()
        can_show = self._edit.hasFocus() and not self._edit.history.is_showing(text)
        popup.show_offer(offer(text, self._commands) if can_show else None)
        self.place(self._area)

    def _make_popup(self) -> "CommandPopup":
        from desktop_agent.ui.chat.composer.offer_popups import CommandPopup

        popup = self._popup = CommandPopup(self._theme, self._composer.window())
        popup.chosen.connect(self._on_chosen)
        self.wanted.emit()
        return popup

    def _close(self) -> None:
        if self._popup is not None:
            self._popup.hide()
            self._popup.deleteLater()
            self._popup = None

    def _takes_key(self, event: QKeyEvent) -> bool:
        return self._popup is not None and self._popup.takes(event)

    def _takes_escape(self) -> bool:
        return self._popup is not None and self._popup.isVisible()

    def _on_focus_changed(self) -> None:
        if self._edit.hasFocus():
            self._follow()
        else:
            self._close()

    def _on_chosen(self, name: str) -> None:
        has_arguments = any(command.arguments for command in self._commands if command.name == name)
        self._edit.replace_text(f"/{name} " if has_arguments else f"/{name}")
