"""Reading a folder: order, links, what cannot be read, and what a folder is marked with."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.system.gitrepo.states import FileState, FileStatus
from desktop_agent.core.system.workspace import (
    FolderListing,
    check_workspace,
    natural_key,
    roll_up,
    scan_directory,
    walk_files,
)

needs_permissions = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="the administrator may read everything"
)


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_text("x", encoding="utf-8")


def names(listing: FolderListing) -> list[str]:
    return [*listing.folders, *listing.files]


# --- scanning -----------------------------------------------------------------------------------------------------


def test_folders_come_first_and_numbers_count(tmp_path: Path) -> None:
    fill(tmp_path, "page10.md", "page9.md", "Page2.md", "src/", "Docs/", "b007", "b7", "b08")
    assert names(scan_directory(tmp_path)) == [
        "Docs", "src", "b007", "b7", "b08", "Page2.md", "page9.md", "page10.md",
    ]  # fmt: skip


def test_the_folders_of_version_control_are_not_listed(tmp_path: Path) -> None:
    fill(tmp_path, ".git/HEAD", ".gitignore", ".github/x")
    assert names(scan_directory(tmp_path)) == [".github", ".gitignore"]


def test_what_the_sandbox_covers_a_missing_folder_with_is_not_listed(tmp_path: Path) -> None:
    own = tmp_path / ".desktop-agent"
    own.mkdir()
    assert scan_directory(tmp_path).folders == []
    (own / "notes.md").touch()
    assert scan_directory(tmp_path).folders == [".desktop-agent"]


def test_links_are_marked_and_a_link_to_a_folder_can_be_opened(tmp_path: Path) -> None:
    fill(tmp_path, "folder/", "file")
    (tmp_path / "to folder").symlink_to("folder")
    (tmp_path / "to file").symlink_to("file")
    (tmp_path / "to nothing").symlink_to("nothing")
    (tmp_path / "to itself").symlink_to("to itself")
    assert scan_directory(tmp_path) == FolderListing(
        ["folder", "to folder"],
        ["file", "to file", "to itself", "to nothing"],
        frozenset({"to file", "to folder", "to itself", "to nothing"}),
    )


def test_a_folder_that_is_gone_is_a_listing_with_a_problem(tmp_path: Path) -> None:
    assert scan_directory(tmp_path / "gone") == FolderListing([], [], problem="No such file or directory")


@needs_permissions
def test_a_folder_that_may_not_be_read_is_a_listing_with_a_problem(tmp_path: Path) -> None:
    tmp_path.chmod(0o000)
    try:
        assert scan_directory(tmp_path) == FolderListing([], [], problem="Permission denied")
    finally:
        tmp_path.chmod(0o700)


def test_the_pieces_of_a_large_folder_are_put_together_in_order(tmp_path: Path) -> None:
    expected = [f"file{number}" for number in range(5000)]
    fill(tmp_path, *reversed(expected))
    assert names(scan_directory(tmp_path)) == expected


@given(st.lists(st.text(alphabet="aA01é\x00/9", min_size=1, max_size=6), min_size=2, max_size=6, unique=True))
def test_every_two_names_have_an_order(some_names: list[str]) -> None:
    keys = {natural_key(name) for name in some_names}
    assert len(keys) == len(some_names)


@given(st.integers(min_value=0), st.integers(min_value=0))
def test_numbers_in_names_sort_by_value(one: int, other: int) -> None:
    if one < other:
        assert natural_key(f"v{one}.txt") < natural_key(f"v{other}.txt")


# --- walking ------------------------------------------------------------------------------------------------------


def test_walking_finds_every_file_and_follows_no_link(tmp_path: Path) -> None:
    fill(tmp_path, "a", "src/b", "src/deep/c", ".git/HEAD")
    (tmp_path / "src" / "up").symlink_to("..")
    assert walk_files(tmp_path) == (["a", "src/b", "src/deep/c"], True)


def test_a_limit_cuts_off_what_lies_deepest(tmp_path: Path) -> None:
    fill(tmp_path, "z", "y/x", "y/w/v")
    assert walk_files(tmp_path, limit=2) == (["z", "y/x"], False)


# --- marks --------------------------------------------------------------------------------------------------------


def of(**states: FileState) -> dict[str, FileStatus]:
    return {path.replace("__", "/"): FileStatus(state=state) for path, state in states.items()}


def test_a_folder_carries_the_strongest_mark_of_what_is_below_it() -> None:
    files = of(
        src__new="untracked", src__deep__changed="modified", tests__new="added", lib__both="conflicted", top="added"
    )
    assert roll_up(files) == {"src": "modified", "src/deep": "modified", "tests": "added", "lib": "conflicted"}


def test_the_order_of_changes_does_not_matter() -> None:
    files = of(
        a__b__one="added", a__b__two="modified", a__c__three="conflicted", a__d__four="deleted", a__e__five="renamed"
    )
    marks = roll_up(files)
    assert roll_up(dict(reversed(files.items()))) == marks
    assert marks["a"] == "conflicted"
    assert marks["a/b"] == "modified"


def test_what_is_ignored_marks_nothing() -> None:
    assert roll_up(of(build__out="ignored")) == {}


# --- checking -----------------------------------------------------------------------------------------------------


def test_a_readable_folder_is_a_workspace(tmp_path: Path) -> None:
    check_workspace(tmp_path)


def test_a_missing_folder_and_a_file_are_refused_in_words(tmp_path: Path) -> None:
    fill(tmp_path, "file")
    with pytest.raises(WorkspaceError, match="does not exist"):
        check_workspace(tmp_path / "gone")
    with pytest.raises(WorkspaceError, match="is a file, not a folder"):
        check_workspace(tmp_path / "file")


def test_a_link_in_a_circle_is_refused_in_words_with_the_details_aside(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(WorkspaceError, match="cannot be read") as caught:
        check_workspace(tmp_path / "circle")
    assert "symbolic links" in caught.value.detail


@needs_permissions
def test_an_unreadable_folder_is_refused_in_words(tmp_path: Path) -> None:
    tmp_path.chmod(0o000)
    try:
        with pytest.raises(WorkspaceError, match="cannot be read"):
            check_workspace(tmp_path)
    finally:
        tmp_path.chmod(0o700)
