import pytest
from PySide6.QtWidgets import QApplication, QTableView
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.matching import find_matches
from desktop_agent.core.system.git.repository import FileStatus
from desktop_agent.core.system.workspace import FolderListing
from desktop_agent.ui.files.file_rows import FileRows
from desktop_agent.ui.files.file_tree_model import FileMarks, FileTreeModel, edits_between
from desktop_agent.ui.theme import Theme, ThemeChoice
from tests.ui.files.rows import row_of
from tests.ui.ink import colours_of

NAMES = FolderListing(["build", "calm", "src"], ["a.py"])
MARKS = FileMarks(
    {"build": FileStatus(state="ignored", is_folder=True), "src/a.py": FileStatus(state="modified")},
    {"src": "modified"},
    ["src/a.py", "a.py"],
)


def colours_of_row(rows: QTableView, row: int) -> set[str]:
    return colours_of(rows.viewport().grab(), rows.visualRect(rows.model().index(row, 0)))


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest, qapp: QApplication) -> Theme:
    choice: ThemeChoice = "dark" if request.param == "dark" else "light"
    theme = Theme(qapp, choice)
    theme.install()
    return theme


@pytest.fixture
def tree(theme: Theme) -> FileTreeModel:
    model = FileTreeModel()
    model.reset()
    model.put(model.root, NAMES, edits_between(model.root, NAMES))
    model.set_marks(MARKS)
    return model


@pytest.fixture
def rows(qtbot: QtBot, tree: FileTreeModel, theme: Theme) -> FileRows:
    rows = FileRows(tree, theme)
    qtbot.addWidget(rows)
    rows.resize(235, 200)
    rows.show()
    return rows


@pytest.mark.parametrize(
    ("colour", "marked"),
    [("syntax_number", {"src"}), ("accent", {"src", "a.py"}), ("faint", {"build"})],
    ids=["the letter of a change", "the diamond of what the agent touched", "dimmed as git ignores it"],
)
def test_each_mark_is_in_its_rows_and_in_no_other(
    rows: FileRows, tree: FileTreeModel, theme: Theme, colour: str, marked: set[str]
) -> None:
    seen = theme.colour(colour).name().upper()
    paths = ("build", "calm", "src", "a.py")
    assert {path for path in paths if seen in colours_of_row(rows, row_of(tree, path))} == marked


def test_the_selected_row_has_the_ground_of_a_selection(rows: FileRows, tree: FileTreeModel, theme: Theme) -> None:
    rows.select_row(1)
    assert theme.colours.accent_weak in colours_of_row(rows, 1)
    assert theme.colours.accent_weak not in colours_of_row(rows, 2)


def test_the_matched_part_is_emphasised(rows: FileRows, theme: Theme) -> None:
    paths = ["docs/very/deep/folder/that/does/not/fit/into/the/row/page.md", "page.md"]
    found = find_matches(paths, "page", limit=5)
    rows.show_matches(found)
    assert theme.colours.accent_text in colours_of_row(rows, 0)
    rows.show_matches(found._replace(best=tuple(match._replace(spans=()) for match in found.best)))
    assert theme.colours.accent_text not in colours_of_row(rows, 0)
