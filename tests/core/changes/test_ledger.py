"""Changes are durable before they happen, atomic, and undone without touching other work."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import StorageError, ToolError
from desktop_agent.core.changes import ledger as recording
from desktop_agent.core.changes.ledger import Ledger, LedgerWrite
from desktop_agent.core.changes.workspace_files import MEANWHILE
from desktop_agent.core.protocol.model import FileChange, FileOutcome
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system import file_writes
from desktop_agent.core.system.file_writes import ExchangeUnsupportedError, exchange, rename_to_free, write_state
from desktop_agent.core.system.files import FileState, FileTransition, read_state
from desktop_agent.core.undo.refusals import Direction
from tests.core.undo.on_record import draft_of
from tests.faulty_os import in_place_of_os, rounds


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def ledger(root: Path, tmp_path: Path) -> Ledger:
    return Ledger(root, Blobs(tmp_path / "blobs"))


def state(content: bytes, mode: int = 0o644) -> FileState:
    return FileState(content=content, mode=mode)


def record(ledger: Ledger, root: Path, path: str, after: FileState | None, identifier: str = "1.1") -> FileChange:
    transition = FileTransition(path, read_state(root / path), after)
    return ledger.record(transition, author="agent", change_id=identifier)


def undo(ledger: Ledger, *changes: FileChange) -> tuple[FileOutcome, ...]:
    return carry_out(ledger, "undo", changes)


def redo(ledger: Ledger, *changes: FileChange) -> tuple[FileOutcome, ...]:
    return carry_out(ledger, "redo", changes)


def carry_out(ledger: Ledger, direction: Direction, changes: Sequence[FileChange]) -> tuple[FileOutcome, ...]:
    draft = draft_of(ledger, direction, changes)
    written = [
        (ledger.record(write.transition, author="undo", change_id=f"9.{number}"), write)
        for number, write in enumerate(draft.writes)
    ]
    problems = ledger.apply_each([LedgerWrite(change, write.new_folders) for change, write in written])
    assert not problems
    return draft.outcomes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"a\r\nB\r\n"),
        (b"\xef\xbb\xbfbom\n", b"\xef\xbb\xbfBOM\n"),
        (b"mixed\r\nends\nno last", b"mixed\r\nends\nno LAST"),
        (b"\x00\xff\xfe binary", b"\x00\x01 other"),
        (None, b"new"),
        (b"old", None),
        (b"", b"was empty"),
    ],
)
def test_undo_and_redo_bring_back_the_exact_bytes(
    ledger: Ledger, root: Path, before: bytes | None, after: bytes | None
) -> None:  # Z-76, Z-81
    path = root / "deep" / "er" / "file"
    if before is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(before)
    change = record(ledger, root, "deep/er/file", None if after is None else state(after))
    ledger.apply([change])
    assert (path.read_bytes() if path.exists() else None) == after
    assert [outcome.state for outcome in undo(ledger, change)] == ["restored"]
    assert (path.read_bytes() if path.exists() else None) == before
    assert [outcome.state for outcome in redo(ledger, change)] == ["restored"]
    assert (path.read_bytes() if path.exists() else None) == after


WAS, MADE, THEIRS = state(b"old"), state(b"new"), state(b"the user's words")
SINCE: dict[str, tuple[FileState, FileState, FileState | None, str, FileState | None]] = {
    "a mode is set": (WAS, MADE, state(b"new", 0o600), "merged", state(b"old", 0o600)),
    "a mode that both set": (WAS, state(b"old", 0o755), state(b"old", 0o700), "conflict", state(b"old", 0o700)),
    "other words": (WAS, MADE, THEIRS, "conflict", THEIRS),
    "it is deleted": (WAS, MADE, None, "conflict", None),
    "it is put back": (WAS, MADE, WAS, "unchanged", WAS),
}


@pytest.mark.parametrize(("before", "after", "since", "outcome", "left"), SINCE.values(), ids=SINCE)
def test_what_the_person_did_to_a_file_since_is_kept_or_reported(
    ledger: Ledger,
    root: Path,
    before: FileState,
    after: FileState,
    since: FileState | None,
    outcome: str,
    left: FileState | None,
) -> None:  # Z-75
    write_state(root / "a", before)
    change = record(ledger, root, "a", after)
    ledger.apply([change])
    write_state(root / "a", since)
    [undone] = undo(ledger, change)
    assert undone.state == outcome
    assert undone.is_done or undone.reason
    assert read_state(root / "a") == left


def test_a_folder_where_the_file_was_is_a_conflict_not_a_loss(ledger: Ledger, root: Path) -> None:
    change = record(ledger, root, "a", state(b"new"))
    ledger.apply([change])
    (root / "a").unlink()
    (root / "a").mkdir()
    (root / "a" / "mine").write_bytes(b"x")
    assert [outcome.state for outcome in undo(ledger, change)] == ["conflict"]
    assert (root / "a" / "mine").read_bytes() == b"x"


def test_a_plan_made_for_another_version_of_a_file_writes_nothing_at_all(ledger: Ledger, root: Path) -> None:
    (root / "a").write_bytes(b"old a")
    (root / "b").write_bytes(b"old b")
    changes = [record(ledger, root, "a", state(b"new a"), "1.1"), record(ledger, root, "b", state(b"new b"), "1.2")]
    (root / "b").write_bytes(b"the user was here")
    with pytest.raises(ToolError, match="b changed on disk"):
        ledger.apply(changes)
    assert (root / "a").read_bytes() == b"old a"
    assert (root / "b").read_bytes() == b"the user was here"


def test_nothing_is_written_through_a_link_that_took_the_place_of_a_folder_while_somebody_was_asked(
    ledger: Ledger, root: Path, tmp_path: Path
) -> None:
    """A sandboxed command could use such a link to have a file written outside."""
    (root / "d").mkdir()
    (tmp_path / "home").mkdir()
    changes = [record(ledger, root, "a", state(b"x")), record(ledger, root, "d/.bashrc", state(b"evil"), "1.2")]
    (root / "d").rmdir()
    (root / "d").symlink_to(tmp_path / "home")
    with pytest.raises(ToolError, match="is not in the workspace any more"):
        ledger.apply(changes)
    assert list((tmp_path / "home").iterdir()) == []
    assert not (root / "a").exists()


def test_undoing_the_creation_of_several_files_removes_the_folder_that_came_with_the_first(
    ledger: Ledger, root: Path
) -> None:
    changes: list[FileChange] = []
    for number, path in enumerate(("a/b/one", "a/b/two", "a/three"), start=1):
        changes.append(record(ledger, root, path, state(b"new"), f"1.{number}"))
        ledger.apply(changes[-1:])
    assert {outcome.state for outcome in undo(ledger, *changes)} == {"restored"}
    assert list(root.iterdir()) == []
    assert {outcome.state for outcome in redo(ledger, *changes)} == {"restored"}
    assert (root / "a" / "b" / "two").read_bytes() == b"new"


def test_folders_of_a_file_that_never_came_are_swept_away(ledger: Ledger, root: Path) -> None:
    change = record(ledger, root, "new/deep/c.txt", state(b"c"))
    (root / "new/deep").mkdir(parents=True)
    ledger.sweep([change])
    assert list(root.iterdir()) == []
    (root / "new/deep").mkdir(parents=True)
    (root / "new/mine").write_bytes(b"mine")
    ledger.sweep([change])
    assert sorted(path.name for path in root.rglob("*")) == ["mine", "new"]


@pytest.mark.parametrize("is_removed", [False, True])
def test_what_somebody_writes_while_an_undo_waits_for_the_disk_is_not_overwritten(
    ledger: Ledger, root: Path, monkeypatch: pytest.MonkeyPatch, is_removed: bool
) -> None:
    (root / "a").write_bytes(b"one\n")
    change = record(ledger, root, "a", None if is_removed else state(b"two\n"))

    def write_meanwhile(*_: object) -> None:
        with (root / "a").open("ab") as file:
            file.write(b"mine\n")

    if is_removed:
        monkeypatch.setattr(ledger.images, "state", write_meanwhile)
    else:
        monkeypatch.setattr(os, "fsync", write_meanwhile)
    problems = ledger.apply_each([LedgerWrite(change)])
    monkeypatch.undo()
    assert problems == {"1.1": "It was changed at that very moment, so it was left alone."}
    assert (root / "a").read_bytes().startswith(b"one\nmine\n")


def racing(monkeypatch: pytest.MonkeyPatch, write: Callable[[], object]) -> None:
    """Let `write` run between the last check and the rename."""
    for name in ("exchange", "rename_to_free"):
        real = getattr(file_writes, name)

        def call(source: Path, target: Path, real: Callable[[Path, Path], None] = real) -> None:
            monkeypatch.setattr(file_writes, "exchange", exchange)
            monkeypatch.setattr(file_writes, "rename_to_free", rename_to_free)
            writer = threading.Thread(target=write)
            writer.start()
            writer.join()
            real(source, target)

        monkeypatch.setattr(file_writes, name, call)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges names")
@pytest.mark.parametrize("after", [b"two\n", None])
@pytest.mark.parametrize("how", ["write", "replace", "remove"])
def test_what_somebody_writes_between_the_last_check_and_the_rename_stays(
    ledger: Ledger, root: Path, monkeypatch: pytest.MonkeyPatch, after: bytes | None, how: str
) -> None:
    (root / "a").write_bytes(b"one\n")
    change = record(ledger, root, "a", None if after is None else state(after))

    def write() -> None:
        match how:
            case "write":
                (root / "a").write_bytes(b"mine\n")
            case "replace":
                (root / "b").write_bytes(b"mine\n")
                (root / "b").replace(root / "a")
            case _:
                (root / "a").unlink()

    racing(monkeypatch, write)
    problems = ledger.apply_each([LedgerWrite(change)])
    if how == "remove":
        assert list(root.iterdir()) == []
        assert problems == ({} if after is None else {"1.1": MEANWHILE})
    else:
        assert problems == {"1.1": MEANWHILE}
        assert {path.name: path.read_bytes() for path in root.iterdir()} == {"a": b"mine\n"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes a name only when it is free")
def test_a_file_that_somebody_makes_at_the_moment_of_a_creation_stays(
    ledger: Ledger, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = record(ledger, root, "a", state(b"ours\n"))
    racing(monkeypatch, lambda: (root / "a").write_bytes(b"mine\n"))
    with pytest.raises(ToolError):
        ledger.apply([change])
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"a": b"mine\n"}


def test_where_the_system_cannot_exchange_names_files_are_written_as_before(
    ledger: Ledger, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise ExchangeUnsupportedError

    monkeypatch.setattr(file_writes, "exchange", unsupported)
    monkeypatch.setattr(file_writes, "rename_to_free", unsupported)
    (root / "a").write_bytes(b"one\n")
    changes = [
        record(ledger, root, "a", state(b"two\n"), "1.1"),
        record(ledger, root, "b", state(b"new\n"), "1.2"),
    ]
    ledger.apply(changes)
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"a": b"two\n", "b": b"new\n"}
    assert not ledger.apply_each([LedgerWrite(record(ledger, root, "a", None, "1.3"))])
    assert not (root / "a").exists()


@pytest.mark.parametrize("was", ["file", "folder"])
def test_what_went_for_another_kind_that_a_kill_kept_from_coming_is_put_back(
    ledger: Ledger, root: Path, was: str
) -> None:
    folder, file = FileState(content=b"", mode=0o755, kind="folder"), state(b"precious\n")
    before, after = (file, folder) if was == "file" else (folder, file)
    change = ledger.record(FileTransition("a", before, after), author="undo", change_id="1.1")
    ledger.sweep([change])
    assert read_state(root / "a", with_special=True) == before


def test_a_folder_that_came_for_a_file_stays_when_a_kill_kept_what_is_in_it_from_coming(
    ledger: Ledger, root: Path
) -> None:
    folder = FileState(content=b"", mode=0o755, kind="folder")
    change = ledger.record(FileTransition("a", state(b"precious\n"), folder), author="undo", change_id="1.1")
    inside = FileTransition("a/inside", None, state(b"x"), new_folders=("a",))
    (root / "a").mkdir(mode=0o755)
    ledger.sweep([change, ledger.record(inside, author="undo", change_id="1.2")])
    assert ledger.files.is_at("a", change.after)


class CountedBlobs(Blobs):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.batches: list[int] = []

    def put_many(self, contents: Sequence[bytes]) -> tuple[str, ...]:
        self.batches.append(sum(map(len, contents)))
        return super().put_many(contents)


def transition(number: int) -> FileTransition:
    content = b"%d\n" % number
    return FileTransition(f"f{number}", FileState(content=content * 10), FileState(content=content * 20))


def test_many_changes_are_one_batch(tmp_path: Path) -> None:
    blobs = CountedBlobs(tmp_path / "blobs")
    with Ledger(tmp_path, blobs).recorder() as recorder:
        for number in range(300):
            recorder.add(transition(number), author="shell", change_id=f"1.{number}")
    assert len(blobs.batches) == 1
    assert [change.id for change in recorder.changes] == [f"1.{number}" for number in range(300)]
    assert all((change.added, change.removed) == (10, 0) for change in recorder.changes)
    for number, change in enumerate(recorder.changes):
        assert change.before
        assert change.after
        images = (change.before, change.after)
        assert [blobs.get(image.digest) for image in images] == [b"%d\n" % number * 10, b"%d\n" % number * 20]


def test_no_more_waits_in_memory_than_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_BATCH_BYTES", 1000)
    blobs = CountedBlobs(tmp_path / "blobs")
    with Ledger(tmp_path, blobs).recorder() as recorder:
        for number in range(100):
            recorder.add(transition(number), author="shell", change_id=f"1.{number}")
    assert len(blobs.batches) > 3
    assert max(blobs.batches) < 1100


def test_what_cannot_be_stored_is_said_when_the_block_ends(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file where the folder should be")
    recorder = Ledger(tmp_path, Blobs(tmp_path / "blobs")).recorder()
    with pytest.raises(StorageError), recorder:
        recorder.add(transition(1), author="shell", change_id="1.1")


OLD = b"old line\r\n" * 9_000
NEW = b"NEW LINE, which is longer\r\n" * 9_000


def prepare(folder: Path) -> tuple[Ledger, list[FileChange]]:
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
    """Every failure leaves bytes, modes, links and folders as they were."""
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
    """Each file is in its old or its new state, and folders exist only for their files."""
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
    """A kill at each system call of a write in place is repaired from the saved copy."""
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
