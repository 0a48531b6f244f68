"""A file is replaced whole or not at all, and keeps everything but its content."""

import os
import stat
from pathlib import Path

import pytest

from desktop_agent.core.system.file_writes import is_torn, write_atomically, write_state
from desktop_agent.core.system.files import FileState, read_state
from desktop_agent.core.system.staged_file import is_left_over


def test_a_new_file_gets_the_mode_the_umask_leaves(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_atomically(tmp_path / "a", b"x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_state_comes_back_exactly_for_files_links_and_absence(tmp_path: Path) -> None:
    states: dict[str, FileState | None] = {
        "plain": FileState(content=b"a\r\nb\x00\xff", mode=0o600),
        "run": FileState(content=b"#!", mode=0o755),
        "link": FileState(content=b"../elsewhere", mode=0o777, kind="symlink"),
        "gone": None,
        "deep/er/file": FileState(content=b"x"),
    }
    (tmp_path / "gone").write_bytes(b"still here")
    for name, state in states.items():
        write_state(tmp_path / name, state)
    assert {name: read_state(tmp_path / name) for name in states} == states


def test_a_link_can_become_a_file_and_back_without_touching_what_it_led_to(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"untouched")
    (tmp_path / "a").symlink_to("target")
    write_state(tmp_path / "a", FileState(content=b"own"))
    assert (tmp_path / "target").read_bytes() == b"untouched"
    write_state(tmp_path / "a", FileState(content=b"target", mode=0o777, kind="symlink"))
    assert (tmp_path / "a").readlink() == Path("target")


def test_a_folder_is_made_changed_and_removed_like_a_file(tmp_path: Path) -> None:
    path = tmp_path / "in" / "folder"
    for state in (FileState(content=b"", mode=0o750, kind="folder"), FileState(content=b"", mode=0o700, kind="folder")):
        write_state(path, state)
        assert read_state(path, with_special=True) == state
    write_state(path, None)
    assert read_state(path, with_special=True) is None


def test_a_folder_that_is_not_empty_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_bytes(b"x")
    for state in (None, FileState(content=b"file"), FileState(content=b"t", mode=0o777, kind="symlink")):
        with pytest.raises(OSError, match="not empty"):
            write_state(tmp_path / "folder", state)
    assert (tmp_path / "folder" / "mine").read_bytes() == b"x"


def test_files_and_folders_take_each_others_place(tmp_path: Path) -> None:
    folder = FileState(content=b"", mode=0o755, kind="folder")
    for state in (FileState(content=b"file"), folder, FileState(content=b"t", mode=0o777, kind="symlink"), folder):
        write_state(tmp_path / "a", state)
        assert read_state(tmp_path / "a", with_special=True) == state
    write_state(tmp_path / "a", FileState(content=b"file"))
    assert read_state(tmp_path / "a") == FileState(content=b"file")


def test_a_long_name_in_another_script_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("文" * 80)
    write_atomically(path, b"x")
    write_atomically(path, b"y")
    write_state(path, FileState(content=b"nowhere", mode=0o777, kind="symlink"))
    assert path.is_symlink()


@pytest.mark.parametrize(("before", "after"), [(b"abcdef", b"ABCDEF"), (b"ab", b"ABCDEF"), (b"abcdef", b"AB")])
def test_a_mix_of_two_states_is_told_from_somebody_elses_work(before: bytes, after: bytes) -> None:
    grown = after[len(before) :]
    for done in range(min(len(before), len(after)) + 1):
        assert is_torn(after[:done] + before[done:] + grown, before, after)
    for done in range(len(grown) + 1):
        assert is_torn(before + grown[:done], before, after)
    assert not is_torn(b"a!cdef"[: len(after)], before, after)
    assert not is_torn(max(before, after, key=len) + b"!", before, after)
    assert not is_torn(b"a", before, after)


def test_a_folder_and_a_pipe_are_not_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        read_state(tmp_path)
    with pytest.raises(OSError, match="neither a file"):
        read_state(tmp_path / "pipe")


def test_left_overs_of_a_killed_process_are_recognised(tmp_path: Path) -> None:
    assert is_left_over(tmp_path / ".pages.py.desktop-agent-0a1b2c.tmp")
    assert not is_left_over(tmp_path / "pages.py")
    assert not is_left_over(tmp_path / ".env")
