"""The session list on screen: drawing, keys, clicks and selection."""

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QItemSelectionModel, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QLineEdit,
    QListView,
    QStyle,
    QStyleOptionViewItem,
    QWidget,
)

from desktop_agent.ui.sessions.session_list_model import SessionListModel, SessionRow, has_failed
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.rows import RIGHT, AnyIndex, ModelDelegate, draw_ground, draw_line, set_up_list

_MARK = 7.0
_TICK = 13.0
_TITLE_AT = 23
_INDENT = 15

_TWO_LINES = 42
_HEADING = 32


class SessionDelegate(ModelDelegate[SessionListModel]):
    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        row = self.model.row_at(index.row())
        if row.session is None:
            return QSize(0, _HEADING)
        has_second = self.model.arrangement.is_detailed or bool(self.model.details(row))
        return QSize(0, _TWO_LINES if has_second else Height.LIST_ROW)

    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self.model.row_at(index.row())
        rect, muted = QRectF(option.rect), self.theme.colour("muted")
        if row.session is None:
            self._draw_heading(painter, option, rect, f"{'▸' if row.folded else '▾'} {index.data()}")
            return
        colour = draw_ground(painter, self.theme, option, self.ring)
        rect.setLeft(rect.left() + (_INDENT if row.is_below else 0))
        line = _first_line(rect)
        centre = QPointF(line.left() + Space.S + _MARK / 2, line.center().y())
        if row.session.id in self.model.selected:
            box = QRectF(centre.x() - _TICK / 2, centre.y() - _TICK / 2, _TICK, _TICK)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.theme.colour("accent"))
            painter.drawRoundedRect(box, 3, 3)
            painter.setPen(QPen(self.theme.colour("on_accent"), 1.75))
            steps = ((0.22, 0.52), (0.43, 0.72), (0.78, 0.3))
            painter.drawPolyline([QPointF(box.left() + x * _TICK, box.top() + y * _TICK) for x, y in steps])
        else:
            is_idle = row.session.state == "idle"
            painter.setPen(QPen(self.theme.colour("faint"), 1.5) if is_idle else Qt.PenStyle.NoPen)
            fill = self.theme.colour("warning_text" if row.session.state == "waiting" else "accent")
            painter.setBrush(Qt.BrushStyle.NoBrush if is_idle else fill)
            radius = _MARK / 2 - (0.75 if is_idle else 0)
            painter.drawEllipse(centre, radius, radius)
        status = self.model.status(row.session)
        line.adjust(_TITLE_AT, 0, -Space.S, 0)
        inks = {"waiting": "warning_text", "idle": "danger_text" if has_failed(row.session) else "muted"}
        ink = self.theme.colour(inks.get(row.session.state, "muted"))
        draw_line(painter, line, status, self.small_font, ink, RIGHT)
        line.setRight(line.right() - QFontMetricsF(self.small_font).horizontalAdvance(status) - Space.S)
        draw_line(painter, line, self.model.title(row.session), self.text_font, colour)
        if details := self.model.details(row):
            below = QRectF(rect.left() + _TITLE_AT, line.bottom() - 4, rect.width() - _TITLE_AT - Space.S, 16)
            draw_line(painter, below, details, self.small_font, muted)

    def _draw_heading(self, painter: QPainter, option: QStyleOptionViewItem, rect: QRectF, text: str) -> None:
        colour = self.theme.colour("muted")
        if option.state & QStyle.StateFlag.State_MouseOver:
            colour = self.theme.colour("text")
        if self.ring.is_shown and option.state & QStyle.StateFlag.State_HasFocus:
            draw_ground(painter, self.theme, option, self.ring)
        at = rect.adjusted(Space.S, 0, -Space.S, -Space.XS)
        draw_line(painter, at, text, self.small_strong_font, colour, _BOTTOM_LEFT)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: AnyIndex) -> QWidget:
        editor = QLineEdit(parent)
        editor.setAccessibleName(self.tr("Title of the session"))
        editor.setMaxLength(200)
        editor.setPlaceholderText(str(index.data()))
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        line = _first_line(QRectF(option.rect)).toRect()
        line.setLeft(line.left() + (_INDENT if self.model.row_at(index.row()).is_below else 0))
        editor.setGeometry(QRect(line.left() + _TITLE_AT - 7, line.top(), line.width() - _TITLE_AT + 7, line.height()))


_BOTTOM_LEFT = Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft


def _first_line(rect: QRectF) -> QRectF:
    return QRectF(rect.left(), rect.top(), rect.width(), Height.LIST_ROW)


_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}


class SessionRows(QListView):
    """The list of sessions. Arrow keys only move the current row; the highlighted session is the shown one."""

    chosen = Signal()  # by a click or Enter
    deleting = Signal()
    let_go = Signal()  # the pointer left, or a title was typed
    selection_changed = Signal()

    def __init__(self, model: SessionListModel, theme: Theme) -> None:
        super().__init__()
        self.is_pointed = False
        self._sessions = model
        self._anchor: str | None = None
        self._is_selecting = False
        self.setObjectName("sessionList")
        self.setModel(model)
        self.setItemDelegate(SessionDelegate(model, theme, set_up_list(self), self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setLayoutMode(QListView.LayoutMode.Batched)  # thousands of rows are not laid out at once
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.clicked.connect(self.chosen)
        theme.changed.connect(self.viewport().update)

    @property
    def is_editing(self) -> bool:
        return self.state() == QAbstractItemView.State.EditingState

    @property
    def row(self) -> SessionRow | None:
        index = self.currentIndex()
        return self._sessions.row_at(index.row()) if index.isValid() else None

    @property
    def selected_ids(self) -> tuple[str, ...]:
        return tuple(session.id for _, session in self._sessions.sessions() if session.id in self._sessions.selected)

    def select(self, sessions: Iterable[str]) -> None:
        wanted = frozenset(sessions)
        if wanted != self._sessions.selected:
            self._sessions.select(wanted)
            self.selection_changed.emit()

    def select_none(self) -> None:
        self._anchor = None
        self.select(())

    def toggle(self) -> None:
        found = self._current()
        if not found:
            return
        self._anchor = found[0]
        selected = self._sessions.selected
        self.select(selected.difference(found) if selected.issuperset(found) else selected.union(found))

    def _extend(self) -> None:
        current = self.currentIndex().row()
        anchor = self._sessions.find(self._anchor)
        if anchor < 0:
            anchor = current
            self._anchor = next(iter(self._current()), None)
        first, last = sorted((anchor, current))
        self.select(session.id for at, session in self._sessions.sessions() if first <= at <= last)

    def _current(self) -> list[str]:
        row = self.row
        if row is None:
            return []
        return [row.session.id] if row.session is not None else self._sessions.below(self.currentIndex().row())

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Leave):
            self.is_pointed = event.type() == QEvent.Type.Enter
            if not self.is_pointed:
                self.let_go.emit()
        return super().viewportEvent(event)

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        super().closeEditor(editor, hint)
        self.let_go.emit()

    def selectionCommand(self, index: AnyIndex, event: QEvent | None = None) -> QItemSelectionModel.SelectionFlag:
        return QItemSelectionModel.SelectionFlag.NoUpdate

    def mousePressEvent(self, event: QMouseEvent) -> None:
        keys = event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        index = self.indexAt(event.position().toPoint())
        self._is_selecting = bool(keys) and event.button() == Qt.MouseButton.LeftButton and index.isValid()
        if not self._is_selecting:
            super().mousePressEvent(event)
            return
        self.setCurrentIndex(index)
        if keys & Qt.KeyboardModifier.ShiftModifier:
            self._extend()
        else:
            self.toggle()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if not self._is_selecting:
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.is_editing or not self._takes(event):
            super().keyPressEvent(event)

    def _takes(self, event: QKeyEvent) -> bool:
        """Return False for keys that all lists handle."""
        key, keys = Qt.Key(event.key()), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        match key, keys:
            case (Qt.Key.Key_Return | Qt.Key.Key_Enter, _):
                self.chosen.emit()
            case (Qt.Key.Key_Delete, _):
                self.deleting.emit()
            case (Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier):
                self.toggle()
            case (Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier):
                self.select(session.id for _, session in self._sessions.sessions())
            case (Qt.Key.Key_Escape, _):
                self.select_none()
            case (Qt.Key.Key_Up | Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier):
                self._extend()  # the row where the selection begins
                below = self.model().index(self.currentIndex().row() + _STEPS[key], 0)
                if below.isValid():
                    self.setCurrentIndex(below)
                    self._extend()
            case _:
                return False
        return True
