"""Whatever fails or dies while changes are applied: all files are as they were, or all are as they should be."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.changes.ledger import Ledger, LedgerWrite
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import FileState, FileTransition, read_state
from tests.faulty_os import in_place_of_os, rounds

OLD = b"old line\r\n" * 9_000
NEW = b"NEW LINE, which is longer\r\n" * 9_000


def prepare(folder: Path) -> tuple[Ledger, list[FileChange]]:
    """A change of a file, of one with two names, of a link, a file in a new folder, and a deletion."""
    root = folder / "work"
    root.mkdir()
    (root / "plain").write_bytes(b"old")
    (root / "twice").write_bytes(OLD)
    os.link(root / "twice", root / "other-name")
    (root / "link").symlink_to("plain")
    (root / "gone").write_bytes(b"old")
    (root / "gone").chmod(0o751)
    ledger = Ledger(root, Blobs(folder / "blobs"))
    after = {
        "plain": FileState(content=b"new", mode=0o755),
        "twice": FileState(content=NEW),
        "link": FileState(content=b"elsewhere", mode=0o777, kind="symlink"),
        "new/folder/file": FileState(content=b"new"),
        "gone": None,
    }
    changes = [
        ledger.record(FileTransition(path, read_state(root / path), state), author="agent", change_id=f"1.{number}")
        for number, (path, state) in enumerate(after.items())
    ]
    return ledger, changes


def everything(root: Path) -> dict[str, FileState | None]:
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*")}
    return {name: None if path.is_dir() and not path.is_symlink() else read_state(path) for name, path in found.items()}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES], ids=os.strerror)
def test_several_files_are_changed_all_or_none(tmp_path: Path, code: int) -> None:
    """Every failure leaves files as they were: bytes, modes, links, and no folder that was not there."""
    for faulty, folder in rounds(tmp_path, code=code):
        ledger, changes = prepare(folder)
        before = everything(folder / "work")
        try:
            with in_place_of_os(faulty):
                ledger.apply(changes)
        except ToolError:
            assert everything(folder / "work") == before, faulty.failed
        else:
            assert all(ledger.files.is_at(change.path, change.after) for change in changes)
            assert (folder / "work/other-name").read_bytes() == NEW


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES], ids=os.strerror)
def test_of_an_undo_that_fails_no_folder_is_left(tmp_path: Path, code: int) -> None:
    """Each file is as it was or as it should be, and folders stand only where files in them do."""
    for faulty, folder in rounds(tmp_path, code=code):
        ledger, changes = prepare(folder)
        with in_place_of_os(faulty):
            problems = ledger.apply_each([LedgerWrite(change) for change in changes])
        for change in changes:
            left = change.before if change.id in problems else change.after
            assert ledger.files.is_at(change.path, left), faulty.failed
        assert (folder / "work/new").exists() == (folder / "work/new/folder/file").exists(), faulty.failed


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES], ids=os.strerror)
def test_the_content_of_a_file_that_moves_is_at_one_of_its_names_whatever_fails(tmp_path: Path, code: int) -> None:
    for faulty, folder in rounds(tmp_path, code=code):
        root = folder / "work"
        root.mkdir()
        (root / "old").write_bytes(b"the user's line")
        ledger = Ledger(root, Blobs(folder / "blobs"))
        state = read_state(root / "old")
        moves = (FileTransition("old", state, None), FileTransition("folder/new", None, state))
        old, new = (ledger.record(move, author="undo", change_id=f"1.{n}") for n, move in enumerate(moves))
        with in_place_of_os(faulty):
            problems = ledger.apply_each([LedgerWrite(old, moves_to="folder/new"), LedgerWrite(new)])
        for change in (old, new):
            assert ledger.files.is_at(change.path, change.before if change.id in problems else change.after), (
                faulty.failed
            )
        assert ledger.files.is_at("old", old.before) or ledger.files.is_at("folder/new", new.after), faulty.failed


DYING = """
import os, sys
from pathlib import Path
from desktop_agent.core.system import file_writes, staged_file

class Dying:
    left = int(sys.argv[2])
    def __getattr__(self, name):
        real = getattr(os, name)
        if name not in ("open", "write", "ftruncate", "fsync", "fchmod", "lseek"):
            return real
        def call(*args):
            self.left -= 1
            if self.left == 0:
                if name == "write":
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                os._exit(9)
            return real(*args)
        return call

content = Path(sys.argv[3]).read_bytes()
file_writes.os = staged_file.os = Dying()
file_writes.write_atomically(Path(sys.argv[1]), content)
"""


@pytest.mark.parametrize("size", ["longer", "shorter"])
def test_a_file_with_two_names_that_a_kill_tore_is_mended(tmp_path: Path, size: str) -> None:
    """Killed at each system call of a write in place, and put right by what was written down before."""
    before, after = (OLD, NEW) if size == "longer" else (NEW, OLD[:5000])
    (tmp_path / "content").write_bytes(after)
    torn = 0
    for nth in range(1, 50):
        root = tmp_path / f"{nth}"
        root.mkdir()
        (root / "a").write_bytes(before)
        os.link(root / "a", root / "b")
        ledger = Ledger(root, Blobs(tmp_path / "blobs"))
        state = FileState(content=after, mode=(root / "a").stat().st_mode & 0o777)
        change = ledger.record(FileTransition("a", read_state(root / "a"), state), author="agent", change_id="1.1")
        argv = [sys.executable, "-c", DYING, str(root / "a"), str(nth), str(tmp_path / "content")]
        code = subprocess.call(argv)
        torn += (root / "a").read_bytes() not in (before, after)
        ledger.sweep([change])
        content = (root / "a").read_bytes()
        assert content in (before, after)
        assert content == (root / "b").read_bytes()
        assert [path.name for path in sorted(root.iterdir())] == ["a", "b"]
        if code == 0:
            assert content == after
            break
    assert torn >= 2


def test_a_file_that_somebody_changed_after_the_kill_is_left_alone(tmp_path: Path) -> None:
    ledger, changes = prepare(tmp_path)
    (tmp_path / "work/twice").write_bytes(b"mine")
    (tmp_path / "work/plain").write_bytes(b"also mine, and longer")
    (tmp_path / "work" / ".desktop-agent-0a1b2c.tmp").write_bytes(b"left over")
    ledger.sweep(changes)
    assert (tmp_path / "work/twice").read_bytes() == b"mine"
    assert (tmp_path / "work/plain").read_bytes() == b"also mine, and longer"
    assert not (tmp_path / "work" / ".desktop-agent-0a1b2c.tmp").exists()


def test_a_torn_file_whose_old_content_is_lost_is_left_as_it_is(tmp_path: Path) -> None:
    ledger, changes = prepare(tmp_path)
    torn = NEW[:100] + OLD[100:]
    (tmp_path / "work/twice").write_bytes(torn)
    for blob in (tmp_path / "blobs").rglob("*"):
        if blob.is_file():
            blob.unlink()
    ledger.sweep(changes)
    assert (tmp_path / "work/twice").read_bytes() == torn
