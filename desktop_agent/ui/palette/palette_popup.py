"""The palette's popup: a field above the list of matches. Imported when it is first opened."""

from collections.abc import Iterator
from html import escape

from PySide6.QtCore import QModelIndex, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyleOptionViewItem, QWidget

from desktop_agent.ui.palette.palette_entries import PREFIXES, PaletteQuery, PaletteRow, Scope, query_of
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hairline, set_names, vbox
from desktop_agent.ui.widgets.popup import ChoiceModel, FilterPopup
from desktop_agent.ui.widgets.rows import RIGHT, AnyIndex, ModelDelegate, draw_emphasised, draw_ground, draw_line


class PaletteRows(ChoiceModel[PaletteRow]):
    def is_choice(self, row: PaletteRow) -> bool:
        return row.is_choice

    def text(self, row: PaletteRow) -> str:
        return row.entry.title if row.entry is not None else row.text

    def words(self, row: PaletteRow) -> list[str]:
        if row.entry is None:
            return [row.text]
        return [text for text in (row.entry.title, row.entry.group, row.entry.keys) if text]


_LEAST_GROUP = 24.0


class PaletteDelegate(ModelDelegate[ChoiceModel[PaletteRow]]):
    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self.model.rows[index.row()]
        rect = QRectF(option.rect)
        if row.entry is not None:
            muted = self.theme.colour("muted")
            colour = self.theme.colour("text")
            if row.entry.is_choice:
                colour = draw_ground(painter, self.theme, option, self.ring)
            area = rect.adjusted(Space.S, 0, -Space.S, 0)
            if row.entry.keys:
                font = self.theme.code_font(TypeSize.HEAD)
                draw_line(painter, area, row.entry.keys, font, muted, RIGHT)
                area.setRight(area.right() - QFontMetricsF(font).horizontalAdvance(row.entry.keys) - Space.M)
            area.setLeft(
                area.left()
                + draw_emphasised(painter, self.theme, area, row.entry.title, row.title_spans, colour, self.text_font)
                + Space.S
            )
            if row.has_group and area.width() > _LEAST_GROUP:
                mode = Qt.TextElideMode.ElideMiddle if row.entry.kind == "file" else Qt.TextElideMode.ElideRight
                shown = QFontMetricsF(self.small_font).elidedText(row.entry.group, mode, area.width())
                spans = row.group_spans if shown == row.entry.group else ()
                draw_emphasised(painter, self.theme, area, shown, spans, muted, self.small_font)
        else:
            font = self.text_font if row.is_note else self.small_strong_font
            at = rect.adjusted(Space.S, 0 if row.is_note else Space.XS, -Space.S, 0)
            draw_line(painter, at, row.text, font, self.theme.colour("muted"))


_WIDTH = 640
_MOST_ROWS = 14
_LEAST_ROWS = 3
_MARGIN = 24


class CommandPalette(FilterPopup[PaletteRow]):
    wanted = Signal(object)  # a `PaletteQuery`, to be answered by `show_rows`
    chosen = Signal(object)  # a `PaletteEntry`; the focus has returned to its widget by then

    def __init__(self, theme: Theme, over: QWidget, button: QWidget | None = None) -> None:
        super().__init__(theme, over, button, PaletteRows(), QListView(), page_rows=10)
        set_names(self, "commandPalette", self.tr("Command palette"))
        self._base: Scope = "all"
        self._shown: PaletteQuery | None = None
        self._is_choosing = False
        """Whether Enter was pressed before the rows arrived. Then the current row is chosen as soon as they do."""
        set_names(self._field, "paletteField", self.tr("Command palette"))
        set_names(self._list, "paletteList", self.tr("Matches"))
        self._list.setItemDelegate(PaletteDelegate(self._model, theme, self._ring, self._list))
        self._list.clicked.connect(self._choose)
        self._hint = make_label(self._hint_words(), role="secondary", parent=self)
        self._hint.setContentsMargins(Space.S, 0, Space.S, 0)
        margins = (Space.S, Space.S, Space.S, Space.S)
        vbox(self._field, (self._list, 1), hairline(), self._hint, on=self, margins=margins, spacing=Space.S)

    def made_ready(self) -> Iterator[None]:
        for widget in (self, *self.findChildren(QWidget)):
            widget.ensurePolished()
            yield
        self._place()

    @property
    def query(self) -> PaletteQuery:
        return query_of(self._field.text(), self._base)

    def open_palette(self, base: Scope, typed: str = "") -> None:
        if self.isVisible() and self._base == base and self._field.text().startswith(typed):
            self.close_popup()
            return
        self._begin()
        self._base = base
        self._shown = None
        self._type(typed)
        everything = self.tr("Search actions, settings, commands, sessions and files")
        self._field.setPlaceholderText(self.tr("Go to a file by parts of its path") if base == "file" else everything)
        self._model.show(())
        self._on_text()  # before it is shown: listed entries appear at once, and the popup gets their height
        self.open_popup()
        self._field.setFocus(Qt.FocusReason.PopupFocusReason)  # for a shortcut, a field would select its text

    def close_popup(self) -> None:
        self._is_choosing = False
        super().close_popup()

    def show_rows(self, query: PaletteQuery, rows: tuple[PaletteRow, ...]) -> None:
        """Outdated queries are ignored. New rows for the same query keep the chosen row."""
        if not self.is_open or query != self.query or (query == self._shown and self._model.rows == rows):
            return
        current = self._current_row
        entry = current.entry if query == self._shown and current is not None else None
        self._shown = query
        self._model.show(rows)
        same = next((place for place, row in enumerate(rows) if entry is not None and row.entry == entry), None)
        self._list.setCurrentIndex(self._model.index(same) if same is not None else self._model.step_from(-1, 1))
        if same is None:
            self._list.scrollToTop()
        self._place()
        if self._is_choosing:
            self._is_choosing = False
            self._choose(self._list.currentIndex())

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

    def _on_text(self) -> None:
        self._is_choosing = False
        self.wanted.emit(self.query)

    def _choose(self, index: QModelIndex) -> None:
        row = self._model.rows[index.row()] if index.isValid() else None
        if row is not None and row.is_choice:
            self.close_popup()
            self.chosen.emit(row.entry)

    def _on_enter(self) -> None:
        if self._shown == self.query:
            self._choose(self._list.currentIndex())
        else:
            self._is_choosing = True

    def _take_key(self, event: QKeyEvent) -> bool:
        is_taken = super()._take_key(event)
        if is_taken and self._list.currentIndex().row() == 1:
            self._list.scrollToTop()  # its heading comes into sight, too
        return is_taken

    def _place(self) -> None:
        area = self._over.rect().adjusted(_MARGIN, Height.TOP_BAR + Space.S, -_MARGIN, -_MARGIN)
        rows = max(_LEAST_ROWS, min(self._model.rowCount(), _MOST_ROWS))
        chrome = self._field.sizeHint().height() + self._hint.sizeHint().height() + 1 + 5 * Space.S + 2
        width = min(_WIDTH, area.width())
        left = area.left() + (area.width() - width) // 2
        self.setGeometry(QRect(left, area.top(), width, min(rows * Height.LIST_ROW + chrome, area.height())))
