import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPersistentModelIndex, Qt
from pytestqt.modeltest import ModelTester

from desktop_agent.core.system.git.repository import FileStatus
from desktop_agent.core.system.workspace import FolderListing, natural_key
from desktop_agent.ui.files.file_tree_model import FileMarks, FileTreeModel, Folder, TreePlace, edits_between
from tests.ui.files.rows import row_of

Tree = dict[str, "Tree | None"]

names = st.text(alphabet="abC019", min_size=1, max_size=3)
trees: st.SearchStrategy[Tree] = st.recursive(
    st.dictionaries(names, st.none(), max_size=6),
    lambda inner: st.dictionaries(names, st.none() | inner, max_size=6),
    max_leaves=20,
)


def listing_of(tree: Tree) -> FolderListing:
    folders = sorted((name for name, inside in tree.items() if inside is not None), key=natural_key)
    files = sorted((name for name, inside in tree.items() if inside is None), key=natural_key)
    return FolderListing(folders, files)


def show(tree: Tree, model: FileTreeModel | None = None, folder: Folder | None = None) -> FileTreeModel:
    model = model or FileTreeModel()
    folder = folder or model.root
    listing = listing_of(tree)
    model.put(folder, listing, edits_between(folder, listing))
    for name, inside in tree.items():
        if inside is not None:
            position = folder.names.index(name)
            model.open(folder.row(position))
            child = folder.open_at(position)
            assert child is not None
            show(inside, model, child)
    return model


def written_down(tree: Tree, path: str = "") -> list[str]:
    rows: list[str] = []
    listing = listing_of(tree)
    for name in [*listing.folders, *listing.files]:
        rows.append(f"{path}{name}")
        inside = tree[name]
        if inside is not None:
            rows.extend(written_down(inside, f"{path}{name}/"))
    return rows


def shown(model: FileTreeModel) -> list[str]:
    return [model.place(row).path for row in range(model.rowCount())]


@given(trees, trees)
def test_any_tree_is_shown_in_place_of_any_other(before: Tree, after: Tree) -> None:
    model = show(before)
    assert shown(model) == written_down(before)
    assert shown(show(after, model)) == written_down(after)


@given(trees)
def test_rows_and_places_correspond_and_closing_leaves_the_top_level(tree: Tree) -> None:
    model = show(tree)
    for row in range(model.rowCount()):
        folder, position = model.place(row)
        assert folder.row(position) == row
    for folder in model.folders():
        assert folder.folder_count == sum(TreePlace(folder, at).is_folder for at in range(len(folder.names)))
    for folder in list(model.root.open_folders):
        model.close(model.root.row(folder.position))
    assert shown(model) == [name for name in written_down(tree) if "/" not in name]


EDITS: dict[str, tuple[Tree, list[str], list[str], list[tuple[int, int, list[str]]]]] = {
    "what stays is not edited": (
        *(dict.fromkeys("abcd"), [], ["a", "b2", "c", "d", "e"]),
        [(4, 4, ["e"]), (1, 2, ["b2"])],
    ),
    "a file becomes a folder": (dict.fromkeys("ab"), ["b"], ["a"], [(1, 2, []), (0, 0, ["b"])]),
    "nothing changed": ({"a": {}, "b": None}, ["a"], ["b"], []),
}


@pytest.mark.parametrize(("before", "folders", "files", "edits"), EDITS.values(), ids=EDITS)
def test_edits_are_no_more_than_what_differs(
    before: Tree, folders: list[str], files: list[str], edits: list[tuple[int, int, list[str]]]
) -> None:
    found = edits_between(show(before).root, FolderListing(folders, files))
    assert [(edit.start, edit.end, list(edit.names)) for edit in found] == edits


def put_into(model: FileTreeModel, path: str, *, folders: str = "", files: str = "", problem: str = "") -> None:
    folder = model.find(path)
    assert folder is not None
    listing = FolderListing(folders.split(), files.split(), problem=problem)
    model.put(folder, listing, edits_between(folder, listing))


def open_folders(model: FileTreeModel) -> list[str]:
    return [folder.path for folder in model.folders()]


@pytest.fixture
def model(qtmodeltester: ModelTester) -> FileTreeModel:
    """A small tree that keeps the rules of models."""
    model = FileTreeModel()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    model.reset()
    put_into(model, "", folders="docs src", files="a b")
    model.open(row_of(model, "src"))
    put_into(model, "src", folders="deep", files="c d")
    return model


def test_folders_open_in_place_and_ask_for_their_entries(qtmodeltester: ModelTester) -> None:
    model = FileTreeModel()
    wanted: list[str] = []
    model.wanted.connect(wanted.append)
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    model.reset()
    assert wanted == [""]
    put_into(model, "", folders="docs src", files="a b")
    model.toggle(1)
    assert wanted == ["", "src"]
    put_into(model, "src", folders="deep", files="c d")
    assert shown(model) == ["docs", "src", "src/deep", "src/c", "src/d", "a", "b"]
    assert [model.row_at(row).depth for row in range(7)] == [0, 0, 1, 1, 1, 0, 0]
    model.toggle(row_of(model, "a"))
    assert len(shown(model)) == 7, "a file is no folder"
    model.toggle(1)
    assert shown(model) == ["docs", "src", "a", "b"]


def test_a_refresh_keeps_open_folders_and_the_current_row(model: FileTreeModel) -> None:
    current = QPersistentModelIndex(model.index(row_of(model, "src/d")))
    put_into(model, "", folders="assets docs src", files="b z")
    put_into(model, "src", folders="deep", files="b c d")
    assert shown(model) == ["assets", "docs", "src", "src/deep", "src/b", "src/c", "src/d", "b", "z"]
    assert model.place(current.row()).path == "src/d"


def test_a_folder_that_is_opened_again_or_comes_back_remembers_what_was_open_in_it(model: FileTreeModel) -> None:
    model.open(row_of(model, "src/deep"))
    put_into(model, "src/deep", files="x")
    model.close(row_of(model, "src"))
    model.open(row_of(model, "src"))
    put_into(model, "src", folders="deep", files="c d")
    assert open_folders(model) == ["", "src", "src/deep"]
    put_into(model, "", folders="docs", files="a b")
    assert model.find("src") is None
    put_into(model, "", folders="docs src", files="a b")
    assert open_folders(model) == ["", "src"]


def test_parents_and_rows_are_found(model: FileTreeModel) -> None:
    assert model.parent_row(row_of(model, "src/c")) == row_of(model, "src")
    assert model.parent_row(row_of(model, "src")) == -1
    assert row_of(model, "src/nothing") == -1
    assert row_of(model, "docs/inside a closed folder") == -1


def test_a_folder_that_cannot_be_read_says_so_in_its_row(model: FileTreeModel) -> None:
    model.open(row_of(model, "docs"))
    put_into(model, "docs", problem="Permission denied")
    row = row_of(model, "docs")
    assert model.row_at(row).problem == "Permission denied"
    assert "Permission denied" in str(model.index(row).data(Qt.ItemDataRole.ToolTipRole))


def test_another_workspace_starts_from_nothing(model: FileTreeModel) -> None:
    model.set_marks(FileMarks({"a": FileStatus(state="modified")}))
    model.reset()
    assert model.rowCount() == 0
    assert not model.root.is_loaded
    put_into(model, "", folders="src", files="a")
    assert open_folders(model) == [""]
    assert model.row_at(1).mark.state is None
