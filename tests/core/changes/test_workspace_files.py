"""A file is written at its place in the workspace, whatever is replaced meanwhile."""

import sys
from pathlib import Path

import pytest

from desktop_agent.core.changes.workspace_files import anchored
from desktop_agent.core.system.file_writes import write_state
from desktop_agent.core.system.files import FileState

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs handles of folders with a name")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws" / "d").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    return tmp_path / "ws"


@pytest.mark.parametrize("path", ["d/f", "d/new/deeper/f"])
def test_a_link_in_place_of_a_folder_does_not_lead_out_of_the_workspace(root: Path, path: str) -> None:
    with anchored(root, path, makes_folders=True) as place:
        (root / "d").rename(root / "moved")
        (root / "d").symlink_to(root.parent / "outside")
        write_state(place, FileState(content=b"x"))
    assert list((root.parent / "outside").iterdir()) == []
    assert (root / "moved" / Path(path).relative_to("d")).read_bytes() == b"x"


def test_a_folder_that_is_a_link_already_is_not_entered(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    for path in ("link/f", "link/new/f"):
        with pytest.raises(OSError, match="Not a directory"), anchored(root, path, makes_folders=True):
            pass
    assert list((root.parent / "outside").iterdir()) == []


def test_a_link_in_place_of_the_file_is_replaced_and_not_followed(root: Path) -> None:
    theirs = root.parent / "outside" / "theirs"
    theirs.write_text("theirs")
    theirs.with_name("other-name").hardlink_to(theirs)
    with anchored(root, "d/f", makes_folders=True) as place:
        (root / "d" / "f").symlink_to(theirs)
        write_state(place, FileState(content=b"x"))
    assert theirs.read_text() == "theirs"
    assert (root / "d" / "f").read_text() == "x"


def test_a_missing_folder_is_made_only_when_that_is_wanted(root: Path) -> None:
    with pytest.raises(FileNotFoundError), anchored(root, "x/f", makes_folders=False):
        pass
    assert not (root / "x").exists()
