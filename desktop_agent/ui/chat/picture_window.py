"""A window that shows one picture, fitted to the window or at any zoom."""

from functools import partial

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QKeySequence, QPainter, QPaintEvent, QResizeEvent, QShortcut, QWheelEvent
from PySide6.QtWidgets import QDialog, QPushButton, QScrollArea, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import Slot, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox, resize_within_screen, vbox

LARGE = QSize(6_000, 6_000)

_STEP = 1.25
_SMALLEST, _LARGEST = 0.05, 16.0
_SMOOTH_UP_TO = 2.0


class PictureWindow(QDialog):
    def __init__(self, title: str, image: QImage, size: QSize, parent: QWidget | None = None) -> None:
        """`size` is the original size of the picture; `image` may be smaller."""
        super().__init__(parent)
        self.setObjectName("pictureWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self._own_size = size
        self._is_fitted = True
        self._picture = _Picture(image, size)
        self._picture.setAccessibleName(self.tr("Picture {title}").format(title=title))
        self._area = _Area(self)
        self._area.resized.connect(self._on_area_resized)
        self._area.setFrameShape(QScrollArea.Shape.NoFrame)
        self._area.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._area.setWidget(self._picture)
        self._picture.zoomed.connect(self._zoom_by)
        self._label = make_label(role="secondary", parent=self)
        self._fit = self._zoom(self.tr("Fit"), self._on_fit, "Ctrl+0")
        self._fit.setCheckable(True)
        actual = self._zoom(self.tr("100 %"), partial(self._zoom_to, 1.0), "Ctrl+1")
        zoom_out, zoom_in = QKeySequence.StandardKey.ZoomOut, QKeySequence.StandardKey.ZoomIn
        smaller = self._zoom("\N{MINUS SIGN}", partial(self._zoom_by, 1 / _STEP), zoom_out, self.tr("Smaller"))
        larger = self._zoom("+", partial(self._zoom_by, _STEP), zoom_in, self.tr("Larger"))
        close = make_button(self.tr("Close"), clicked=self.close, parent=self)
        zooms = hbox(self._fit, actual, smaller, larger, (self._label, 1), close, spacing=Space.S)
        vbox((self._area, 1), zooms, on=self, margins=(Space.M, Space.M, Space.M, Space.M), spacing=Space.S)
        wanted = size.boundedTo(QSize(960, 640)).expandedTo(QSize(420, 320)) + QSize(2 * Space.M, 64)
        resize_within_screen(self, wanted)

    def _zoom(self, text: str, clicked: Slot, keys: str | QKeySequence.StandardKey, name: str = "") -> QPushButton:
        button = make_button(text, clicked=clicked, accessible_name=name, parent=self)
        QShortcut(QKeySequence(keys), self).activated.connect(button.click)
        return button

    @property
    def scale(self) -> float:
        """The displayed scale; 1 is the original size."""
        return self._picture.scale

    def _fit_in(self) -> None:
        room, size = self._area.maximumViewportSize(), self._own_size
        scale = min(room.width() / max(1, size.width()), room.height() / max(1, size.height()))
        self._show_at(min(1.0, scale))

    def _show_at(self, scale: float) -> None:
        self._picture.set_scale(min(_LARGEST, max(_SMALLEST, scale)))
        size = f"{self._own_size.width()} × {self._own_size.height()}"
        self._label.setText(f"{size} · {self._picture.scale:.0%}")
        self._fit.setChecked(self._is_fitted)

    def _zoom_by(self, factor: float) -> None:
        self._zoom_to(self._picture.scale * factor)

    def _zoom_to(self, scale: float) -> None:
        self._is_fitted = False
        self._show_at(scale)

    def _on_fit(self) -> None:
        self._is_fitted = True
        self._fit_in()

    def _on_area_resized(self) -> None:
        if self._is_fitted:
            self._fit_in()


class _Area(QScrollArea):
    resized = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()


class _Picture(QWidget):
    zoomed = Signal(float)  # the factor of the size

    def __init__(self, image: QImage, size: QSize) -> None:
        super().__init__()
        self._image = image
        self._size = size
        self.scale = 1.0

    def set_scale(self, scale: float) -> None:
        self.scale = scale
        self.resize(
            QSize(round(self._size.width() * scale), round(self._size.height() * scale)).expandedTo(QSize(1, 1))
        )
        self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.angleDelta().y():
            self.zoomed.emit(_STEP if event.angleDelta().y() > 0 else 1 / _STEP)
            event.accept()
        else:
            super().wheelEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            is_smooth = self.scale < _SMOOTH_UP_TO
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, is_smooth)
            area = QRectF(event.rect())
            factor = self._image.width() / max(1, self.width())
            painter.drawImage(area, self._image, QRectF(area.topLeft() * factor, area.size() * factor))
