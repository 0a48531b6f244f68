"""The list of visible rows, checked by Qt's own model tester while folders open, close and change."""

from PySide6.QtCore import QPersistentModelIndex, Qt
from pytestqt.modeltest import ModelTester

from desktop_agent.core.system.git.repository import FileStatus
from desktop_agent.core.system.workspace import FolderListing
from desktop_agent.ui.files.marks import FileMarks
from desktop_agent.ui.files.model import FileTreeModel
from desktop_agent.ui.files.outline import edits_between
from tests.ui.files.rows import row_of


def put(model: FileTreeModel, path: str, *, folders: str = "", files: str = "", problem: str = "") -> None:
    folder = model.outline.find(path)
    assert folder is not None
    listing = FolderListing(folders.split(), files.split(), problem=problem)
    model.put(folder, listing, edits_between(folder, listing))


def shown(model: FileTreeModel) -> list[str]:
    return [model.outline.place(row).path for row in range(model.rowCount())]


def open_folders(model: FileTreeModel) -> list[str]:
    return [folder.path for folder in model.outline.folders()]


def small_tree() -> FileTreeModel:
    model = FileTreeModel()
    model.reset()
    put(model, "", folders="docs src", files="a b")
    model.open(row_of(model.outline, "src"))
    put(model, "src", folders="deep", files="c d")
    return model


def test_folders_open_in_place_and_ask_for_their_entries(qtmodeltester: ModelTester) -> None:
    model = FileTreeModel()
    wanted: list[str] = []
    model.wanted.connect(wanted.append)
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    model.reset()
    assert wanted == [""]
    put(model, "", folders="docs src", files="a b")
    model.toggle(1)
    assert wanted == ["", "src"]
    put(model, "src", folders="deep", files="c d")
    assert shown(model) == ["docs", "src", "src/deep", "src/c", "src/d", "a", "b"]
    assert [model.row_at(row).depth for row in range(7)] == [0, 0, 1, 1, 1, 0, 0]
    model.toggle(1)
    assert shown(model) == ["docs", "src", "a", "b"]


def test_opening_a_file_does_nothing() -> None:
    model = small_tree()
    before = shown(model)
    model.toggle(row_of(model.outline, "a"))
    assert shown(model) == before


def test_a_refresh_keeps_open_folders_and_the_current_row(qtmodeltester: ModelTester) -> None:
    model = small_tree()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    current = QPersistentModelIndex(model.index(row_of(model.outline, "src/d")))
    put(model, "", folders="assets docs src", files="b z")
    put(model, "src", folders="deep", files="b c d")
    assert shown(model) == ["assets", "docs", "src", "src/deep", "src/b", "src/c", "src/d", "b", "z"]
    assert model.outline.place(current.row()).path == "src/d"


def test_a_folder_opened_again_remembers_what_was_open_in_it(qtmodeltester: ModelTester) -> None:
    model = small_tree()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    model.open(row_of(model.outline, "src/deep"))
    put(model, "src/deep", files="x")
    model.close(row_of(model.outline, "src"))
    model.open(row_of(model.outline, "src"))
    put(model, "src", folders="deep", files="c d")
    assert open_folders(model) == ["", "src", "src/deep"]


def test_a_folder_that_comes_back_is_opened_again(qtmodeltester: ModelTester) -> None:
    model = small_tree()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    put(model, "", folders="docs", files="a b")
    assert model.outline.find("src") is None
    put(model, "", folders="docs src", files="a b")
    assert open_folders(model) == ["", "src"]


def test_parents_and_rows_are_found(qtmodeltester: ModelTester) -> None:
    model = small_tree()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    assert model.outline.parent_row(row_of(model.outline, "src/c")) == row_of(model.outline, "src")
    assert model.outline.parent_row(row_of(model.outline, "src")) == -1
    assert row_of(model.outline, "src/nothing") == -1
    assert row_of(model.outline, "docs/inside a closed folder") == -1


def test_a_folder_that_cannot_be_read_says_so_in_its_row() -> None:
    model = small_tree()
    model.open(row_of(model.outline, "docs"))
    put(model, "docs", problem="Permission denied")
    row = row_of(model.outline, "docs")
    assert model.row_at(row).problem == "Permission denied"
    assert "Permission denied" in str(model.index(row).data(Qt.ItemDataRole.ToolTipRole))


def test_a_screen_reader_hears_what_the_eye_sees() -> None:
    model = small_tree()
    model.set_marks(FileMarks({"a": FileStatus(state="modified")}, {"src": "modified"}, ["a"]))

    def heard(path: str) -> object:
        return model.index(row_of(model.outline, path)).data(Qt.ItemDataRole.AccessibleTextRole)

    assert heard("a") == "a, modified, changed by the agent"
    assert heard("src") == "src, folder, open, contains changes"
    assert heard("docs") == "docs, folder, closed"


def test_another_workspace_starts_from_nothing(qtmodeltester: ModelTester) -> None:
    model = small_tree()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    model.set_marks(FileMarks({"a": FileStatus(state="modified")}))
    model.reset()
    assert model.rowCount() == 0
    assert not model.outline.root.is_loaded
    put(model, "", folders="src", files="a")
    assert open_folders(model) == [""]
    assert model.row_at(1).mark.state is None
