"""The tree of files: its open folders, and its rows for Qt."""

from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPersistentModelIndex, Qt
from pytestqt.modeltest import ModelTester

from desktop_agent.core.system.git.repository import FileStatus
from desktop_agent.core.system.workspace import FolderListing, natural_key
from desktop_agent.ui.files.file_marks import FileMarks
from desktop_agent.ui.files.file_tree_model import FileOutline, FileTreeModel, Folder, OutlineRow, edits_between
from tests.ui.files.rows import row_of

Tree = dict[str, "Tree | None"]
"""A folder's entries; None is a file."""

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


def put(outline: FileOutline, folder: Folder, tree: Tree) -> None:
    """Show a tree in an open folder, closing what is not there any more, and open all its folders."""
    edits = edits_between(folder, listing_of(tree))
    for edit in edits:
        for child in list(folder.open_folders):
            if edit.start <= child.position < edit.end:
                outline.close(child)
        outline.apply(folder, edit)
    for name, inside in tree.items():
        if inside is not None:
            position = folder.names.index(name)
            child = folder.open_at(position) or outline.open(OutlineRow(folder, position))
            put(outline, child, inside)


def written_down(tree: Tree, path: str = "") -> list[str]:
    rows: list[str] = []
    listing = listing_of(tree)
    for name in [*listing.folders, *listing.files]:
        rows.append(f"{path}{name}")
        inside = tree[name]
        if inside is not None:
            rows.extend(written_down(inside, f"{path}{name}/"))
    return rows


def shown(outline: FileOutline) -> list[str]:
    return [outline.place(row).path for row in range(len(outline))]


@given(trees)
def test_the_rows_are_those_of_the_tree(tree: Tree) -> None:
    outline = FileOutline()
    put(outline, outline.root, tree)
    assert shown(outline) == written_down(tree)


@given(trees, trees)
def test_edits_lead_from_any_tree_to_any_other(before: Tree, after: Tree) -> None:
    outline = FileOutline()
    put(outline, outline.root, before)
    put(outline, outline.root, after)
    assert shown(outline) == written_down(after)


@given(trees)
def test_row_and_place_are_each_others_inverse(tree: Tree) -> None:
    outline = FileOutline()
    put(outline, outline.root, tree)
    for row in range(len(outline)):
        place = outline.place(row)
        assert outline.row(place.folder, place.position) == row
    for folder in outline.folders():
        assert folder.folder_count == sum(OutlineRow(folder, at).is_folder for at in range(len(folder.names)))


@given(trees)
def test_closing_every_folder_leaves_the_top_level(tree: Tree) -> None:
    outline = FileOutline()
    put(outline, outline.root, tree)
    for folder in list(outline.root.open_folders):
        outline.close(folder)
    assert shown(outline) == [name for name in written_down(tree) if "/" not in name]


def test_what_stays_is_not_edited() -> None:
    outline = FileOutline()
    put(outline, outline.root, {"a": None, "b": None, "c": None, "d": None})
    edits = edits_between(outline.root, FolderListing([], ["a", "b2", "c", "d", "e"]))
    assert [(edit.start, edit.end, list(edit.names)) for edit in edits] == [(4, 4, ["e"]), (1, 2, ["b2"])]


def test_a_file_that_becomes_a_folder_moves_to_the_folders() -> None:
    outline = FileOutline()
    put(outline, outline.root, {"a": None, "b": None})
    put(outline, outline.root, {"a": None, "b": {"c": None}})
    assert shown(outline) == ["b", "b/c", "a"]


def test_nothing_changed_means_no_edit() -> None:
    outline = FileOutline()
    put(outline, outline.root, {"a": {}, "b": None})
    assert edits_between(outline.root, FolderListing(["a"], ["b"])) == []


def put_into(model: FileTreeModel, path: str, *, folders: str = "", files: str = "", problem: str = "") -> None:
    folder = model.outline.find(path)
    assert folder is not None
    listing = FolderListing(folders.split(), files.split(), problem=problem)
    model.put(folder, listing, edits_between(folder, listing))


def paths_shown(model: FileTreeModel) -> list[str]:
    return [model.outline.place(row).path for row in range(model.rowCount())]


def open_folders(model: FileTreeModel) -> list[str]:
    return [folder.path for folder in model.outline.folders()]


def small_tree() -> FileTreeModel:
    model = FileTreeModel()
    model.reset()
    put_into(model, "", folders="docs src", files="a b")
    model.open(row_of(model.outline, "src"))
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
    assert paths_shown(model) == ["docs", "src", "src/deep", "src/c", "src/d", "a", "b"]
    assert [model.row_at(row).depth for row in range(7)] == [0, 0, 1, 1, 1, 0, 0]
    model.toggle(1)
    assert paths_shown(model) == ["docs", "src", "a", "b"]


def test_opening_a_file_does_nothing() -> None:
    model = small_tree()
    before = paths_shown(model)
    model.toggle(row_of(model.outline, "a"))
    assert paths_shown(model) == before


def test_a_refresh_keeps_open_folders_and_the_current_row(qtmodeltester: ModelTester) -> None:
    model = small_tree()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    current = QPersistentModelIndex(model.index(row_of(model.outline, "src/d")))
    put_into(model, "", folders="assets docs src", files="b z")
    put_into(model, "src", folders="deep", files="b c d")
    assert paths_shown(model) == ["assets", "docs", "src", "src/deep", "src/b", "src/c", "src/d", "b", "z"]
    assert model.outline.place(current.row()).path == "src/d"


def test_a_folder_opened_again_remembers_what_was_open_in_it(qtmodeltester: ModelTester) -> None:
    model = small_tree()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    model.open(row_of(model.outline, "src/deep"))
    put_into(model, "src/deep", files="x")
    model.close(row_of(model.outline, "src"))
    model.open(row_of(model.outline, "src"))
    put_into(model, "src", folders="deep", files="c d")
    assert open_folders(model) == ["", "src", "src/deep"]


def test_a_folder_that_comes_back_is_opened_again(qtmodeltester: ModelTester) -> None:
    model = small_tree()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    put_into(model, "", folders="docs", files="a b")
    assert model.outline.find("src") is None
    put_into(model, "", folders="docs src", files="a b")
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
    put_into(model, "docs", problem="Permission denied")
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
    put_into(model, "", folders="src", files="a")
    assert open_folders(model) == [""]
    assert model.row_at(1).mark.state is None
