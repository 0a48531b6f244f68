"""Two versions of a picture on one surface: side by side at one scale, or on top of each other."""

from typing import Literal

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from desktop_agent.ui.review.media.decoding import DecodedPicture
from desktop_agent.ui.review.media.media_words import problem_words
from desktop_agent.ui.theme import Space, Theme

CompareMode = Literal["two_up", "swipe", "onion", "difference"]

MAX_FITTED = 4.0
"""Small pictures are enlarged to fill the place, up to this: an icon of 16 pixels can be seen, and stays an icon."""
SWIPE_STEP = 0.02

_SMALLEST, _LARGEST = 0.02, 32.0
_ZOOM_STEP = 1.25
_SMOOTH_UP_TO = 2.0
"""Beyond this scale pixels are shown as they are: a user who zooms in so far wants to see them."""
_SQUARE = 8
_SCROLL_STEP = 40
_GRIP = 12


class PictureCanvas(QAbstractScrollArea):
    """Paints what can be seen of one or two pictures. Only those pixels cost anything.

    Keys: Left and Right move the swipe (with Shift by more), Home and End to its ends; + and − zoom, 0 fits, 1 is the
    pictures' own size; arrows scroll otherwise. Ctrl and the wheel zoom, the mouse drags the swipe or the pictures.

    Signals:
        scale_changed: it is shown in another size.
        split_moved: the swipe, or how much of the newer version shines through, is at another place.
    """

    scale_changed = Signal()
    split_moved = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pictures: tuple[DecodedPicture, ...] = ()
        self._mode: CompareMode = "two_up"
        self._split = 0.5
        self._scale = 1.0
        self._is_fitted = True
        self._dragged_from: QPoint | None = None
        self._is_swiping = False
        self._squares = QPixmap()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(120)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setCornerWidget(QWidget())
        theme.changed.connect(self._on_theme_changed)

    # -- what is shown --

    @property
    def mode(self) -> CompareMode:
        """How the two are compared."""
        return self._mode

    @property
    def scale(self) -> float:
        """How large a pixel of the pictures is."""
        return self._scale

    @property
    def is_fitted(self) -> bool:
        """Whether the pictures follow the size of the place for them."""
        return self._is_fitted

    @property
    def split(self) -> float:
        """Where the swipe is, from 0 (only the new version) to 1 (only the old one)."""
        return self._split

    def show_pictures(self, *pictures: DecodedPicture) -> None:
        """Show one version, or the old and the new one."""
        self._pictures = pictures
        self._split = 0.5
        self.fit()

    def set_mode(self, mode: CompareMode) -> None:
        """Compare in this way."""
        self._mode = mode
        self._update_scale()
        self._describe()

    def set_split(self, split: float) -> None:
        """Move the swipe."""
        split = min(1.0, max(0.0, split))
        if split != self._split:
            self._split = split
            self._describe()
            self.viewport().update()
            self.split_moved.emit()

    def fit(self) -> None:
        """Show all of the pictures, and let them follow the size of the place for them."""
        self._is_fitted = True
        self._update_scale()

    def set_scale(self, scale: float) -> None:
        """Show the pictures in this size; what is in the middle stays there."""
        self._is_fitted = False
        before, pane = self._scale, self._panes()[0]
        middle = QPointF(pane.width() / 2, pane.height() / 2)
        centre = (self._offset() + middle) / before
        self._scale = min(_LARGEST, max(_SMALLEST, scale))
        self._update_scroll_bars()
        target = centre * self._scale - middle
        self.horizontalScrollBar().setValue(round(target.x()))
        self.verticalScrollBar().setValue(round(target.y()))
        self._on_scaled()

    def zoom_in(self) -> None:
        """Show the pictures larger."""
        self.set_scale(self._scale * _ZOOM_STEP)

    def zoom_out(self) -> None:
        """Show the pictures smaller."""
        self.set_scale(self._scale / _ZOOM_STEP)

    # -- where things are --

    def _panes(self) -> list[QRect]:
        """The places for pictures: two beside each other, or one."""
        whole = self.viewport().rect()
        if self._mode != "two_up" or len(self._pictures) < 2:
            return [whole]
        half = (whole.width() - 1) // 2
        return [whole.adjusted(0, 0, half - whole.width(), 0), whole.adjusted(half + 1, 0, 0, 0)]

    def _extent(self) -> QSizeF:
        """The size of the larger picture, each way."""
        sizes = [QSizeF(picture.size) for picture in self._pictures if picture.is_shown]
        return QSizeF(max((s.width() for s in sizes), default=1), max((s.height() for s in sizes), default=1))

    def _offset(self) -> QPointF:
        """Where the top left corner of a pane is, from that of the pictures in it. Negative when they are smaller."""
        pane, extent = self._panes()[0], self._extent() * self._scale
        x = self.horizontalScrollBar().value() if extent.width() > pane.width() else (extent.width() - pane.width()) / 2
        y = (
            self.verticalScrollBar().value()
            if extent.height() > pane.height()
            else (extent.height() - pane.height()) / 2
        )
        return QPointF(x, y)

    def _place(self, picture: DecodedPicture, pane: QRect) -> QRectF:
        """Where a picture is painted. The two have their top left corners together, as when one was cropped."""
        return QRectF(QPointF(pane.topLeft()) - self._offset(), QSizeF(picture.size) * self._scale)

    def _swipe_x(self) -> float:
        place = QRectF(QPointF(self._panes()[0].topLeft()) - self._offset(), self._extent() * self._scale)
        return place.left() + place.width() * self._split

    def _update_scale(self) -> None:
        if self._is_fitted:
            margin = QSize(2 * Space.L, 2 * Space.L)
            room, extent = QSizeF(self._panes()[0].size() - margin), self._extent()
            fitting = min(room.width() / extent.width(), room.height() / extent.height())
            self._scale = min(MAX_FITTED, max(_SMALLEST, fitting))
        self._update_scroll_bars()
        self._on_scaled()

    def _update_scroll_bars(self) -> None:
        pane, extent = self._panes()[0], self._extent() * self._scale
        bars = (
            (self.horizontalScrollBar(), pane.width(), extent.width()),
            (self.verticalScrollBar(), pane.height(), extent.height()),
        )
        for bar, room, needed in bars:
            bar.setRange(0, max(0, round(needed) - room))
            bar.setPageStep(room)
            bar.setSingleStep(_SCROLL_STEP)

    def _on_scaled(self) -> None:
        self.viewport().update()
        self.scale_changed.emit()

    # -- painting --

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), self._theme.colour("sunken"))
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self._scale < _SMOOTH_UP_TO)
        panes = self._panes()
        if len(panes) == len(self._pictures):
            for picture, pane in zip(self._pictures, panes, strict=True):
                self._paint(painter, picture, pane)
        elif self._pictures:
            self._paint_together(painter, *self._pictures)
        if len(panes) == 2:
            painter.fillRect(panes[0].right() + 1, 0, 1, self.viewport().height(), self._theme.colour("border"))
        painter.end()

    def _paint(self, painter: QPainter, picture: DecodedPicture, pane: QRect) -> None:
        if not picture.is_shown:
            painter.setPen(self._theme.colour("muted"))
            flags = int(Qt.AlignmentFlag.AlignCenter) | int(Qt.TextFlag.TextWordWrap)
            room = pane.adjusted(Space.L, Space.L, -Space.L, -Space.L)
            painter.drawText(room, flags, problem_words(picture.problem))
            return
        painter.save()
        painter.setClipRect(pane, Qt.ClipOperation.IntersectClip)
        place = self._place(picture, pane)
        self._paint_squares(painter, place)
        self._paint_pixels(painter, picture, place)
        painter.setPen(self._theme.colour("border_strong"))
        painter.drawRect(place.toAlignedRect().adjusted(-1, -1, 0, 0))
        painter.restore()

    def _paint_together(self, painter: QPainter, before: DecodedPicture, after: DecodedPicture) -> None:
        pane = self._panes()[0]
        if self._mode == "difference":
            self._paint_difference(painter, before, after)
        elif self._mode == "onion":
            self._paint(painter, before, pane)
            painter.setOpacity(1.0 - self._split)
            painter.drawImage(0, 0, self._layer(after, Qt.GlobalColor.transparent))
        else:
            x = round(self._swipe_x())
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
        middle = self.viewport().height() / 2
        painter.fillRect(QRectF(x - 1, 0, 2, self.viewport().height()), self._theme.colour("accent"))
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
        place = QRectF(QPointF(self._panes()[0].topLeft()) - self._offset(), self._extent() * self._scale)
        painter.setClipRect(place.toAlignedRect())
        painter.drawImage(0, 0, seen)

    def _layer(self, picture: DecodedPicture, ground: Qt.GlobalColor) -> QImage:
        """What is in sight of one picture, to be put on top of another's."""
        ratio = self.devicePixelRatioF()
        layer = QImage(self.viewport().size() * ratio, QImage.Format.Format_ARGB32_Premultiplied)
        layer.setDevicePixelRatio(ratio)
        layer.fill(ground)
        inner = QPainter(layer)
        inner.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self._scale < _SMOOTH_UP_TO)
        place = self._place(picture, self._panes()[0])
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
        shown = place.width() * self.devicePixelRatioF()
        image = picture.preview if shown <= picture.preview.width() else picture.image
        seen = place.intersected(QRectF(self.viewport().rect()))
        factor_x, factor_y = image.width() / place.width(), image.height() / place.height()
        source = seen.translated(-place.topLeft())
        painter.drawImage(
            seen,
            image,
            QRectF(source.x() * factor_x, source.y() * factor_y, source.width() * factor_x, source.height() * factor_y),
        )

    # -- keys and mouse --

    def _has_split(self) -> bool:
        return len(self._pictures) == 2 and self._mode in ("swipe", "onion")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = SWIPE_STEP * (5 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        match event.key():
            case Qt.Key.Key_Left if self._has_split():
                self.set_split(self._split - step)
            case Qt.Key.Key_Right if self._has_split():
                self.set_split(self._split + step)
            case Qt.Key.Key_Home if self._has_split():
                self.set_split(0.0)
            case Qt.Key.Key_End if self._has_split():
                self.set_split(1.0)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.zoom_in()
            case Qt.Key.Key_Minus:
                self.zoom_out()
            case Qt.Key.Key_0:
                self.fit()
            case Qt.Key.Key_1:
                self.set_scale(1.0)
            case _:
                super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.angleDelta().y():
            self.set_scale(self._scale * (_ZOOM_STEP if event.angleDelta().y() > 0 else 1 / _ZOOM_STEP))
            event.accept()
        else:
            super().wheelEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        self._dragged_from = event.position().toPoint()
        self._is_swiping = self._mode == "swipe" and len(self._pictures) == 2
        if self._is_swiping:
            self._swipe_to(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._dragged_from is None:
            return
        if self._is_swiping:
            self._swipe_to(event.position().x())
            return
        moved = event.position().toPoint() - self._dragged_from
        self._dragged_from = event.position().toPoint()
        self.horizontalScrollBar().setValue(self.horizontalScrollBar().value() - moved.x())
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() - moved.y())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._dragged_from = None

    def _swipe_to(self, x: float) -> None:
        left = self._panes()[0].left() - self._offset().x()
        self.set_split((x - left) / max(1.0, self._extent().width() * self._scale))

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_scale()

    def _describe(self) -> None:
        if self._has_split():
            self.setAccessibleDescription(self.tr("{0} % of the old version").format(round(self._split * 100)))
        else:
            self.setAccessibleDescription("")

    def _on_theme_changed(self) -> None:
        self._squares = QPixmap()
        self.viewport().update()
