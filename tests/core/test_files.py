"""A file is replaced whole or not at all, and keeps everything but its content."""

import errno
import os
import stat
from pathlib import Path
from typing import IO, Any

import pytest

from desktop_agent.core import files
from desktop_agent.core.files import FileState, is_left_over, read_state, write_atomically, write_state


def test_a_new_file_gets_the_mode_the_umask_leaves(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_atomically(tmp_path / "a", b"x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(b"old")
    path.chmod(0o755)
    write_atomically(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o755)


def test_a_symlink_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_other_hard_links_see_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"long old content")
    os.link(tmp_path / "a", tmp_path / "b")
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "b").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_ino == (tmp_path / "b").stat().st_ino


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this platform has no extended attributes")
def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.setxattr(path, "user.note", b"mine")
    write_atomically(path, b"new")
    assert os.getxattr(path, "user.note") == b"mine"


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


def test_a_folder_and_a_pipe_are_not_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        read_state(tmp_path)
    with pytest.raises(OSError, match="neither a file"):
        read_state(tmp_path / "pipe")


_CALLS = ("open", "fsync", "replace", "chmod", "write")


@pytest.mark.parametrize("call", _CALLS)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_a_fault_at_any_step_leaves_the_old_content_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    fail_on(monkeypatch, call, code)
    with pytest.raises(OSError):  # noqa: PT011 - whichever of its kinds the code means
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def fail_on(monkeypatch: pytest.MonkeyPatch, call: str, code: int) -> None:
    """Make one of the steps of an atomic write fail."""

    def fail(*_args: object, **_kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    if call in ("replace", "chmod"):
        monkeypatch.setattr(Path, call, fail)
    elif call == "write":
        fdopen = os.fdopen

        def broken(descriptor: int, mode: str) -> IO[Any]:
            file = fdopen(descriptor, mode)
            monkeypatch.setattr(file, "write", fail, raising=False)
            return file

        monkeypatch.setattr(os, "fdopen", broken)
    elif call == "open" and code == errno.EACCES:
        # Refused a temporary file, an existing file is written in place instead; make that fail as well.
        monkeypatch.setattr(os, "open", fail)
        monkeypatch.setattr(Path, "open", fail)
    else:
        monkeypatch.setattr(files.os, call, fail)


def test_left_overs_of_a_killed_process_are_recognised(tmp_path: Path) -> None:
    assert is_left_over(tmp_path / ".pages.py.desktop-agent-0a1b2c.tmp")
    assert not is_left_over(tmp_path / "pages.py")
    assert not is_left_over(tmp_path / ".env")
