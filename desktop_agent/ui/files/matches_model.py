"""The files that fit what was typed into the filter, as a flat list."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QObject, Qt

from desktop_agent.core.base.matching import Match
from desktop_agent.ui.files.file_words import describe_mark, displayed
from desktop_agent.ui.files.marks import FileMark, FileMarks
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex
from desktop_agent.ui.wording.tooltips import plain_tooltip


class MatchesModel(QAbstractListModel):
    """One row per matching file, best first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._matches: Sequence[Match] = ()
        self._marks = FileMarks()

    def show(self, matches: Sequence[Match], marks: FileMarks) -> None:
        """Show these matches instead of the present ones."""
        self.beginResetModel()
        self._matches, self._marks = matches, marks
        self.endResetModel()

    def match_at(self, row: int) -> Match:
        """Return what is in this row."""
        return self._matches[row]

    def mark_at(self, row: int) -> FileMark:
        """Return what git and the agent say about the file in this row."""
        return self._marks.of(self._matches[row].text, is_dir=False)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsDragEnabled if index.isValid() else flags

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._matches)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not self.checkIndex(index, QAbstractListModel.CheckIndexOption.IndexIsValid):
            return None
        words = [displayed(self._matches[index.row()].text), *describe_mark(self.mark_at(index.row()))]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return words[0]
            case Qt.ItemDataRole.AccessibleTextRole:
                return ", ".join(words)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tooltip("\n".join(words))
            case _:
                return None
