"""One block as it stands in a column: its passage with markers, bars and grounds, painted once and then reused."""

from collections.abc import Sequence

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPixmap, QRegion

from desktop_agent.ui.chat.markdown.blocks import Block
from desktop_agent.ui.chat.text.passage import Highlight, TextPassage
from desktop_agent.ui.chat.text.styles import (
    CODE_HEADER,
    CODE_PADDING_X,
    CODE_PADDING_Y,
    LIST_INDENT,
    MOST_INDENTS,
    QUOTE_BAR,
    QUOTE_INDENT,
    TextStyles,
)
from desktop_agent.ui.chat.text.table import Passage
from desktop_agent.ui.theme import Radius

RULE_HEIGHT = 17
_TASK_SIGNS = "☐☑"


class Box:
    """A block laid out at a width. `height` includes the gap above it."""

    def __init__(
        self,
        block: Block,
        passage: Passage | None,
        styles: TextStyles,
        *,
        width: int,
        gap: int,
        is_framed: bool,
        is_continued: bool,
        before: Block | None,
    ) -> None:
        """`is_framed` gives code its ground; `is_continued` says that the next block goes on with this one."""
        self.block = block
        self.passage = passage
        self.width = width
        self.gap = gap
        self.is_continued = is_continued
        self.before = before
        self._styles = styles
        self._has_ground = is_framed and block.kind == "code"
        self._pixmap: QPixmap | None = None
        self._painted: object = None
        self._is_mirrored = isinstance(passage, TextPassage) and passage.is_right_to_left
        x = 0 if self._is_mirrored else styles.indent(block.containers)
        if self._has_ground:
            top, bottom = code_padding(block, is_continued=is_continued)
            self.origin = QPointF(x + CODE_PADDING_X, gap + top)
            self.height = gap + top + (passage.height if passage else 0) + bottom
        else:
            self.origin = QPointF(x, gap)
            self.height = gap + (passage.height if passage else RULE_HEIGHT)

    def release(self) -> None:
        """Give up the painted picture, not the layout."""
        self._pixmap = None

    def draw(
        self, painter: QPainter, y: int, ground: QColor, text: QColor, highlights: Sequence[Highlight], key: object
    ) -> None:
        """Paint at `y`. What looks the same as last time (`key`) is copied from a picture."""
        scale = painter.device().devicePixelRatio()
        if scale != int(scale):  # a picture would fall between pixels and blur
            painter.save()
            painter.translate(0, y)
            self._paint(painter, text, highlights)
            painter.restore()
            return
        key = (scale, ground.rgba(), text.rgba(), key)
        if self._pixmap is None or self._painted != key:
            pixmap = QPixmap(int(self.width * scale), int(self.height * scale))
            pixmap.setDevicePixelRatio(scale)
            pixmap.fill(ground)
            into = QPainter(pixmap)
            self._paint(into, text, highlights)
            into.end()
            self._pixmap, self._painted = pixmap, key
        painter.drawPixmap(0, y, self._pixmap)

    def _paint(self, painter: QPainter, text: QColor, highlights: Sequence[Highlight]) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._has_ground:
            self._paint_code_ground(painter)
        if self.block.containers:
            self._paint_containers(painter)
        if self.passage is None:
            painter.setPen(QPen(self._styles.colour("border"), 1))
            y = self.gap + RULE_HEIGHT // 2 + 0.5
            painter.drawLine(QLineF(self.origin.x(), y, self.width, y))
            return
        painter.translate(self.origin)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._styles.colour("sunken"))
        self.passage.draw_grounds(painter)
        overflow: list[tuple[int, int]] = []
        if self.block.kind == "code" and isinstance(self.passage, TextPassage):
            overflow = self._paint_overflow(painter, self.passage)
        painter.setPen(text)
        self.passage.draw(painter, highlights)
        if overflow:
            painter.setClipping(False)

    def _paint_code_ground(self, painter: QPainter) -> None:
        """Paint the ground of a fence, or of the part of it that this block is."""
        x = self.origin.x() - CODE_PADDING_X
        radius = Radius.CARD
        top = self.gap if self.block.joint is None else self.gap - 2 * radius
        bottom = self.height + 2 * radius if self.is_continued else self.height
        path = QPainterPath()
        path.addRoundedRect(QRectF(x, top, self.width - x, bottom - top), radius, radius)
        painter.setClipRect(QRectF(0, self.gap, self.width, self.height - self.gap))
        painter.fillPath(path, self._styles.colour("sunken"))
        painter.setClipping(False)
        if self.block.joint is None:
            painter.setPen(self._styles.colour("muted"))
            painter.setFont(self._styles.small)
            area = QRectF(x + CODE_PADDING_X, self.gap, (self.width - x) // 2 - CODE_PADDING_X, CODE_HEADER)
            metrics = painter.fontMetrics()
            said = metrics.elidedText(self.block.language, Qt.TextElideMode.ElideRight, int(area.width()))
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, said)

    def _paint_containers(self, painter: QPainter) -> None:
        x = 0
        containers = self.block.containers[:MOST_INDENTS]
        known = self.before.containers if self.before is not None else ""
        last_list = containers.rfind("l")
        for depth, container in enumerate(containers):
            if container == "q":
                # One bar through everything in the same quote, gaps included.
                top = 0 if known[: depth + 1] == containers[: depth + 1] else self.gap
                bar = QRectF(self._side(x, QUOTE_BAR), top, QUOTE_BAR, self.height - top)
                painter.fillRect(bar, self._styles.colour("border_strong"))
                x += QUOTE_INDENT
            else:
                if depth == last_list and self.block.marker:
                    self._paint_marker(painter, x)
                x += LIST_INDENT

    def _side(self, x: float, width: float) -> float:
        """Return where something stands that is `x` away from the side on which reading begins."""
        return self.width - x - width if self._is_mirrored else x

    def _paint_marker(self, painter: QPainter, x: float) -> None:
        line_height = self._styles.line_height(self.block)
        middle = self.origin.y() + line_height / 2
        marker = self.block.marker
        if marker in _TASK_SIGNS:
            self._paint_task(painter, QPointF(self._side(x + 3, 13), middle - 6), is_done=marker == "☑")
        elif marker == "•":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._styles.colour("muted"))
            painter.drawEllipse(QPointF(self._side(x + 9, 0), middle + 0.5), 2.25, 2.25)
        else:
            painter.setPen(self._styles.colour("muted"))
            painter.setFont(self._styles.body)
            room = 40 + LIST_INDENT - 6
            area = QRectF(self._side(x - 40, room), middle - line_height / 2, room, line_height)
            side = Qt.AlignmentFlag.AlignLeft if self._is_mirrored else Qt.AlignmentFlag.AlignRight
            if self._is_mirrored:
                painter.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the dot stands on the side of the text
            painter.drawText(area, side | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute, marker)

    def _paint_task(self, painter: QPainter, at: QPointF, *, is_done: bool) -> None:
        square = QRectF(at.x() + 0.5, at.y() + 0.5, 12, 12)
        painter.setPen(QPen(self._styles.colour("accent" if is_done else "faint"), 1))
        painter.setBrush(self._styles.colour("accent") if is_done else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(square, 3, 3)
        if is_done:
            painter.setPen(QPen(self._styles.colour("on_accent"), 1.6))
            painter.drawPolyline([at + QPointF(3.5, 6.5), at + QPointF(5.8, 9), at + QPointF(9.7, 4.2)])

    def _paint_overflow(self, painter: QPainter, passage: TextPassage) -> list[tuple[int, int]]:
        """Mark lines that go on beyond the edge, and keep their text off the marks. Return where these lines are."""
        width = self.width - self.origin.x()
        lines = passage.overflowing_lines(width)
        if not lines:
            return []
        left = width - 2 * self._styles.code_width
        painter.setFont(self._styles.code)
        painter.setPen(self._styles.colour("muted"))
        region = QRegion(QRectF(0, 0, width, passage.height).toAlignedRect())
        for top, height in lines:
            area = QRectF(left, top, width - left, height)
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, "…")
            region -= QRegion(area.toAlignedRect())
        painter.setClipRegion(region)
        return lines


def code_padding(block: Block, *, is_continued: bool) -> tuple[int, int]:
    """Return the space above and below the text of a part of a fence, within its ground."""
    return (CODE_HEADER if block.joint is None else 0), (0 if is_continued else CODE_PADDING_Y)
