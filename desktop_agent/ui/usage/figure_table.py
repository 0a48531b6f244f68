"""The table below the plots: every figure as text, to sort, to read out and to copy."""

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView

from desktop_agent.ui.theme import Height, Theme
from desktop_agent.ui.usage.cells import PADDING, CellDelegate
from desktop_agent.ui.usage.tables_shown import Table
from desktop_agent.ui.widgets.rows import FocusRing

_NO_PARENT = QModelIndex()
_LEAST_NAME = 140
_LEAST_TEXT = 160
"""A column takes less for names, or for text at its end, only where less is in it."""
_HEADINGS = Height.LIST_ROW
_SHOWN_ROWS = 5
_MEASURED = 3
_SORT_SIGN = 8


class FigureModel(QAbstractTableModel):
    """The rows of one table, sorted as the user wants."""

    def __init__(self) -> None:
        super().__init__()
        self._table = Table((), ())
        self._rows = list(self._table.rows)

    def show_table(self, table: Table) -> None:
        """Have these rows from now on, in their own order."""
        self.beginResetModel()
        self._table = table
        self._rows = list(table.rows)
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._table.headings)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        text = self._rows[index.row()][index.column()].text
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return text
            case Qt.ItemDataRole.ToolTipRole if index.column() == 0 or len(text) > 20:
                return text
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{self._table.headings[index.column()]}: {text}"
            case Qt.ItemDataRole.TextAlignmentRole:
                return self._side(index.column())
            case _:
                return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal or section >= len(self._table.headings):
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(section)
        return self._table.headings[section] if role == Qt.ItemDataRole.DisplayRole else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.layoutAboutToBeChanged.emit()
        if column < 0:
            self._rows = list(self._table.rows)
        elif column < len(self._table.headings):
            is_down = order == Qt.SortOrder.DescendingOrder
            self._rows = sorted(self._table.rows, key=lambda row: (row[column].order,), reverse=is_down)
        self.layoutChanged.emit()

    def _side(self, column: int) -> Qt.AlignmentFlag:
        is_text = column in self._table.texts
        return Qt.AlignmentFlag.AlignVCenter | (Qt.AlignmentFlag.AlignLeft if is_text else Qt.AlignmentFlag.AlignRight)


class FigureTable(QTableView):
    """Shows one table. Its headings sort it; it is as readable without the plots."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.figures = FigureModel()
        self._widths: list[int] = []
        self.setModel(self.figures)
        self._cells = CellDelegate(theme, FocusRing(self))
        self.setItemDelegate(self._cells)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setMinimumHeight(_HEADINGS + _SHOWN_ROWS * Height.LIST_ROW)
        rows = self.verticalHeader()
        rows.hide()
        rows.setDefaultSectionSize(Height.LIST_ROW)
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        headings = self.horizontalHeader()
        headings.setHighlightSections(False)
        headings.setFixedHeight(_HEADINGS)
        headings.setSortIndicatorClearable(True)
        headings.setMinimumSectionSize(_HEADINGS)
        self.setSortingEnabled(True)

    def show_table(self, table: Table) -> None:
        """Show these rows, in their own order."""
        headings = self.horizontalHeader()
        headings.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        self.figures.show_table(table)
        self._cells.text_columns = table.texts
        headings.setStretchLastSection(len(table.headings) - 1 in table.texts)
        metrics, strong = QFontMetrics(self._cells.font), headings.fontMetrics()
        self._widths = []
        for column, heading in enumerate(table.headings):
            # Only the longest texts are measured: to measure every cell takes longer than to draw them all.
            longest = sorted({row[column].text for row in table.rows}, key=_length_first)[-_MEASURED:]
            width = max([strong.horizontalAdvance(heading) + _SORT_SIGN, *map(metrics.horizontalAdvance, longest)])
            self._widths.append(width + 2 * PADDING + 4)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Make each column as wide as what is in it; the names take what is left, or give way."""
        headings, widths = self.horizontalHeader(), list(self._widths)
        if not widths:
            return
        if headings.stretchLastSection():
            widths[-1] = min(widths[-1], _LEAST_TEXT)
        spare = self.viewport().width() - sum(widths)
        if spare < 0 or not headings.stretchLastSection():
            widths[0] = max(min(widths[0], _LEAST_NAME), widths[0] + spare)
        for column, width in enumerate(widths):
            headings.resizeSection(column, width)


def _length_first(text: str) -> tuple[int, str]:
    """The order by length, in which texts of one length stand the same way at every start."""
    return len(text), text
