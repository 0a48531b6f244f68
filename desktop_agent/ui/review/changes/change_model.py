"""The list of changed files, for Qt's views."""

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QAbstractListModel, QObject, Qt

from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex
from desktop_agent.ui.wording.tooltips import plain_tooltip

Tags = Literal["author", "kind"]
"""What is said beside a path: who changed the file, or what becomes of it."""


class ChangeModel(QAbstractListModel):
    """One row for every changed file. Rows that stay keep their place, so that a selection survives an update."""

    def __init__(self, tags: Tags = "author", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tags: Tags = tags
        self._files: list[ChangedFile] = []

    @property
    def files(self) -> Sequence[ChangedFile]:
        """The files, in the order of the rows."""
        return self._files

    def set_files(self, files: Sequence[ChangedFile]) -> None:
        """Show these files. Appends when the first ones are those that are there, as while a turn runs."""
        old, new = [file.path for file in self._files], [file.path for file in files]
        if new[: len(old)] != old:
            self.beginResetModel()
            self._files = list(files)
            self.endResetModel()
            return
        if len(new) > len(old):
            self.beginInsertRows(NO_PARENT, len(old), len(new) - 1)
            self._files.extend(files[len(old) :])
            self.endInsertRows()
        self._files = list(files)
        if files:
            self.dataChanged.emit(self.index(0), self.index(len(files) - 1))

    def row_of(self, path: str) -> int | None:
        """Return the row of this file."""
        return next((row for row, file in enumerate(self._files) if file.path == path), None)

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._files)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._files):
            return None
        file = self._files[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return named(file.path)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tooltip(self._in_words(file))
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._in_words(file)
            case _:
                return None

    def tag_words(self, file: ChangedFile) -> str:
        """Return what to say beside the path; nothing for what is usual."""
        return self._author_words(file) if self._tags == "author" else self._kind_words(file)

    def aside_words(self, file: ChangedFile) -> str:
        """Return what to say beside the counts: what the file is, or what became of it beyond its lines."""
        words = [self._special_words(file)]
        if self._tags == "author":
            words.insert(0, self._kind_words(file))
        return " ".join(filter(None, words))

    def _author_words(self, file: ChangedFile) -> str:
        names = {
            "agent": self.tr("agent"),
            "shell": self.tr("shell"),
            "mcp": self.tr("MCP"),
            "person": self.tr("you"),
            "unknown": self.tr("a server, or you"),
        }
        return ", ".join(names[author] for author in file.authors)

    def _kind_words(self, file: ChangedFile) -> str:
        return {"created": self.tr("new"), "deleted": self.tr("deleted")}.get(file.kind, "")

    def _special_words(self, file: ChangedFile) -> str:
        if file.special == "mode" and file.modes is not None:
            return "{:o} → {:o}".format(*(mode & 0o7777 for mode in file.modes))
        names = {"folder": self.tr("folder"), "symlink": self.tr("link"), "binary": self.tr("binary")}
        names |= {"fifo": self.tr("named pipe"), "socket": self.tr("socket")}
        return names.get(file.special, "")

    def _in_words(self, file: ChangedFile) -> str:
        added, removed = file.counts
        counts = "" if file.special else self.tr("{0} added, {1} removed").format(added, removed)
        renamed = self.tr("renamed from {0}").format(file.moved_from) if file.moved_from else ""
        author = self._author_words(file) if self._tags == "author" else ""
        state = self._state_words(file) if self._tags == "author" else ""
        parts = (file.path, renamed, self._kind_words(file), self._special_words(file), counts, author, state)
        return ", ".join(filter(None, parts))

    def _state_words(self, file: ChangedFile) -> str:
        decided, total = file.decided
        match file.mark:
            case "partly" if total:
                return plural("ChangeModel", total, "{0} of %n change decided", "{0} of %n changes decided").format(
                    decided
                )
            case "partly":
                return self.tr("decided in part")
            case "kept":
                return "" if file.is_by_user else self.tr("kept")
            case "undone":
                return self.tr("undone")
            case "conflict":
                return self.tr("in conflict")
            case "pending":
                return self.tr("undecided")
