"""What a search through sessions is narrowed down by: what, when, where, by which tool and about which file."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop_agent.core.protocol.model import HitKind, SearchQuery
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.layouts import hbox
from desktop_agent.ui.widgets.picker import Picker

_KINDS: tuple[HitKind, ...] = ("prompt", "reply", "command", "output", "change", "title")
_DAYS = (1, 7, 30, 365)


class SearchFilters(QWidget):
    """A row of pickers, and a field for a file.

    Signals:
        changed: something else was picked.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = ""
        self._kind = self._picker("searchKindPicker", self.tr("What"), self.tr("Everything"))
        for kind in _KINDS:
            self._kind.addItem(self._words_for(kind), kind)
        self._when = self._picker("searchWhenPicker", self.tr("When"), self.tr("Any time"))
        for days in _DAYS:
            self._when.addItem(self._words_for_days(days), days)
        self._where = self._picker("searchFolderPicker", self.tr("Where"), self.tr("All folders"))
        self._where.addItem(self.tr("This folder"), True)
        self._tool = self._picker("searchToolPicker", self.tr("Tool"), self.tr("Any tool"))
        self.file = QLineEdit()
        """The name of a file, or a part of it."""
        self.file.setObjectName("searchFileField")
        self.file.setAccessibleName(self.tr("About a file"))
        self.file.setPlaceholderText(self.tr("File"))
        self.file.setMinimumHeight(self._kind.minimumHeight())
        hbox(self._kind, self._when, self._where, self._tool, (self.file, 1), on=self, spacing=Space.S)

    def set_workspace(self, workspace: str) -> None:
        """Offer to search the sessions of this folder (an absolute path) only."""
        self._workspace = workspace

    def set_tools(self, names: Sequence[str]) -> None:
        """Offer to search the calls of one of these tools only."""
        for name in names:
            self._tool.addItem(name, name)

    def query(self, text: str, now: datetime) -> SearchQuery:
        """Return the search for `text`, as narrow as it is now."""
        days = self._when.currentData()
        return SearchQuery(
            text=text,
            workspace=self._workspace if self._where.currentData() else "",
            since=now - timedelta(days=days) if days else None,
            file=self.file.text(),
            tool=self._tool.currentData() or "",
            kind=self._kind.currentData(),
        )

    def _picker(self, name: str, words: str, any_: str) -> Picker:
        picker = Picker(min_chars=8)
        picker.setObjectName(name)
        picker.setAccessibleName(words)
        picker.addItem(any_, None)
        picker.currentIndexChanged.connect(self.changed)
        return picker

    def _words_for(self, kind: HitKind) -> str:
        match kind:
            case "title":
                return self.tr("Titles")
            case "prompt":
                return self.tr("What I wrote")
            case "reply":
                return self.tr("Replies")
            case "command":
                return self.tr("Commands")
            case "output":
                return self.tr("Outputs")
            case "change":
                return self.tr("Changes")

    def _words_for_days(self, days: int) -> str:
        match days:
            case 1:
                return self.tr("Since yesterday")
            case 365:
                return self.tr("Last year")
            case _:
                return plural("SearchFilters", days, "Last day", "Last %n days")
