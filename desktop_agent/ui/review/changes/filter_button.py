"""The button beside the baseline: whose changes are listed, and in which state."""

from typing import cast, get_args

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QPushButton

from desktop_agent.ui.review.changes.filters import AuthorFilter, FileFilter, StateFilter


class FilterButton(QPushButton):
    """Says what is listed, and opens a menu to choose something else.

    Signals:
        changed: another author or state was chosen; ask `chosen`.
        text_requested: the user wants to filter by the path.
    """

    changed = Signal()
    text_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("reviewFilterButton")
        self.setProperty("variant", "flat")
        self._chosen = FileFilter()
        self._menu = QMenu(self)
        self._authors = self._group({
            "": self.tr("Everyone"),
            "agent": self.tr("Agent"),
            "shell": self.tr("Shell"),
            "mcp": self.tr("MCP"),
            "person": self.tr("Me"),
            "unknown": self.tr("A server, or me"),
        })  # fmt: skip
        self._menu.addSeparator()
        self._states = self._group({
            "": self.tr("In any state"),
            "undecided": self.tr("Undecided"),
            "kept": self.tr("Kept"),
            "undone": self.tr("Undone"),
            "conflict": self.tr("In conflict"),
        })  # fmt: skip
        self._menu.addSeparator()
        self._menu.addAction(self.tr("Filter by path…")).triggered.connect(self.text_requested)
        self.setMenu(self._menu)
        self._show()

    @property
    def chosen(self) -> FileFilter:
        """The author and the state that were chosen; the text of the filter is not the button's."""
        return self._chosen

    def set_has_authors(self, *, has_authors: bool) -> None:
        """Whether the authors of the changes are known; git does not know them."""
        for action in self._authors.actions()[1:]:
            action.setEnabled(has_authors)
        if not has_authors and self._chosen.author:
            self._authors.actions()[0].trigger()

    def clear(self) -> None:
        """List everything again."""
        for group in (self._authors, self._states):
            group.actions()[0].setChecked(True)
        self._on_chosen()

    def _group(self, words: dict[str, str]) -> QActionGroup:
        group = QActionGroup(self)
        for value, text in words.items():
            action = QAction(text, group)
            action.setData(value)
            action.setCheckable(True)
            action.setChecked(not value)
            self._menu.addAction(action)
        group.triggered.connect(self._on_chosen)
        return group

    def _on_chosen(self) -> None:
        author, state = _value(self._authors), _value(self._states)
        assert author in get_args(AuthorFilter)
        assert state in get_args(StateFilter)
        chosen = FileFilter(cast("AuthorFilter", author), cast("StateFilter", state))
        if chosen != self._chosen:
            self._chosen = chosen
            self._show()
            self.changed.emit()

    def _show(self) -> None:
        author, state = self._authors.checkedAction(), self._states.checkedAction()
        words = [author.text()] if self._chosen.author or not self._chosen.state else []
        words += [state.text()] if self._chosen.state else []
        text = ", ".join(words)
        self.setText(f"{text} ▾")
        self.setAccessibleName(self.tr("Files listed: {0}").format(text))


def _value(group: QActionGroup) -> str:
    return str(group.checkedAction().data())
