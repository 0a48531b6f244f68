"""An entry whose text leads somewhere: links by mouse, through the view, and by keyboard."""

from typing import ClassVar

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen

from desktop_agent.ui.chat.entries.base import EntryPlace, EntryWidget
from desktop_agent.ui.chat.markdown.inline import InlineSpan, is_web_address
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.file_links import file_of


class LinkedEntry(EntryWidget):
    """Tab goes from link to link, Enter opens the one with the ring."""

    is_tab_stop: ClassVar[bool] = False
    """Whether Tab goes to it also without links, so that keys reach it."""

    def __init__(self, place: EntryPlace, column: Column) -> None:
        super().__init__(place, column)
        self._focused: int | None = None
        """Which of the links has the ring."""

    def follow(self, href: str) -> None:
        if (place := file_of(href)) is not None:
            self.entry_actions.file_requested.emit(*place)
        elif is_web_address(href):
            self.entry_actions.link_activated.emit(href)

    def offer_links(self) -> None:
        """Take the focus if there are links to go through. To be called after layout."""
        has_links = bool(self._links())
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if has_links or self.is_tab_stop else Qt.FocusPolicy.NoFocus)

    def _links(self) -> list[tuple[int, InlineSpan]]:
        return self.column.links() if self.is_column_shown else []

    def _focused_link(self) -> tuple[int, InlineSpan] | None:
        links = self._links()
        return links[self._focused] if self._focused is not None and self._focused < len(links) else None

    def focusInEvent(self, event: QFocusEvent) -> None:
        links = self._links()
        if links:
            self._focused = len(links) - 1 if event.reason() == Qt.FocusReason.BacktabFocusReason else 0
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._focused = None
        super().focusOutEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        if self._focused is not None and self.hasFocus():
            at = self._focused + (1 if next else -1)
            if 0 <= at < len(self._links()):
                self._focused = at
                self.update()
                return True
        return super().focusNextPrevChild(next)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        link = self._focused_link()
        if link is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.follow(link[1].href)
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        link = self._focused_link()
        if link is None:
            return
        index, span = link
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(self.column_origin)
        painter.setPen(QPen(self.styles.colour("accent"), 2))
        for rect in self.column.rects(index, span.start, span.start + span.length):
            painter.drawRoundedRect(QRectF(rect).adjusted(-2, -1, 2, 1), 3, 3)
        painter.end()
