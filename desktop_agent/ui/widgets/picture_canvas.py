"""The canvas for pictures: scrolling, zooming and painting. A window shows one picture on it."""

from functools import partial
from typing import Literal

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QImage,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
    QShortcut,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QDialog, QFrame, QLabel, QPushButton, QWidget

from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import compact_button, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox, resize_within_screen, set_up_dialog, vbox
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture, problem_words

CompareMode = Literal["two_up", "swipe", "onion", "difference"]

MAX_FITTED = 4.0

_SMALLEST, _LARGEST = 0.02, 32.0
_SCROLL_STEP = 40
_SMOOTH_UP_TO = 2.0
"""The largest scale at which pixels are smoothed. A user who zooms in further wants to see them."""
_SQUARE = 8
_GRIP = 12


class PicturePainter:
    def __init__(self, theme: Theme, canvas: "PictureCanvas") -> None:
        self._theme = theme
        self._canvas = canvas
        self._viewport = canvas.viewport()
        self._squares = QPixmap()

    def forget_colours(self) -> None:
        self._squares = QPixmap()

    def paint(self, area: QRect, split: float) -> None:
        """Paint `area`. `split` is the position of the swipe, or the opacity of the newer version."""
        with QPainter(self._viewport) as painter:
            painter.fillRect(area, self._theme.colour("sunken"))
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self._is_smooth())
            panes, pictures = self._canvas.panes(), self._canvas.pictures
            if len(panes) == len(pictures):
                for picture, pane in zip(pictures, panes, strict=True):
                    self._paint(painter, picture, pane)
            elif pictures:
                before, after = pictures
                self._paint_together(painter, before, after, split)
            if len(panes) == 2:
                painter.fillRect(panes[0].right() + 1, 0, 1, self._viewport.height(), self._theme.colour("border"))

    def _is_smooth(self) -> bool:
        return self._canvas.scale < _SMOOTH_UP_TO

    def _paint(self, painter: QPainter, picture: DecodedPicture, pane: QRect) -> None:
        if not picture.is_shown:
            painter.setPen(self._theme.colour("muted"))
            flags = int(Qt.AlignmentFlag.AlignCenter) | int(Qt.TextFlag.TextWordWrap)
            room = pane.adjusted(Space.L, Space.L, -Space.L, -Space.L)
            painter.drawText(room, flags, problem_words(picture.problem))
            return
        painter.save()
        painter.setClipRect(pane, Qt.ClipOperation.IntersectClip)
        place = self._canvas.place(picture, pane)
        self._paint_squares(painter, place)
        self._paint_pixels(painter, picture, place)
        painter.setPen(self._theme.colour("border_strong"))
        painter.drawRect(place.toAlignedRect().adjusted(-1, -1, 0, 0))
        painter.restore()

    def _paint_together(self, painter: QPainter, before: DecodedPicture, after: DecodedPicture, split: float) -> None:
        pane, whole = self._canvas.panes()[0], self._canvas.whole()
        if self._canvas.mode == "difference":
            self._paint_difference(painter, before, after)
        elif self._canvas.mode == "onion":
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
        seen = self._layer(before, Qt.GlobalColor.black)
        with QPainter(seen) as inner:
            inner.setCompositionMode(QPainter.CompositionMode.CompositionMode_Difference)
            inner.drawImage(0, 0, self._layer(after, Qt.GlobalColor.black))
        painter.setClipRect(self._canvas.whole().toAlignedRect())
        painter.drawImage(0, 0, seen)

    def _layer(self, picture: DecodedPicture, ground: Qt.GlobalColor) -> QImage:
        ratio = self._viewport.devicePixelRatioF()
        layer = QImage(self._viewport.size() * ratio, QImage.Format.Format_ARGB32_Premultiplied)
        layer.setDevicePixelRatio(ratio)
        layer.fill(ground)
        with QPainter(layer) as inner:
            inner.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self._is_smooth())
            place = self._canvas.place(picture, self._canvas.panes()[0])
            if ground == Qt.GlobalColor.transparent:
                self._paint_squares(inner, place)
            self._paint_pixels(inner, picture, place)
        return layer

    def _paint_squares(self, painter: QPainter, place: QRectF) -> None:
        if self._squares.isNull():
            self._squares = QPixmap(2 * _SQUARE, 2 * _SQUARE)
            self._squares.fill(self._theme.colour("surface"))
            with QPainter(self._squares) as inner:
                for x, y in ((0, 0), (_SQUARE, _SQUARE)):
                    inner.fillRect(x, y, _SQUARE, _SQUARE, self._theme.colour("border"))
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


SWIPE_STEP = 0.02

_ZOOM_STEP = 1.25


class PictureCanvas(QAbstractScrollArea):
    """Shows one or two pictures on the same scale. Keys: arrows move or scroll, + and − zoom, 0 fits, 1 is 1:1."""

    scale_changed = Signal()
    split_moved = Signal()

    def __init__(self, theme: Theme, most_fitted: float = MAX_FITTED) -> None:
        """`most_fitted` is the largest scale to which a picture is fitted."""
        super().__init__()
        self._most_fitted = most_fitted
        self.pictures: tuple[DecodedPicture, ...] = ()
        self.mode: CompareMode = "two_up"
        self.scale = 1.0
        self.is_fitted = True
        self._painter = PicturePainter(theme, self)
        self.split = 0.5
        """The position of the swipe, from 0 (only the new version) to 1 (only the old one)."""
        self._dragged_from: QPoint | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(120)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setCornerWidget(QWidget())
        theme.changed.connect(self._painter.forget_colours)
        theme.changed.connect(self.viewport().update)

    def show_pictures(self, *pictures: DecodedPicture) -> None:
        self.pictures = pictures
        self.split = 0.5
        self.fit()

    def set_mode(self, mode: CompareMode) -> None:
        self.mode = mode
        self._lay_out()
        self._describe()

    def set_split(self, split: float) -> None:
        split = min(1.0, max(0.0, split))
        if split != self.split:
            self.split = split
            self._describe()
            self.viewport().update()
            self.split_moved.emit()

    def fit(self) -> None:
        self.is_fitted = True
        self._lay_out()

    def set_scale(self, scale: float) -> None:
        self.is_fitted = False
        pane = self.panes()[0]
        middle = QPointF(pane.width() / 2, pane.height() / 2)
        centre = (self._offset() + middle) / self.scale
        self.scale = min(_LARGEST, max(_SMALLEST, scale))
        self._update_scroll_bars()
        target = centre * self.scale - middle
        self.horizontalScrollBar().setValue(round(target.x()))
        self.verticalScrollBar().setValue(round(target.y()))
        self._lay_out()

    def zoom(self, factor: float) -> None:
        self.set_scale(self.scale * factor)

    def _lay_out(self) -> None:
        if self.is_fitted:
            margin = QSize(2 * Space.L, 2 * Space.L)
            room, extent = QSizeF(self.panes()[0].size() - margin), self._extent()
            fitting = min(room.width() / extent.width(), room.height() / extent.height())
            self.scale = min(self._most_fitted, max(_SMALLEST, fitting))
        self._update_scroll_bars()
        self.viewport().update()
        self.scale_changed.emit()

    def _update_scroll_bars(self) -> None:
        pane, extent = self.panes()[0], self._extent() * self.scale
        bars = (
            (self.horizontalScrollBar(), pane.width(), extent.width()),
            (self.verticalScrollBar(), pane.height(), extent.height()),
        )
        for bar, room, needed in bars:
            bar.setRange(0, max(0, round(needed) - room))
            bar.setPageStep(room)
            bar.setSingleStep(_SCROLL_STEP)

    def panes(self) -> list[QRect]:
        whole = self.viewport().rect()
        if self.mode != "two_up" or len(self.pictures) < 2:
            return [whole]
        half = (whole.width() - 1) // 2
        return [whole.adjusted(0, 0, half - whole.width(), 0), whole.adjusted(half + 1, 0, 0, 0)]

    def place(self, picture: DecodedPicture, pane: QRect) -> QRectF:
        """Return the rectangle of a picture. Both versions share the top left corner, as if the picture was cropped."""
        return QRectF(QPointF(pane.topLeft()) - self._offset(), QSizeF(picture.size) * self.scale)

    def whole(self) -> QRectF:
        return QRectF(QPointF(self.panes()[0].topLeft()) - self._offset(), self._extent() * self.scale)

    def _extent(self) -> QSizeF:
        sizes = [QSizeF(picture.size) for picture in self.pictures if picture.is_shown]
        return QSizeF(max((s.width() for s in sizes), default=1), max((s.height() for s in sizes), default=1))

    def _offset(self) -> QPointF:
        """Return the pane's top left corner relative to the pictures'; negative if the pictures are smaller."""
        pane, extent = self.panes()[0], self._extent() * self.scale
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        x = across.value() if extent.width() > pane.width() else (extent.width() - pane.width()) / 2
        y = down.value() if extent.height() > pane.height() else (extent.height() - pane.height()) / 2
        return QPointF(x, y)

    def _has_split(self, *modes: CompareMode) -> bool:
        return len(self.pictures) == 2 and self.mode in modes

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = SWIPE_STEP * (5 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        has_split = self._has_split("swipe", "onion")
        match event.key():
            case Qt.Key.Key_Left if has_split:
                self.set_split(self.split - step)
            case Qt.Key.Key_Right if has_split:
                self.set_split(self.split + step)
            case Qt.Key.Key_Home if has_split:
                self.set_split(0.0)
            case Qt.Key.Key_End if has_split:
                self.set_split(1.0)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.zoom(_ZOOM_STEP)
            case Qt.Key.Key_Minus:
                self.zoom(1 / _ZOOM_STEP)
            case Qt.Key.Key_0:
                self.fit()
            case Qt.Key.Key_1:
                self.set_scale(1.0)
            case _:
                super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.angleDelta().y():
            self.zoom(_ZOOM_STEP if event.angleDelta().y() > 0 else 1 / _ZOOM_STEP)
            event.accept()
        else:
            super().wheelEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._dragged_from = event.position().toPoint()
            if self._has_split("swipe"):
                self._swipe_to(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._dragged_from is None:
            return
        if self._has_split("swipe"):
            self._swipe_to(event.position().x())
            return
        moved = event.position().toPoint() - self._dragged_from
        self._dragged_from = event.position().toPoint()
        for bar, by in ((self.horizontalScrollBar(), moved.x()), (self.verticalScrollBar(), moved.y())):
            bar.setValue(bar.value() - by)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._dragged_from = None

    def _swipe_to(self, x: float) -> None:
        whole = self.whole()
        self.set_split((x - whole.left()) / max(1.0, whole.width()))

    def paintEvent(self, event: QPaintEvent) -> None:
        self._painter.paint(event.rect(), self.split)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def _describe(self) -> None:
        words = self.tr("{0} % of the old version").format(round(self.split * 100))
        self.setAccessibleDescription(words if self._has_split("swipe", "onion") else "")


class ScaleButtons(QObject):
    """Shows the scale of a canvas, and lets the user choose it. The owner lays out the `parts`."""

    def __init__(self, canvas: PictureCanvas) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._scale = make_label(role="secondary")
        button = partial(compact_button, is_checkable=True)
        self._fit = button(self.tr("Fit"), "pictureFitButton", clicked=canvas.fit)
        self._fit.setToolTip(self.tr("Fit it in the window (0)"))
        self._actual = button(self.tr("100 %"), "pictureActualButton", clicked=partial(canvas.set_scale, 1.0))
        self._actual.setToolTip(self.tr("Show it at its actual size (1)"))
        canvas.scale_changed.connect(self._show)
        self._show()

    @property
    def parts(self) -> tuple[QLabel, QPushButton, QPushButton]:
        return self._scale, self._fit, self._actual

    def _show(self) -> None:
        canvas = self._canvas
        self._scale.setText(f"{canvas.scale:.0%}".replace("%", " %"))
        self._fit.setChecked(canvas.is_fitted)
        self._actual.setChecked(not canvas.is_fitted and canvas.scale == 1.0)


class PictureWindow(QDialog):
    def __init__(self, theme: Theme, title: str, picture: DecodedPicture, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_up_dialog(self, "pictureWindow", title)
        canvas = self.canvas = PictureCanvas(theme, most_fitted=1.0)
        canvas.setAccessibleName(self.tr("Picture {title}").format(title=title))
        canvas.show_pictures(picture)
        smaller = make_button("\N{MINUS SIGN}", accessible_name=self.tr("Smaller"), is_compact=True)
        larger = make_button("+", accessible_name=self.tr("Larger"), is_compact=True)
        scale, fit, actual = ScaleButtons(canvas).parts
        zoom_out, zoom_in = QKeySequence.StandardKey.ZoomOut, QKeySequence.StandardKey.ZoomIn
        smaller.clicked.connect(partial(canvas.zoom, 1 / _ZOOM_STEP))
        larger.clicked.connect(partial(canvas.zoom, _ZOOM_STEP))
        for button, keys in ((fit, "Ctrl+0"), (actual, "Ctrl+1"), (smaller, zoom_out), (larger, zoom_in)):
            QShortcut(QKeySequence(keys), self).activated.connect(button.click)
        size = make_label(f"{picture.size.width()} × {picture.size.height()}", role="secondary")
        close = make_button(self.tr("Close"), clicked=self.close)
        foot = hbox(fit, actual, smaller, larger, size, (scale, 1), close, spacing=Space.S)
        vbox((canvas, 1), foot, on=self, margins=(Space.M, Space.M, Space.M, Space.M), spacing=Space.S)
        wanted = picture.size.boundedTo(QSize(960, 640)).expandedTo(QSize(420, 320))
        resize_within_screen(self, wanted + QSize(2 * (Space.M + Space.L), 64 + 2 * Space.L))
        canvas.setFocus()
