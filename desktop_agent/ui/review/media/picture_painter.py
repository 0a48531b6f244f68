"""Paints two versions of a picture: side by side, or on top of each other."""

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.review.media.decoding import DecodedPicture
from desktop_agent.ui.review.media.media_words import problem_words
from desktop_agent.ui.review.media.picture_scroller import PictureScroller
from desktop_agent.ui.theme import Space, Theme

_SMOOTH_UP_TO = 2.0
"""Beyond this scale pixels are shown as they are: a user who zooms in so far wants to see them."""
_SQUARE = 8
_GRIP = 12


class PicturePainter:
    """Paints what can be seen of the pictures on a viewport. Only those pixels cost anything."""

    def __init__(self, theme: Theme, viewport: QWidget, scroller: PictureScroller) -> None:
        self._theme = theme
        self._viewport = viewport
        self._scroller = scroller
        self._squares = QPixmap()

    def forget_colours(self) -> None:
        """Take those of the theme anew."""
        self._squares = QPixmap()

    def paint(self, area: QRect, split: float) -> None:
        """Paint what is in `area`, with the swipe, or how much of the newer version shines through, at `split`."""
        painter = QPainter(self._viewport)
        painter.fillRect(area, self._theme.colour("sunken"))
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self._is_smooth())
        panes, pictures = self._scroller.panes(), self._scroller.pictures
        if len(panes) == len(pictures):
            for picture, pane in zip(pictures, panes, strict=True):
                self._paint(painter, picture, pane)
        elif pictures:
            before, after = pictures
            self._paint_together(painter, before, after, split)
        if len(panes) == 2:
            painter.fillRect(panes[0].right() + 1, 0, 1, self._viewport.height(), self._theme.colour("border"))
        painter.end()

    def _is_smooth(self) -> bool:
        return self._scroller.scale < _SMOOTH_UP_TO

    def _paint(self, painter: QPainter, picture: DecodedPicture, pane: QRect) -> None:
        if not picture.is_shown:
            painter.setPen(self._theme.colour("muted"))
            flags = int(Qt.AlignmentFlag.AlignCenter) | int(Qt.TextFlag.TextWordWrap)
            room = pane.adjusted(Space.L, Space.L, -Space.L, -Space.L)
            painter.drawText(room, flags, problem_words(picture.problem))
            return
        painter.save()
        painter.setClipRect(pane, Qt.ClipOperation.IntersectClip)
        place = self._scroller.place(picture, pane)
        self._paint_squares(painter, place)
        self._paint_pixels(painter, picture, place)
        painter.setPen(self._theme.colour("border_strong"))
        painter.drawRect(place.toAlignedRect().adjusted(-1, -1, 0, 0))
        painter.restore()

    def _paint_together(self, painter: QPainter, before: DecodedPicture, after: DecodedPicture, split: float) -> None:
        pane, whole = self._scroller.panes()[0], self._scroller.whole()
        if self._scroller.mode == "difference":
            self._paint_difference(painter, before, after)
        elif self._scroller.mode == "onion":
            self._paint(painter, before, pane)
            painter.setOpacity(1.0 - split)
            painter.drawImage(0, 0, self._layer(after, Qt.GlobalColor.transparent))
        else:
            x = round(whole.left() + whole.width() * split)
            for picture, side in (
                (before, QRect(pane.topLeft(), QSize(x, pane.height()))),
                (after, pane.adjusted(x, 0, 0, 0)),
            ):
                painter.save()
                painter.setClipRect(side)
                self._paint(painter, picture, pane)
                painter.restore()
            self._paint_swipe(painter, x)

    def _paint_swipe(self, painter: QPainter, x: int) -> None:
        middle = self._viewport.height() / 2
        painter.fillRect(QRectF(x - 1, 0, 2, self._viewport.height()), self._theme.colour("accent"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("accent"))
        painter.drawEllipse(QPointF(x, middle), _GRIP, _GRIP)
        painter.setBrush(self._theme.colour("on_accent"))
        for sign in (-1, 1):
            tip = QPointF(x + sign * 8, middle)
            painter.drawPolygon([tip, QPointF(x + sign * 3, middle - 4), QPointF(x + sign * 3, middle + 4)])

    def _paint_difference(self, painter: QPainter, before: DecodedPicture, after: DecodedPicture) -> None:
        """Black where both are the same. Worked out for the pixels in sight only."""
        seen = self._layer(before, Qt.GlobalColor.black)
        inner = QPainter(seen)
        inner.setCompositionMode(QPainter.CompositionMode.CompositionMode_Difference)
        inner.drawImage(0, 0, self._layer(after, Qt.GlobalColor.black))
        inner.end()
        painter.setClipRect(self._scroller.whole().toAlignedRect())
        painter.drawImage(0, 0, seen)

    def _layer(self, picture: DecodedPicture, ground: Qt.GlobalColor) -> QImage:
        """What is in sight of one picture, to be put on top of another's."""
        ratio = self._viewport.devicePixelRatioF()
        layer = QImage(self._viewport.size() * ratio, QImage.Format.Format_ARGB32_Premultiplied)
        layer.setDevicePixelRatio(ratio)
        layer.fill(ground)
        inner = QPainter(layer)
        inner.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self._is_smooth())
        place = self._scroller.place(picture, self._scroller.panes()[0])
        if ground == Qt.GlobalColor.transparent:
            self._paint_squares(inner, place)
        self._paint_pixels(inner, picture, place)
        inner.end()
        return layer

    def _paint_squares(self, painter: QPainter, place: QRectF) -> None:
        """What is seen through a picture that is not opaque."""
        if self._squares.isNull():
            self._squares = QPixmap(2 * _SQUARE, 2 * _SQUARE)
            self._squares.fill(self._theme.colour("surface"))
            inner = QPainter(self._squares)
            for x, y in ((0, 0), (_SQUARE, _SQUARE)):
                inner.fillRect(x, y, _SQUARE, _SQUARE, self._theme.colour("border"))
            inner.end()
        painter.setBrushOrigin(place.topLeft())
        painter.fillRect(place, QBrush(self._squares))

    def _paint_pixels(self, painter: QPainter, picture: DecodedPicture, place: QRectF) -> None:
        shown = place.width() * self._viewport.devicePixelRatioF()
        image = picture.preview if shown <= picture.preview.width() else picture.image
        seen = place.intersected(QRectF(self._viewport.rect()))
        factor_x, factor_y = image.width() / place.width(), image.height() / place.height()
        source = seen.translated(-place.topLeft())
        painter.drawImage(
            seen,
            image,
            QRectF(source.x() * factor_x, source.y() * factor_y, source.width() * factor_x, source.height() * factor_y),
        )
