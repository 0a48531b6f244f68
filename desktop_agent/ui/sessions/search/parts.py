"""What is in the search panel, arranged."""

from collections.abc import Callable
from datetime import datetime

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop_agent.ui.sessions.search.filters import SearchFilters
from desktop_agent.ui.sessions.search.found_list import FoundList
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox, stack, vbox


class SearchParts:
    """The field, what narrows the search down, and the places found or why there are none."""

    def __init__(self, theme: Theme, now: Callable[[], datetime], on: QWidget) -> None:
        """Arrange them on this widget."""
        self.field = QLineEdit(on)
        self.field.setObjectName("searchField")
        self.field.setAccessibleName(_tr("Search all sessions"))
        self.field.setPlaceholderText(_tr("Search prompts, replies, commands, outputs and changes"))
        self.filters = SearchFilters(on)
        self.list = FoundList(theme, now, on)
        self.hint = make_label(role="secondary", wraps=True)
        self.hint.setContentsMargins(Space.S, Space.S, Space.S, 0)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.pages = stack(self.list, self.hint, on=on)
        self.count = make_label(role="secondary")
        self.reading = make_label(_tr("Reading what is new…"), role="secondary")
        self.reading.hide()
        foot = hbox((self.count, 1), self.reading, margins=(Space.S, 0, Space.S, 0), spacing=Space.S)
        margins = (Space.M, Space.M, Space.M, Space.S)
        vbox(self.field, self.filters, (self.pages, 1), foot, on=on, margins=margins, spacing=Space.S)


def _tr(text: str) -> str:
    return QCoreApplication.translate("SearchPanel", text)
