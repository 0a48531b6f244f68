"""What the list shows: the tree, or the matches of the filter; and what is known of each row."""

from PySide6.QtCore import QObject

from desktop_agent.core.base.matching import Matches
from desktop_agent.ui.files.drawing import TreeDelegate
from desktop_agent.ui.files.match_drawing import MatchDelegate
from desktop_agent.ui.files.matches_model import MatchesModel
from desktop_agent.ui.files.model import FileTreeModel
from desktop_agent.ui.files.view import FileRows
from desktop_agent.ui.theme import Theme


class ShownRows(QObject):
    """Switches a list between the tree and the matches, and moves through the tree. Rows count from 0."""

    def __init__(self, tree: FileTreeModel, rows: FileRows, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._tree = tree
        self._rows = rows
        self._theme = theme
        self._tree_delegate = TreeDelegate(tree, theme, rows.ring, self)
        self._matches: tuple[MatchesModel, MatchDelegate] | None = None
        self.is_filtering = False
        """Whether the matches are shown."""
        rows.setModel(tree)
        rows.setItemDelegate(self._tree_delegate)

    def path_at(self, row: int) -> str:
        """Return the path of a row, relative to the workspace, with `/`."""
        if self.is_filtering and self._matches is not None:
            return self._matches[0].match_at(row).text
        return self._tree.outline.place(row).path

    def is_folder(self, row: int) -> bool:
        """Whether a row is a folder. Matches are files."""
        return not self.is_filtering and self._tree.row_at(row).is_dir

    def is_open_folder(self, row: int) -> bool:
        """Whether a row is a folder whose entries are shown."""
        return self.is_folder(row) and self._tree.row_at(row).is_open

    def is_touched_file(self, row: int) -> bool:
        """Whether a row is a file that the agent changed in this session."""
        return not self.is_folder(row) and self._tree.marks.of(self.path_at(row), is_dir=False).is_touched

    def toggle(self, row: int) -> None:
        """Open or close a folder of the tree."""
        if not self.is_filtering:
            self._tree.toggle(row)

    def step_in(self) -> None:
        """Open the current folder, or go to the first entry of an open one."""
        row = self._rows.row
        if not self.is_filtering and row >= 0:
            shown = self._tree.row_at(row)
            if shown.is_open and self._tree.outline.parent_row(min(row + 1, self._tree.rowCount() - 1)) == row:
                self._rows.select_row(row + 1)
            elif shown.is_dir:
                self._tree.open(row)

    def step_out(self) -> None:
        """Close the current folder, or go to the one that holds the current entry."""
        row = self._rows.row
        if not self.is_filtering and row >= 0:
            if self._tree.row_at(row).is_open:
                self._tree.close(row)
            elif (parent := self._tree.outline.parent_row(row)) >= 0:
                self._rows.select_row(parent)

    def show_matches(self, matches: Matches) -> None:
        """Show these files instead of the tree."""
        if self._matches is None:
            self._matches = self._make_matches()
        model, delegate = self._matches
        model.show(matches.best, self._tree.marks)
        if not self.is_filtering:
            self.is_filtering = True
            self._rows.setModel(model)
            self._rows.setItemDelegate(delegate)

    def show_tree(self) -> None:
        """Show the tree again, as it was left."""
        if self.is_filtering:
            self.is_filtering = False
            self._rows.setModel(self._tree)
            self._rows.setItemDelegate(self._tree_delegate)

    def _make_matches(self) -> tuple[MatchesModel, MatchDelegate]:
        # Made when the user filters for the first time: the window's first paint does not wait for it.

        model = MatchesModel(self)
        return model, MatchDelegate(model, self._theme, self._rows.ring, self)
