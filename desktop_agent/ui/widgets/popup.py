"""Popups over the window: their frame, closing, and a list filtered by typed text."""

from collections.abc import Sequence
from math import sqrt
from typing import Final, Generic, TypeVar

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QPoint, QRect, QRectF, QSignalBlocker, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QRegion, QResizeEvent, QWindow
from PySide6.QtWidgets import QFrame, QLineEdit, QListView, QWidget
from shiboken6 import isValid

from desktop_agent.ui.theme import Radius, Theme
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex, draw_box, set_up_list, stepped
from desktop_agent.ui.wording import plain_tooltip

_EDGE: Final = 1
_INSIDE: Final = 4
"""The inset, in pixels, from which on no border is drawn, not even in the corners."""


class Popup(QFrame):
    """A frame over the window. A press outside or Escape closes it. Corners are masked: translucent ones are slow."""

    def __init__(self, theme: Theme, over: QWidget, button: QWidget | None = None) -> None:
        """`button` opens and closes the popup, so a press on it does not count as outside."""
        super().__init__(over)
        self.is_open = False
        self._over = over
        self._button = button
        self._frame_theme = theme
        self._before: QWidget | None = None
        self._window: QWindow | None = None
        """The application is not watched: a filter there is called for every event, and makes classes for all of Qt."""
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setContentsMargins(_EDGE, _EDGE, _EDGE, _EDGE)
        theme.changed.connect(self.update)
        over.installEventFilter(self)
        self.hide()

    def open_popup(self) -> None:
        self._begin()
        self._place()
        self.show()
        self.raise_()

    def close_popup(self) -> None:
        if self.is_open:
            self.is_open = False
            if self._window is not None:
                self._window.removeEventFilter(self)
            before, now = self._before, self._focused() or self._over
            if (
                before is not None
                and isValid(before)
                and before.isVisible()
                and (now is self or self.isAncestorOf(now))
            ):
                before.setFocus(Qt.FocusReason.OtherFocusReason)
            self.hide()

    def _focused(self) -> QWidget | None:
        return self._over.window().focusWidget()

    def _begin(self) -> None:
        if not self.is_open:
            self._before = self._focused()
        self.is_open = True
        self._window = self._over.window().windowHandle()
        self._window.installEventFilter(self)

    def _place(self) -> None:
        raise NotImplementedError

    def _is_beside(self, at: QPoint) -> bool:
        spared = (self, self._button)
        return not any(
            widget is not None and widget.isVisible() and widget.rect().contains(widget.mapFromGlobal(at))
            for widget in spared
        )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window and isinstance(event, QMouseEvent):
            is_press = event.type() == QEvent.Type.MouseButtonPress
            if is_press and self._is_beside(event.globalPosition().toPoint()):
                self.close_popup()
        elif watched is self._over and event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_popup()
        else:
            super().keyPressEvent(event)

    def tab_stops(self) -> list[QWidget]:
        return [one for one in self.findChildren(QWidget) if one.focusPolicy() & Qt.FocusPolicy.TabFocus]

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        if usable := [place for place in self.tab_stops() if place.isVisible() and place.isEnabled()]:
            now, step = self.focusWidget(), 1 if next else -1
            at = usable.index(now) + step if now in usable else min(step, 0)
            reason = Qt.FocusReason.TabFocusReason if next else Qt.FocusReason.BacktabFocusReason
            usable[at % len(usable)].setFocus(reason)
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.setMask(_rounded(self.rect()))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._frame_theme
        with QPainter(self) as painter:
            painter.fillRect(event.rect(), theme.colour("surface"))
            if not self.rect().adjusted(_INSIDE, _INSIDE, -_INSIDE, -_INSIDE).contains(event.rect()):
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                edge, radius = theme.colour("border_strong"), Radius.DIALOG - _EDGE / 2
                draw_box(painter, QRectF(self.rect()), edge, theme.colour("surface"), radius, _EDGE)


def _rounded(rect: QRect) -> QRegion:
    radius, width, height = Radius.DIALOG, rect.width(), rect.height()
    region = QRegion(0, radius, width, height - 2 * radius)
    for y in range(radius):
        cut = int(radius - sqrt(radius**2 - (radius - y - 1) ** 2))
        for at in (y, height - 1 - y):
            region += QRegion(cut, at, width - 2 * cut, 1)
    return region


Row = TypeVar("Row")


class ChoiceModel(QAbstractListModel, Generic[Row]):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[Row, ...] = ()

    def show(self, rows: Sequence[Row]) -> None:
        self.beginResetModel()
        self.rows = tuple(rows)
        self.endResetModel()

    def is_choice(self, row: Row) -> bool:
        return True

    def text(self, row: Row) -> str:
        raise NotImplementedError

    def words(self, row: Row) -> list[str]:
        """Return all texts of a row, for screen readers."""
        return [self.text(row)]

    def tooltip(self, row: Row) -> str:
        return plain_tooltip("\n".join(self.words(row)))

    def step_from(self, row: int, by: int) -> QModelIndex:
        at = stepped([place for place, found in enumerate(self.rows) if self.is_choice(found)], row, by)
        return self.index(at) if at is not None else QModelIndex()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        if not index.isValid() or not self.is_choice(self.rows[index.row()]):
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not 0 <= index.row() < len(self.rows):
            return None
        row = self.rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.text(row)
            case Qt.ItemDataRole.AccessibleTextRole:
                return ", ".join(self.words(row))
            case Qt.ItemDataRole.ToolTipRole:
                return self.tooltip(row)
            case _:
                return None


class FilterPopup(Popup, Generic[Row]):
    """A popup with a field, which keeps the focus, and a list. Subclasses lay out both, and set the list's delegate."""

    def __init__(
        self,
        theme: Theme,
        over: QWidget,
        button: QWidget | None,
        model: ChoiceModel[Row],
        view: QListView,
        *,
        page_rows: int,
    ) -> None:
        super().__init__(theme, over, button)
        self._model = model
        self._list = view
        self._page_rows = page_rows
        self._ring = set_up_list(view)
        view.setModel(model)
        view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        view.setUniformItemSizes(True)
        view.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        view.selectionModel().currentChanged.connect(self._on_current)
        theme.changed.connect(view.viewport().update)
        self._field = QLineEdit(self)
        self._field.textChanged.connect(self._on_text)
        self._field.installEventFilter(self)

    @property
    def _current_row(self) -> Row | None:
        index = self._list.currentIndex()
        return self._model.rows[index.row()] if index.isValid() else None

    def _type(self, text: str) -> None:
        with QSignalBlocker(self._field):
            self._field.setText(text)

    def _on_text(self) -> None:
        raise NotImplementedError

    def _choose(self, index: QModelIndex) -> None:
        raise NotImplementedError

    def _on_enter(self) -> None:
        self._choose(self._list.currentIndex())

    def _on_current(self, index: QModelIndex) -> None:
        words = str(index.data(Qt.ItemDataRole.AccessibleTextRole) or "")
        self._field.setAccessibleDescription(words)  # the focus stays in the field, so screen readers read this

    def _take_key(self, event: QKeyEvent) -> bool:
        page = self._page_rows
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: page, Qt.Key.Key_PageUp: -page}
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._on_enter()
            case Qt.Key.Key_Down | Qt.Key.Key_Up | Qt.Key.Key_PageDown | Qt.Key.Key_PageUp as key:
                self._list.setCurrentIndex(self._model.step_from(self._list.currentIndex().row(), steps[key]))
            case _:
                return False
        return True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._field and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._take_key(event)
        return super().eventFilter(watched, event)
