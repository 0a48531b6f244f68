"""The palette itself: a field and the list of what fits, over the window. Imported when it is first opened."""

from collections.abc import Iterator
from html import escape
from typing import cast

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter
from PySide6.QtWidgets import QLineEdit, QListView, QStyleOptionViewItem, QWidget
from shiboken6 import isValid

from desktop_agent.ui.palette.palette_entries import PREFIXES, PaletteEntry, PaletteQuery, PaletteRow, Scope, query_of
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hairline, vbox
from desktop_agent.ui.widgets.popup_frame import PressBeside, RaisedFrame
from desktop_agent.ui.widgets.rows import (
    NO_PARENT,
    RIGHT,
    AnyIndex,
    FocusRing,
    RowDelegate,
    draw_emphasised,
    draw_ground,
    draw_line,
    set_up_list,
    stepped,
)
from desktop_agent.ui.wording.visible_text import plain_tooltip


class PaletteRows(QAbstractListModel):
    """One row per line of the list. Headings, notes and keys that are only read cannot be chosen."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[PaletteRow, ...] = ()

    def show(self, rows: tuple[PaletteRow, ...]) -> None:
        """Show these instead of the present ones."""
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def are(self, rows: tuple[PaletteRow, ...]) -> bool:
        """Whether these are shown already."""
        return rows == self._rows

    def row_at(self, row: int) -> PaletteRow:
        """Return what is in this row."""
        return self._rows[row]

    def step_from(self, row: int, by: int) -> QModelIndex:
        """Return the row that can be chosen `by` steps on; one step beyond an end leads to the other."""
        at = stepped([place for place, found in enumerate(self._rows) if found.is_choice], row, by)
        return self.index(at) if at is not None else QModelIndex()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        if not index.isValid() or not self._rows[index.row()].is_choice:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.entry.title if row.entry is not None else row.text
            case Qt.ItemDataRole.AccessibleTextRole:
                return ", ".join(_words(row))
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tooltip("\n".join(_words(row)))
            case _:
                return None


def _words(row: PaletteRow) -> list[str]:
    """All that a row says, in words."""
    if row.entry is None:
        return [row.text]
    return [text for text in (row.entry.title, row.entry.group, row.entry.keys) if text]


_LEAST_GROUP = 24.0
"""Less room than this shows nothing of a group that could be read."""


class PaletteDelegate(RowDelegate):
    """Draws one row."""

    def __init__(self, model: PaletteRows, theme: Theme, ring: FocusRing, parent: QObject) -> None:
        super().__init__(theme, ring, parent)
        self._model = model

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self._model.row_at(index.row())
        rect = QRectF(option.rect)
        painter.save()
        if row.entry is not None:
            self._draw_entry(painter, rect, row, row.entry, option)
        else:
            font = self.fonts.text if row.is_note else self.fonts.small_strong
            at = rect.adjusted(Space.S, 0 if row.is_note else Space.XS, -Space.S, 0)
            draw_line(painter, at, row.text, font, self.theme.colour("muted"))
        painter.restore()

    def _draw_entry(
        self, painter: QPainter, rect: QRectF, row: PaletteRow, entry: PaletteEntry, option: QStyleOptionViewItem
    ) -> None:
        muted = self.theme.colour("muted")
        colour = self.theme.colour("text")
        if entry.is_choice:
            colour = draw_ground(painter, self.theme, option, self.ring)
        area = rect.adjusted(Space.S, 0, -Space.S, 0)
        if entry.keys:
            font = self.theme.code_font(TypeSize.HEAD)
            draw_line(painter, area, entry.keys, font, muted, RIGHT)
            area.setRight(area.right() - QFontMetricsF(font).horizontalAdvance(entry.keys) - Space.M)
        area.setLeft(
            area.left()
            + draw_emphasised(painter, self.theme, area, entry.title, row.title_spans, colour, self.fonts.text)
            + Space.S
        )
        if row.has_group and area.width() > _LEAST_GROUP:
            mode = Qt.TextElideMode.ElideMiddle if entry.kind == "file" else Qt.TextElideMode.ElideRight
            shown = QFontMetricsF(self.fonts.small).elidedText(entry.group, mode, area.width())
            spans = row.group_spans if shown == entry.group else ()
            draw_emphasised(painter, self.theme, area, shown, spans, muted, self.fonts.small)


_WIDTH = 640
_MOST_ROWS = 14
_LEAST_ROWS = 3
_PAGE = 10
_MARGIN = 24


class CommandPalette(RaisedFrame):
    """Lies over `over` while it is open. It asks what fits, and says what was chosen; the application carries it out.

    Signals:
        wanted: show the rows that fit this `PaletteQuery`.
        chosen: the user wants this `PaletteEntry`. The keyboard is back where it was by then.
    """

    wanted = Signal(object)
    chosen = Signal(object)

    def __init__(self, theme: Theme, over: QWidget, button: QWidget | None = None) -> None:
        """`button` opens it, and closes it when it is open."""
        super().__init__(theme, over)
        self.setObjectName("commandPalette")
        self.setAccessibleName(self.tr("Command palette"))
        self._over = over
        self._base: Scope = "all"
        self._is_open = False
        self._shown: PaletteQuery | None = None
        """What the rows answer."""
        self._is_choosing = False
        """Enter was pressed before the rows were there."""
        self._before: QWidget | None = None
        """What had the keyboard."""
        self._rows = PaletteRows(self)
        self._field = self._build_field()
        self._list = self._build_list(theme)
        self._presses = PressBeside(self, button)
        self._presses.pressed.connect(self.close_palette)
        self._field.installEventFilter(self)
        self._hint = make_label(self._hint_words(), role="secondary", parent=self)
        self._hint.setContentsMargins(Space.S, 0, Space.S, 0)
        margins = (Space.S, Space.S, Space.S, Space.S)
        vbox(self._field, (self._list, 1), hairline(), self._hint, on=self, margins=margins, spacing=Space.S)
        self.hide()

    def made_ready(self) -> Iterator[None]:
        """Do the most of what opening it for the first time takes, a little in each step."""
        for widget in (self, *self.findChildren(QWidget)):
            widget.ensurePolished()
            yield
        self._place()

    @property
    def query(self) -> PaletteQuery:
        """What is asked for."""
        return query_of(self._field.text(), self._base)

    def open_palette(self, base: Scope, typed: str = "") -> None:
        """Show it for this, with this in the field. When that is what it shows already, close it."""
        if self.isVisible() and self._base == base and self._field.text().startswith(typed):
            self.close_palette()
            return
        if not self._is_open:
            self._is_open = True
            self._before = cast("QWidget | None", self._over.window().focusWidget())
            self._presses.start()
            self._over.installEventFilter(self)
        self._base = base
        self._shown = None
        self._field.blockSignals(True)
        self._field.setText(typed)
        self._field.blockSignals(False)
        self._field.setPlaceholderText(self._placeholder(base))
        self._rows.show(())
        self._on_text()  # before it is shown: what is only listed is there at once, and the palette as high as that
        self._place()
        self.show()
        self.raise_()
        self._field.setFocus(Qt.FocusReason.PopupFocusReason)  # for a shortcut, a field would select what is in it

    def close_palette(self) -> None:
        """Go back to what lies below, and to the widget that had the keyboard."""
        if not self._is_open:
            return
        self._is_open = False
        self._presses.stop()
        self._over.removeEventFilter(self)
        self._is_choosing = False
        before, self._before = self._before, None
        if before is not None and isValid(before) and before.isVisible() and self._field.hasFocus():
            before.setFocus(Qt.FocusReason.OtherFocusReason)
        self.hide()

    def show_rows(self, query: PaletteQuery, rows: tuple[PaletteRow, ...]) -> None:
        """Show what fits, unless something else is asked for by now. A row chosen in the same answer stays chosen."""
        if not self._is_open or query != self.query or (query == self._shown and self._rows.are(rows)):
            return
        before = self._list.currentIndex().row()
        entry = self._rows.row_at(before).entry if query == self._shown and before >= 0 else None
        self._shown = query
        self._rows.show(rows)
        same = next((place for place, row in enumerate(rows) if entry is not None and row.entry == entry), None)
        self._list.setCurrentIndex(self._rows.index(same) if same is not None else self._rows.step_from(-1, 1))
        if same is None:
            self._list.scrollToTop()
        self._place()
        if self._is_choosing:
            self._is_choosing = False
            self._choose(self._list.currentIndex())

    # --- building ---------------------------------------------------------------------------------------------------

    def _build_field(self) -> QLineEdit:
        field = QLineEdit(self)
        field.setObjectName("paletteField")
        field.setAccessibleName(self.tr("Command palette"))
        field.textChanged.connect(self._on_text)
        return field

    def _build_list(self, theme: Theme) -> QListView:
        view = QListView(self)
        view.setObjectName("paletteList")
        view.setAccessibleName(self.tr("What fits"))
        view.setModel(self._rows)
        view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        view.setUniformItemSizes(True)
        view.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        view.setItemDelegate(PaletteDelegate(self._rows, theme, set_up_list(view), view))
        view.clicked.connect(self._choose)
        view.selectionModel().currentChanged.connect(self._on_current)
        theme.changed.connect(view.viewport().update)
        return view

    def _placeholder(self, base: Scope) -> str:
        if base == "file":
            return self.tr("Go to a file by parts of its path")
        return self.tr("Search actions, settings, commands, sessions and files")

    def _hint_words(self) -> str:
        kinds = {
            ">": self.tr("actions"),
            "@": self.tr("sessions"),
            "/": self.tr("commands"),
            ",": self.tr("settings"),
            "?": self.tr("keys"),
        }
        signs = "&nbsp;&nbsp; ".join(f"<b>{escape(sign)}</b> {kinds[sign]}" for sign in PREFIXES)
        return self.tr("Begin with {0}").format(f"&nbsp;{signs}")

    # --- what the user does -----------------------------------------------------------------------------------------

    def _on_text(self) -> None:
        self._is_choosing = False
        self.wanted.emit(self.query)

    def _on_current(self, index: QModelIndex) -> None:
        words = str(index.data(Qt.ItemDataRole.AccessibleTextRole) or "")
        self._field.setAccessibleDescription(words)  # the keyboard stays in the field: this is what its reader hears

    def _choose(self, index: QModelIndex) -> None:
        row = self._rows.row_at(index.row()) if index.isValid() else None
        if row is not None and row.is_choice:
            self.close_palette()
            self.chosen.emit(row.entry)

    def _on_enter(self) -> None:
        """Choose what is marked; where the answer to the last key is not there yet, the first of that."""
        if self._shown == self.query:
            self._choose(self._list.currentIndex())
        else:
            self._is_choosing = True

    def _take_key(self, event: QKeyEvent) -> bool:
        """Act on a key of the field, if it is one for the list; whether it was."""
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: _PAGE, Qt.Key.Key_PageUp: -_PAGE}
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._on_enter()
            case Qt.Key.Key_Down | Qt.Key.Key_Up | Qt.Key.Key_PageDown | Qt.Key.Key_PageUp as key:
                self._list.setCurrentIndex(self._rows.step_from(self._list.currentIndex().row(), steps[key]))
                if self._list.currentIndex().row() == 1:
                    self._list.scrollToTop()  # its heading comes into sight, too
            case _:
                return False
        return True

    # --- Qt -----------------------------------------------------------------------------------------------------------

    def _place(self) -> None:
        """Stand below the bar at the top, as high as the list needs and as there is room for."""
        area = self._over.rect().adjusted(_MARGIN, Height.TOP_BAR + Space.S, -_MARGIN, -_MARGIN)
        rows = max(_LEAST_ROWS, min(self._rows.rowCount(), _MOST_ROWS))
        chrome = self._field.sizeHint().height() + self._hint.sizeHint().height() + 1 + 5 * Space.S + 2
        width = min(_WIDTH, area.width())
        left = area.left() + (area.width() - width) // 2
        self.setGeometry(QRect(left, area.top(), width, min(rows * Height.LIST_ROW + chrome, area.height())))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.KeyPress and watched is self._field and isinstance(event, QKeyEvent):
            if self._take_key(event):
                return True
        elif kind == QEvent.Type.Resize and watched is self._over:
            self._place()
        return super().eventFilter(watched, event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        """Keep Tab inside: what lies below is out of reach until this is closed."""
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_palette()
        else:
            super().keyPressEvent(event)
