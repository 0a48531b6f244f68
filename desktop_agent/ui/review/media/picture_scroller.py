"""Where one or two pictures are in a scroll area, and at which scale."""

from typing import Literal

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, QSizeF
from PySide6.QtWidgets import QAbstractScrollArea

from desktop_agent.ui.review.media.decoding import DecodedPicture
from desktop_agent.ui.theme import Space

CompareMode = Literal["two_up", "swipe", "onion", "difference"]

MAX_FITTED = 4.0
"""Small pictures are enlarged to fill the place, up to this: an icon of 16 pixels can be seen, and stays an icon."""

_SMALLEST, _LARGEST = 0.02, 32.0
_SCROLL_STEP = 40


class PictureScroller:
    """Lays pictures out in a scroll area, all at one scale, and scrolls them. Points are in the viewport, in pixels."""

    def __init__(self, area: QAbstractScrollArea) -> None:
        self._area = area
        self.pictures: tuple[DecodedPicture, ...] = ()
        """One version, or the old and the new one."""
        self.mode: CompareMode = "two_up"
        """How the two are compared."""
        self.scale = 1.0
        """How large a pixel of the pictures is."""
        self.is_fitted = True
        """Whether the pictures follow the size of the place for them."""

    # -- where things are --

    def panes(self) -> list[QRect]:
        """Return the places for pictures: two beside each other, or one."""
        whole = self._area.viewport().rect()
        if self.mode != "two_up" or len(self.pictures) < 2:
            return [whole]
        half = (whole.width() - 1) // 2
        return [whole.adjusted(0, 0, half - whole.width(), 0), whole.adjusted(half + 1, 0, 0, 0)]

    def place(self, picture: DecodedPicture, pane: QRect) -> QRectF:
        """Return where a picture is. The two have their top left corners together, as when one was cropped."""
        return QRectF(QPointF(pane.topLeft()) - self._offset(), QSizeF(picture.size) * self.scale)

    def whole(self) -> QRectF:
        """Return where the larger picture is, each way, in the first pane."""
        return QRectF(QPointF(self.panes()[0].topLeft()) - self._offset(), self._extent() * self.scale)

    def _extent(self) -> QSizeF:
        """The size of the larger picture, each way."""
        sizes = [QSizeF(picture.size) for picture in self.pictures if picture.is_shown]
        return QSizeF(max((s.width() for s in sizes), default=1), max((s.height() for s in sizes), default=1))

    def _offset(self) -> QPointF:
        """Where the top left corner of a pane is, from that of the pictures in it. Negative when they are smaller."""
        pane, extent = self.panes()[0], self._extent() * self.scale
        across, down = self._area.horizontalScrollBar(), self._area.verticalScrollBar()
        x = across.value() if extent.width() > pane.width() else (extent.width() - pane.width()) / 2
        y = down.value() if extent.height() > pane.height() else (extent.height() - pane.height()) / 2
        return QPointF(x, y)

    # -- scale and scrolling --

    def lay_out(self) -> None:
        """Fit scale and scroll bars to the pictures, the mode and the size of the place."""
        if self.is_fitted:
            margin = QSize(2 * Space.L, 2 * Space.L)
            room, extent = QSizeF(self.panes()[0].size() - margin), self._extent()
            fitting = min(room.width() / extent.width(), room.height() / extent.height())
            self.scale = min(MAX_FITTED, max(_SMALLEST, fitting))
        self._update_scroll_bars()

    def scale_to(self, scale: float) -> None:
        """Show the pictures in this size, within limits; what is in the middle stays there."""
        self.is_fitted = False
        pane = self.panes()[0]
        middle = QPointF(pane.width() / 2, pane.height() / 2)
        centre = (self._offset() + middle) / self.scale
        self.scale = min(_LARGEST, max(_SMALLEST, scale))
        self._update_scroll_bars()
        target = centre * self.scale - middle
        self._area.horizontalScrollBar().setValue(round(target.x()))
        self._area.verticalScrollBar().setValue(round(target.y()))

    def scroll_by(self, moved: QPoint) -> None:
        """Scroll as the mouse moved, which drags the pictures along."""
        for bar, by in ((self._area.horizontalScrollBar(), moved.x()), (self._area.verticalScrollBar(), moved.y())):
            bar.setValue(bar.value() - by)

    def _update_scroll_bars(self) -> None:
        pane, extent = self.panes()[0], self._extent() * self.scale
        bars = (
            (self._area.horizontalScrollBar(), pane.width(), extent.width()),
            (self._area.verticalScrollBar(), pane.height(), extent.height()),
        )
        for bar, room, needed in bars:
            bar.setRange(0, max(0, round(needed) - room))
            bar.setPageStep(room)
            bar.setSingleStep(_SCROLL_STEP)
