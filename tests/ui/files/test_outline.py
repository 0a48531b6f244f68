"""Rows worked out from open folders, compared with a tree that is simply written down."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.system.workspace import FolderListing, natural_key
from desktop_agent.ui.files.outline import FileOutline, Folder, OutlineRow, edits_between

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
