"""The view and the drawing of the file list, for the tree and for the filter's matches."""

from collections.abc import Callable

from PySide6.QtCore import QMimeData, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QDrag, QFontMetricsF, QKeyEvent, QKeySequence, QPainter, QPolygonF
from PySide6.QtWidgets import QAbstractItemView, QStyleOptionViewItem, QTableView

from desktop_agent.core.base.matching import Match, Matches
from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.files.file_tree_model import (
    COLOUR_OF_STATE,
    LETTERS,
    FileMark,
    FileMarks,
    FileRow,
    FileTreeModel,
    describe_mark,
)
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.popup import ChoiceModel
from desktop_agent.ui.widgets.rows import (
    AnyIndex,
    Model,
    ModelDelegate,
    draw_emphasised,
    draw_ground,
    draw_line,
    set_up_list,
    set_up_table,
    spans_within,
)

INDENT = 18
"""Indent per folder level, in device-independent pixels, like all sizes here."""

_TRIANGLE = 7.0
_NAME_AFTER_TRIANGLE = 14.0
_DIAMOND = 8.0


class FileDelegate(ModelDelegate[Model]):
    def draw_mark(self, painter: QPainter, rect: QRectF, mark: FileMark, *, is_folder: bool) -> QRectF:
        """Return the rest of `rect`. A folder shows the letter of the strongest change in it."""
        right = rect.right()
        change = (mark.below or mark.state) if is_folder else mark.state
        if change is not None and change in LETTERS:
            width = QFontMetricsF(self.small_strong_font).horizontalAdvance("M")
            painter.setFont(self.small_font if is_folder else self.small_strong_font)
            painter.setPen(self.theme.colour(COLOUR_OF_STATE[change]))
            column = QRectF(right - width, rect.top(), width, rect.height())
            painter.drawText(column, Qt.AlignmentFlag.AlignCenter, LETTERS[change])
            right -= width + Space.XS
        if mark.is_touched:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.theme.colour("accent"))
            painter.drawPolygon(_diamond(QPointF(right - _DIAMOND / 2, rect.center().y())))
            right -= _DIAMOND + Space.XS
        return QRectF(rect.left(), rect.top(), right - Space.XS - rect.left(), rect.height())


class TreeDelegate(FileDelegate[FileTreeModel]):
    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self.model.row_at(index.row())
        colour = draw_ground(painter, self.theme, option, self.ring)
        if row.mark.state == "ignored":
            colour = self.theme.colour("faint")
        rect = QRectF(option.rect).adjusted(Space.S + row.depth * INDENT, 0, -Space.S, 0)
        if row.is_dir:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            painter.drawPolygon(_triangle(QPointF(rect.left() + _TRIANGLE / 2, rect.center().y()), is_open=row.is_open))
            rect.setLeft(rect.left() + _NAME_AFTER_TRIANGLE)
        rect = self.draw_mark(painter, rect, row.mark, is_folder=row.is_dir)
        rect = self._draw_note(painter, rect, row.problem)
        name = f"{named(row.name)} →" if row.is_symlink else named(row.name)
        draw_line(painter, rect, name, self.text_font, colour)

    def _draw_note(self, painter: QPainter, rect: QRectF, note: str) -> QRectF:
        if not note:
            return rect
        width = min(QFontMetricsF(self.small_font).horizontalAdvance(note) + 1, rect.width() * 0.6)
        column = QRectF(rect.right() - width, rect.top(), width, rect.height())
        draw_line(painter, column, note, self.small_font, self.theme.colour("danger_text"))
        return rect.adjusted(0, 0, -width - Space.S, 0)


def _triangle(centre: QPointF, *, is_open: bool) -> QPolygonF:
    half = _TRIANGLE / 2
    x, y = centre.x(), centre.y()
    if is_open:
        return QPolygonF([QPointF(x - half, y - half + 1), QPointF(x + half, y - half + 1), QPointF(x, y + half)])
    return QPolygonF([QPointF(x - half + 1, y - half), QPointF(x - half + 1, y + half), QPointF(x + half, y)])


def _diamond(centre: QPointF) -> QPolygonF:
    half, x, y = _DIAMOND / 2, centre.x(), centre.y()
    return QPolygonF([QPointF(x, y - half), QPointF(x + half, y), QPointF(x, y + half), QPointF(x - half, y)])


class MatchesModel(ChoiceModel[Match]):
    marks = FileMarks()

    def mark_of(self, row: Match) -> FileMark:
        return self.marks.of(row.text, is_dir=False)

    def text(self, row: Match) -> str:
        return named(row.text)

    def words(self, row: Match) -> list[str]:
        return [named(row.text), *describe_mark(self.mark_of(row))]

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsDragEnabled if index.isValid() else flags


class MatchDelegate(FileDelegate[MatchesModel]):
    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        match = self.model.rows[index.row()]
        colour = draw_ground(painter, self.theme, option, self.ring)
        rect = QRectF(option.rect).adjusted(Space.S, 0, -Space.S, 0)
        rect = self.draw_mark(painter, rect, self.model.mark_of(match), is_folder=False)
        shown = named(match.text)
        name_at = shown.rfind("/") + 1
        found = [(len(named(match.text[:start])), len(named(match.text[:end]))) for start, end in match.spans]
        name_spans, folder_spans = spans_within(found, name_at, len(shown)), spans_within(found, 0, name_at - 1)
        used = draw_emphasised(painter, self.theme, rect, shown[name_at:], name_spans, colour, self.text_font)
        rect.setLeft(rect.left() + used + Space.S)
        folder, dropped = _elided_left(shown[: max(name_at - 1, 0)], QFontMetricsF(self.small_font), rect.width())
        spans = spans_within(folder_spans, dropped, name_at)
        draw_emphasised(painter, self.theme, rect, folder, spans, self.theme.colour("muted"), self.small_font)


def _elided_left(text: str, metrics: QFontMetricsF, width: float) -> tuple[str, int]:
    """Return the end of `text` that fits after an ellipsis, and how far its characters moved to the left."""
    if metrics.horizontalAdvance(text) <= width:
        return text, 0
    for start in range(1, len(text)):
        shorter = f"…{text[start:]}"
        if metrics.horizontalAdvance(shorter) <= width:
            return shorter, start - 1
    return "", len(text)


class FileRows(QTableView):
    chosen = Signal()
    copied = Signal()
    renamed = Signal()
    deleted = Signal()
    typed = Signal(str)  # text typed while the list has the focus

    def __init__(self, tree: FileTreeModel, theme: Theme) -> None:
        super().__init__()
        ring = self._ring = set_up_list(self)
        self._tree = tree
        self._theme = theme
        self._tree_delegate = TreeDelegate(tree, theme, ring, self)
        self._matches: tuple[MatchesModel, MatchDelegate] | None = None
        self.is_filtering = False
        self.dragged: Callable[[], QMimeData | None] = lambda: None
        self.setModel(tree)
        self.setItemDelegate(self._tree_delegate)
        self.clicked.connect(self._on_clicked)
        set_up_table(self)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.horizontalHeader().hide()
        self.horizontalHeader().setStretchLastSection(True)

    @property
    def current(self) -> FileRow | None:
        row = self.currentIndex().row()
        if row < 0:
            return None
        if not self.is_filtering or self._matches is None:
            return self._tree.row_at(row)
        path = self._matches[0].rows[row].text
        mark = self._tree.marks.of(path, is_dir=False)
        return FileRow(path, path.rpartition("/")[2], mark=mark)

    def select_row(self, row: int) -> None:
        self.setCurrentIndex(self.model().index(row, 0))

    def toggle(self) -> None:
        self._on_clicked(self.currentIndex())

    def show_matches(self, matches: Matches) -> None:
        if self._matches is None:  # with the first filter: the window's first paint does not wait for it
            model = MatchesModel(self)
            self._matches = model, MatchDelegate(model, self._theme, self._ring, self)
        model, delegate = self._matches
        model.marks = self._tree.marks
        model.show(matches.best)
        if not self.is_filtering:
            self.is_filtering = True
            self.setModel(model)
            self.setItemDelegate(delegate)

    def show_tree(self) -> None:
        if self.is_filtering:
            self.is_filtering = False
            self.setModel(self._tree)
            self.setItemDelegate(self._tree_delegate)

    def _on_clicked(self, index: AnyIndex) -> None:
        if not self.is_filtering:
            self._tree.toggle(index.row())

    def _step_in(self) -> None:
        row, shown = self.currentIndex().row(), self.current
        if self.is_filtering or shown is None:
            return
        if shown.is_open and self._tree.parent_row(min(row + 1, self._tree.rowCount() - 1)) == row:
            self.select_row(row + 1)
        elif shown.is_dir:
            self._tree.open(row)

    def _step_out(self) -> None:
        row, shown = self.currentIndex().row(), self.current
        if self.is_filtering or shown is None:
            return
        if shown.is_open:
            self._tree.close(row)
        elif (parent := self._tree.parent_row(row)) >= 0:
            self.select_row(parent)

    def startDrag(self, supportedActions: Qt.DropAction) -> None:
        if (data := self.dragged()) is not None:
            drag = QDrag(self)
            drag.setMimeData(data)
            drag.exec(Qt.DropAction.CopyAction)  # the file itself stays where it is

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if plain:
                self.chosen.emit()
            case Qt.Key.Key_Right if plain:
                self._step_in()
            case Qt.Key.Key_Left if plain:
                self._step_out()
            case Qt.Key.Key_F2 if plain:
                self.renamed.emit()
            case Qt.Key.Key_Delete if plain:
                self.deleted.emit()
            case _ if event.matches(QKeySequence.StandardKey.Copy):
                self.copied.emit()
            case _ if event.text().isprintable() and event.text().strip() and not _is_command(event):
                self.typed.emit(event.text())
            case _:
                super().keyPressEvent(event)


def _is_command(event: QKeyEvent) -> bool:
    commands = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
    return bool(event.modifiers() & commands)
