"""The rows of the picker as Qt knows them."""

from collections.abc import Set as AbstractSet
from itertools import chain

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt

from desktop_agent.ui.models.choices import ChoiceRow
from desktop_agent.ui.models.offers import ModelKey
from desktop_agent.ui.models.words import described
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex, stepped
from desktop_agent.ui.wording.tooltips import plain_tooltip


class ModelRows(QAbstractListModel):
    """One row per line of the list. Headings and notes cannot be chosen."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[ChoiceRow, ...] = ()
        self.current: ModelKey | None = None
        """The model that answers now."""
        self.favourites: AbstractSet[ModelKey] = frozenset()

    def show(self, rows: tuple[ChoiceRow, ...]) -> None:
        """Show these instead of the present ones."""
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def row_at(self, row: int) -> ChoiceRow:
        """Return what is in this row."""
        return self._rows[row]

    def first_choice(self, key: ModelKey | None = None) -> QModelIndex:
        """Return the first row that can be chosen, of this model if it is there; an invalid index without any.

        Where that account has gone, the same model of another account of its provider will do.
        """
        places = [place for place, row in enumerate(self._rows) if row.is_choice]
        keys = {place: offer.key for place in places if (offer := self._rows[place].offer) is not None}
        same = (place for place, found in keys.items() if found == key)
        alike = (place for place, found in keys.items() if key is not None and _is_alike(found, key))
        place = next(chain(same, alike, places), None)
        return self.index(place) if place is not None else QModelIndex()

    def step_from(self, row: int, by: int) -> QModelIndex:
        """Return the row that can be chosen `by` steps on; one step beyond an end leads to the other."""
        at = stepped([place for place, found in enumerate(self._rows) if found.is_choice], row, by)
        return self.index(at) if at is not None else QModelIndex()

    def is_current(self, row: ChoiceRow) -> bool:
        """Whether this model answers now."""
        return row.kind == "model" and row.offer is not None and row.offer.key == self.current

    def is_favourite(self, row: ChoiceRow) -> bool:
        """Whether the user marked this model."""
        return row.offer is not None and row.offer.key in self.favourites

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
                return row.text
            case Qt.ItemDataRole.AccessibleTextRole:
                return ", ".join(self._words(row))
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tooltip("\n".join(self._words(row)))
            case _:
                return None

    def _words(self, row: ChoiceRow) -> list[str]:
        """All that a row says, in words."""
        if row.kind != "model" or row.offer is None:
            return [row.text]
        words = described(row.offer, row.account)
        if row.account is not None and not row.account.is_fixed:
            words.insert(1, row.account.label)
        if self.is_current(row):
            words.append(self.tr("Answers now"))
        if self.is_favourite(row):
            words.append(self.tr("A favourite"))
        return words


def _is_alike(one: ModelKey, other: ModelKey) -> bool:
    """Whether they are one model, by whatever account."""
    return (one.provider, one.model) == (other.provider, other.model)
