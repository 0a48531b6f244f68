"""What a row looks like, by the pixels that carry a meaning."""

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QTableView
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.matching import find_matches
from desktop_agent.core.system.git.repository import FileStatus
from desktop_agent.core.system.workspace import FolderListing
from desktop_agent.ui.files.file_marks import FileMarks
from desktop_agent.ui.files.file_rows import FileRows, MatchDelegate, MatchesModel, TreeDelegate
from desktop_agent.ui.files.file_tree_model import FileTreeModel, edits_between
from desktop_agent.ui.theme import Theme, ThemeChoice
from tests.ui.files.rows import row_of

NAMES = FolderListing(["build", "calm", "src"], ["a.py"])
MARKS = FileMarks(
    {"build": FileStatus(state="ignored", is_folder=True), "src/a.py": FileStatus(state="modified")},
    {"src": "modified"},
    ["src/a.py", "a.py"],
)


def colours_of_row(rows: QTableView, row: int) -> set[str]:
    picture: QImage = rows.viewport().grab().toImage()
    rect = rows.visualRect(rows.model().index(row, 0))
    pixels = (
        picture.pixelColor(x, y) for x in range(rect.left(), rect.right()) for y in range(rect.top(), rect.bottom())
    )
    return {pixel.name().upper() for pixel in pixels}


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest, qapp: QApplication) -> Theme:
    choice: ThemeChoice = "dark" if request.param == "dark" else "light"
    theme = Theme(qapp, choice)
    theme.install()
    return theme


@pytest.fixture
def rows(qtbot: QtBot) -> FileRows:
    rows = FileRows()
    qtbot.addWidget(rows)
    rows.resize(235, 200)
    return rows


@pytest.fixture
def tree(rows: FileRows, theme: Theme) -> FileTreeModel:
    model = FileTreeModel(rows)
    model.reset()
    folder = model.outline.find("")
    assert folder is not None
    model.put(folder, NAMES, edits_between(folder, NAMES))
    model.set_marks(MARKS)
    rows.setModel(model)
    rows.setItemDelegate(TreeDelegate(model, theme, rows.ring, rows))
    rows.show()
    return model


def test_a_folder_with_changes_has_their_letter_and_one_without_has_none(
    rows: FileRows, tree: FileTreeModel, theme: Theme
) -> None:
    letter = theme.colours.syntax_number.upper()
    assert letter in colours_of_row(rows, row_of(tree.outline, "src"))
    assert letter not in colours_of_row(rows, row_of(tree.outline, "calm"))


def test_what_the_agent_touched_has_a_diamond_in_the_accent_colour(
    rows: FileRows, tree: FileTreeModel, theme: Theme
) -> None:
    for path, is_touched in (("src", True), ("a.py", True), ("calm", False)):
        assert (theme.colours.accent.upper() in colours_of_row(rows, row_of(tree.outline, path))) == is_touched


def test_what_git_ignores_is_dimmed(rows: FileRows, tree: FileTreeModel, theme: Theme) -> None:
    assert theme.colours.faint.upper() in colours_of_row(rows, row_of(tree.outline, "build"))
    assert theme.colours.faint.upper() not in colours_of_row(rows, row_of(tree.outline, "calm"))


def test_the_selected_row_has_the_ground_of_a_selection(rows: FileRows, tree: FileTreeModel, theme: Theme) -> None:
    rows.select_row(1)
    assert theme.colours.accent_weak.upper() in colours_of_row(rows, 1)
    assert theme.colours.accent_weak.upper() not in colours_of_row(rows, 2)


def test_the_matched_part_is_emphasised(rows: FileRows, theme: Theme) -> None:
    model = MatchesModel(rows)
    paths = ["docs/very/deep/folder/that/does/not/fit/into/the/row/page.md", "page.md"]
    rows.setModel(model)
    rows.setItemDelegate(MatchDelegate(model, theme, rows.ring, rows))
    rows.show()
    model.show(find_matches(paths, "page", limit=5).best)
    assert theme.colours.accent_text.upper() in colours_of_row(rows, 0)
    model.show([match._replace(spans=()) for match in find_matches(paths, "page", limit=5).best])
    assert theme.colours.accent_text.upper() not in colours_of_row(rows, 0)
