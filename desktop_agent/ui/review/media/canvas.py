"""Two versions of a picture on one surface: side by side at one scale, or on top of each other."""

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from desktop_agent.ui.review.media.decoding import DecodedPicture
from desktop_agent.ui.review.media.picture_painter import PicturePainter
from desktop_agent.ui.review.media.picture_scroller import CompareMode, PictureScroller
from desktop_agent.ui.theme import Theme

SWIPE_STEP = 0.02

_ZOOM_STEP = 1.25


class PictureCanvas(QAbstractScrollArea):
    """Shows one or two pictures, to be compared, zoomed and moved. `scroller` knows where they are.

    Keys: Left and Right move the swipe (with Shift by more), Home and End to its ends; + and − zoom, 0 fits, 1 is the
    pictures' own size; arrows scroll otherwise. Ctrl and the wheel zoom, the mouse drags the swipe or the pictures.

    Signals:
        scale_changed: it is shown in another size.
        split_moved: the swipe, or how much of the newer version shines through, is at another place.
    """

    scale_changed = Signal()
    split_moved = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.scroller = PictureScroller(self)
        self._painter = PicturePainter(theme, self.viewport(), self.scroller)
        self._split = 0.5
        self._dragged_from: QPoint | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(120)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setCornerWidget(QWidget())
        theme.changed.connect(self._on_theme_changed)

    # -- what is shown --

    @property
    def split(self) -> float:
        """Where the swipe is, from 0 (only the new version) to 1 (only the old one)."""
        return self._split

    def show_pictures(self, *pictures: DecodedPicture) -> None:
        """Show one version, or the old and the new one."""
        self.scroller.pictures = pictures
        self._split = 0.5
        self.fit()

    def set_mode(self, mode: CompareMode) -> None:
        """Compare in this way."""
        self.scroller.mode = mode
        self._lay_out()
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
        self.scroller.is_fitted = True
        self._lay_out()

    def set_scale(self, scale: float) -> None:
        """Show the pictures in this size; what is in the middle stays there."""
        self.scroller.scale_to(scale)
        self._lay_out()

    def _lay_out(self) -> None:
        self.scroller.lay_out()
        self.viewport().update()
        self.scale_changed.emit()

    # -- keys and mouse --

    def _has_split(self, *modes: CompareMode) -> bool:
        return len(self.scroller.pictures) == 2 and self.scroller.mode in modes

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = SWIPE_STEP * (5 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        has_split = self._has_split("swipe", "onion")
        match event.key():
            case Qt.Key.Key_Left if has_split:
                self.set_split(self._split - step)
            case Qt.Key.Key_Right if has_split:
                self.set_split(self._split + step)
            case Qt.Key.Key_Home if has_split:
                self.set_split(0.0)
            case Qt.Key.Key_End if has_split:
                self.set_split(1.0)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.set_scale(self.scroller.scale * _ZOOM_STEP)
            case Qt.Key.Key_Minus:
                self.set_scale(self.scroller.scale / _ZOOM_STEP)
            case Qt.Key.Key_0:
                self.fit()
            case Qt.Key.Key_1:
                self.set_scale(1.0)
            case _:
                super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.angleDelta().y():
            self.set_scale(self.scroller.scale * (_ZOOM_STEP if event.angleDelta().y() > 0 else 1 / _ZOOM_STEP))
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
        self.scroller.scroll_by(moved)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._dragged_from = None

    def _swipe_to(self, x: float) -> None:
        whole = self.scroller.whole()
        self.set_split((x - whole.left()) / max(1.0, whole.width()))

    # -- what happens to it --

    def paintEvent(self, event: QPaintEvent) -> None:
        self._painter.paint(event.rect(), self._split)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def _describe(self) -> None:
        words = self.tr("{0} % of the old version").format(round(self._split * 100))
        self.setAccessibleDescription(words if self._has_split("swipe", "onion") else "")

    def _on_theme_changed(self) -> None:
        self._painter.forget_colours()
        self.viewport().update()
