"""The rows of the palette as Qt knows them."""

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt

from desktop_agent.ui.palette.entries import PaletteRow
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex, stepped
from desktop_agent.ui.wording.tooltips import plain_tooltip


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
