"""Draws a session: a round mark, the title, and at the right what it is doing or when it was used.

Instead of the mark, a selected session has a tick in a box; a heading says with an arrow whether its group is folded.
"""

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QLineEdit, QStyle, QStyleOptionViewItem, QWidget

from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.ui.sessions.model import SessionListModel
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.rows import RIGHT, AnyIndex, FocusRing, RowDelegate, draw_ground, draw_line

_MARK = 7.0
_TICK = 13.0
_TITLE_AT = 23
"""From the left edge of the row, in device-independent pixels."""

_TWO_LINES = 42
_HEADING = 32
_MAX_TITLE = 200


class SessionDelegate(RowDelegate):
    """One line for a session of the open folder; two where its folder, or its turns and cost, are to be said."""

    def __init__(self, model: SessionListModel, theme: Theme, ring: FocusRing, parent: QObject) -> None:
        super().__init__(theme, ring, parent)
        self._model = model

    # --- drawing --------------------------------------------------------------------------------------------------

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        row = self._model.row_at(index.row())
        if row.session is None:
            return QSize(0, _HEADING)
        has_second = bool(row.folder) or self._model.arrangement.is_detailed
        return QSize(0, _TWO_LINES if has_second else Height.LIST_ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self._model.row_at(index.row())
        rect, muted = QRectF(option.rect), self.theme.colour("muted")
        painter.save()
        if row.session is None:
            self._draw_heading(painter, option, rect, f"{'▸' if row.folded else '▾'} {index.data()}")
            painter.restore()
            return
        colour = draw_ground(painter, self.theme, option, self.ring)
        line = _first_line(rect)
        centre = QPointF(line.left() + Space.S + _MARK / 2, line.center().y())
        if row.session.id in self._model.selected:
            self._draw_tick(painter, centre)
        else:
            self._draw_mark(painter, centre, row.session)
        status = self._model.words.status(row.session)
        line.adjust(_TITLE_AT, 0, -Space.S, 0)
        draw_line(painter, line, status, self.fonts.small, self._status_colour(row.session), RIGHT)
        line.setRight(line.right() - QFontMetricsF(self.fonts.small).horizontalAdvance(status) - Space.S)
        draw_line(painter, line, self._model.words.title(row.session), self.fonts.text, colour)
        if details := self._model.details_of(row):
            below = QRectF(rect.left() + _TITLE_AT, line.bottom() - 4, rect.width() - _TITLE_AT - Space.S, 16)
            draw_line(painter, below, details, self.fonts.small, muted)
        painter.restore()

    def _draw_heading(self, painter: QPainter, option: QStyleOptionViewItem, rect: QRectF, text: str) -> None:
        colour = self.theme.colour("muted")
        if option.state & QStyle.StateFlag.State_MouseOver:
            colour = self.theme.colour("text")
        if self.ring.is_shown and option.state & QStyle.StateFlag.State_HasFocus:
            draw_ground(painter, self.theme, option, self.ring)
        at = rect.adjusted(Space.S, 0, -Space.S, -Space.XS)
        draw_line(painter, at, text, self.fonts.small_strong, colour, _BOTTOM_LEFT)

    def _draw_tick(self, painter: QPainter, centre: QPointF) -> None:
        box = QRectF(centre.x() - _TICK / 2, centre.y() - _TICK / 2, _TICK, _TICK)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.theme.colour("accent"))
        painter.drawRoundedRect(box, 3, 3)
        pen = QPen(self.theme.colour("on_accent"), 1.75)
        painter.setPen(pen)
        steps = ((0.22, 0.52), (0.43, 0.72), (0.78, 0.3))
        painter.drawPolyline([QPointF(box.left() + x * _TICK, box.top() + y * _TICK) for x, y in steps])

    def _draw_mark(self, painter: QPainter, centre: QPointF, session: SessionSummary) -> None:
        match session.state:
            case "waiting":
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self.theme.colour("warning_text"))
            case "working":
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self.theme.colour("accent"))
            case "idle":
                painter.setPen(QPen(self.theme.colour("faint"), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
        radius = _MARK / 2 - (0.75 if session.state == "idle" else 0)
        painter.drawEllipse(centre, radius, radius)

    def _status_colour(self, session: SessionSummary) -> QColor:
        return self.theme.colour("warning_text" if session.state == "waiting" else "muted")

    # --- renaming -------------------------------------------------------------------------------------------------

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: AnyIndex) -> QWidget:
        editor = QLineEdit(parent)
        editor.setAccessibleName(self.tr("Title of the session"))
        editor.setMaxLength(_MAX_TITLE)
        editor.setPlaceholderText(str(index.data()))
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        line = _first_line(QRectF(option.rect)).toRect()
        editor.setGeometry(QRect(line.left() + _TITLE_AT - 7, line.top(), line.width() - _TITLE_AT + 7, line.height()))


_BOTTOM_LEFT = Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft


def _first_line(rect: QRectF) -> QRectF:
    return QRectF(rect.left(), rect.top(), rect.width(), Height.LIST_ROW)
