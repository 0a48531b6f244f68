"""A chip for a content attached to a message: a thumbnail or an icon, its name, and a short description."""

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.entry_words import byte_count, picture_problem
from desktop_agent.ui.theme import Radius, Space, TypeSize
from desktop_agent.ui.widgets.buttons import DrawnButton
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture
from desktop_agent.ui.widgets.rows import draw_box

THUMBNAIL = QSize(256, 256)
"""The size to which thumbnails are decoded, large enough for two device pixels per point."""

_SIDE = 40
_HEIGHT = _SIDE + 2 * Space.XS
_WIDTH = 224
_BARE = 96


class ContentChip(DrawnButton):
    def __init__(
        self, name: str, detail: str, colour: Callable[[str], QColor], parent: QWidget, *, is_picture: bool
    ) -> None:
        """`detail` is shown below the name. `colour` resolves a theme role. `is_picture` selects a placeholder."""
        super().__init__(parent)
        self.name = name
        self.detail = detail
        self._colour = colour
        self.thumbnail = QImage()
        self._is_picture = is_picture
        self.is_bare = False
        self.reserved = 0
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_content(self, size_bytes: int, picture: DecodedPicture | None) -> str:
        """Return why the picture cannot be shown; empty if it can."""
        details, problem = [byte_count(size_bytes)], ""
        if picture is not None and picture.problem:
            details.insert(0, self.tr("Cannot be shown"))
            problem = picture_problem(picture.problem)
        elif picture is not None:
            details.insert(0, f"{picture.size.width():,} × {picture.size.height():,}")
            self.thumbnail = picture.image
        self.detail = " · ".join(details)
        self.update()
        return problem

    def sizeHint(self) -> QSize:
        return QSize(_BARE, _BARE) if self.is_bare else QSize(_WIDTH, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
            if self.is_bare:
                self._paint_square(painter, QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
                self.draw_ring(painter, self._colour("accent"))
                return
            edge = self._colour("control_border" if self.underMouse() else "border")
            draw_box(painter, QRectF(self.rect()), edge, self._colour("surface"), Radius.CONTROL)
            self._paint_square(painter, QRectF(Space.XS, Space.XS, _SIDE, _SIDE))
            left = _SIDE + Space.XS + Space.S
            room = self.width() - left - Space.S - self.reserved
            half = self.height() / 2
            above, below = Qt.AlignmentFlag.AlignBottom, Qt.AlignmentFlag.AlignTop
            self._paint_line(painter, self.name, QRectF(left, 0, room, half - 1), above, "text", TypeSize.SECONDARY)
            self._paint_line(painter, self.detail, QRectF(left, half + 1, room, half), below, "muted", TypeSize.HEAD)
            self.draw_ring(painter, self._colour("accent"))

    def _paint_line(
        self, painter: QPainter, text: str, area: QRectF, edge: Qt.AlignmentFlag, role: str, size: float
    ) -> None:
        font = QFont(self.font())
        font.setPixelSize(round(size))
        painter.setFont(font)
        painter.setPen(self._colour(role))
        mode = Qt.TextElideMode.ElideMiddle if edge == Qt.AlignmentFlag.AlignBottom else Qt.TextElideMode.ElideRight
        shown = QFontMetricsF(font).elidedText(text, mode, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | edge | Qt.TextFlag.TextSingleLine, shown)

    def _paint_square(self, painter: QPainter, area: QRectF) -> None:
        path = QPainterPath()
        path.addRoundedRect(area, Radius.CONTROL - 1, Radius.CONTROL - 1)
        painter.fillPath(path, self._colour("sunken"))
        if self.thumbnail.isNull():
            painter.setPen(QPen(self._colour("muted"), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            (_paint_picture_sign if self._is_picture else _paint_text_sign)(painter, area.center())
            return
        size = self.thumbnail.size()
        side = min(size.width(), size.height())
        middle = QRectF((size.width() - side) / 2, (size.height() - side) / 2, side, side)
        painter.save()
        painter.setClipPath(path)
        painter.drawImage(area, self.thumbnail, middle)
        painter.restore()
        painter.setPen(QPen(self._colour("border"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)


def _paint_text_sign(painter: QPainter, at: QPointF) -> None:
    painter.drawRoundedRect(QRectF(at.x() - 8, at.y() - 10, 16, 20), 2, 2)
    for y, width in ((-4.5, 8), (0, 8), (4.5, 5)):
        painter.drawLine(QPointF(at.x() - 4, at.y() + y), QPointF(at.x() - 4 + width, at.y() + y))


def _paint_picture_sign(painter: QPainter, at: QPointF) -> None:
    painter.drawRoundedRect(QRectF(at.x() - 10, at.y() - 8, 20, 16), 2, 2)
    painter.drawEllipse(QPointF(at.x() + 4, at.y() - 3), 1.5, 1.5)
    places = ((-10, 5), (-4, -2), (1, 3), (4, 1), (10, 6))
    painter.drawPolyline([QPointF(at.x() + x, at.y() + y) for x, y in places])
