"""Changes are durable before they happen, applied whole, and taken back without touching other work."""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import StorageError, ToolError
from desktop_agent.core.changes.ledger import Ledger, LedgerWrite
from desktop_agent.core.changes.workspace_files import MEANWHILE
from desktop_agent.core.protocol.model import FileChange, FileOutcome
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system import file_writes
from desktop_agent.core.system.file_writes import ExchangeUnsupportedError, exchange, rename_to_free
from desktop_agent.core.system.files import FileState, FileTransition, read_state
from desktop_agent.core.undo.refusals import Direction
from tests.core.undo.on_record import draft_of


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


def test_recording_stores_both_images_and_leaves_the_file_alone(ledger: Ledger, root: Path) -> None:
    (root / "a").write_bytes(b"one\ntwo\n")
    change = record(ledger, root, "a", state(b"one\n2\n"))
    assert (root / "a").read_bytes() == b"one\ntwo\n"
    assert ledger.images.content(change.before) == b"one\ntwo\n"
    assert ledger.images.content(change.after) == b"one\n2\n"
    assert (change.kind, change.added, change.removed) == ("modified", 1, 1)


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
) -> None:
    """Z-76, Z-81."""
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


def test_undoing_a_creation_removes_the_folders_made_for_it_but_none_in_use(ledger: Ledger, root: Path) -> None:
    first = record(ledger, root, "new/deep/a", state(b"a"), "1.1")
    ledger.apply([first])
    (root / "new" / "mine").write_bytes(b"the user's")
    undo(ledger, first)
    assert sorted(path.relative_to(root).as_posix() for path in root.rglob("*")) == ["new", "new/mine"]


def test_mode_and_content_are_taken_back_together(ledger: Ledger, root: Path) -> None:
    (root / "run").write_bytes(b"old")
    (root / "run").chmod(0o644)
    change = record(ledger, root, "run", state(b"new", 0o755))
    ledger.apply([change])
    undo(ledger, change)
    assert read_state(root / "run") == state(b"old", 0o644)


def test_permissions_that_the_person_set_since_are_kept(ledger: Ledger, root: Path) -> None:
    (root / "a").write_bytes(b"old")
    change = record(ledger, root, "a", state(b"new", 0o644))
    ledger.apply([change])
    (root / "a").chmod(0o600)
    assert [outcome.state for outcome in undo(ledger, change)] == ["merged"]
    assert read_state(root / "a") == state(b"old", 0o600)


def test_permissions_that_both_changed_are_left_alone_and_reported(ledger: Ledger, root: Path) -> None:
    (root / "a").write_bytes(b"x")
    (root / "a").chmod(0o644)
    change = record(ledger, root, "a", state(b"x", 0o755))
    assert change.kind == "mode_changed"
    ledger.apply([change])
    (root / "a").chmod(0o700)
    assert [outcome.state for outcome in undo(ledger, change)] == ["conflict"]
    assert read_state(root / "a") == state(b"x", 0o700)


@pytest.mark.parametrize("since", [b"the user's words", None])
def test_a_file_the_person_changed_since_is_not_overwritten_but_reported(
    ledger: Ledger, root: Path, since: bytes | None
) -> None:
    """Z-75."""
    (root / "a").write_bytes(b"old")
    change = record(ledger, root, "a", state(b"new"))
    ledger.apply([change])
    if since is None:
        (root / "a").unlink()
    else:
        (root / "a").write_bytes(since)
    [outcome] = undo(ledger, change)
    assert (outcome.state, outcome.is_done) == ("conflict", False)
    assert outcome.reason
    assert ((root / "a").read_bytes() if since is not None else None) == since


def test_a_file_the_person_already_put_back_counts_as_undone(ledger: Ledger, root: Path) -> None:
    (root / "a").write_bytes(b"old")
    change = record(ledger, root, "a", state(b"new", 0o644))
    ledger.apply([change])
    (root / "a").write_bytes(b"old")
    assert [outcome.state for outcome in undo(ledger, change)] == ["unchanged"]


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


def test_a_write_that_fails_half_way_takes_the_others_back(
    ledger: Ledger, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"old a")
    changes = [record(ledger, root, "a", state(b"new a"), "1.1"), record(ledger, root, "x/b", state(b"b"), "1.2")]
    mkdir = os.mkdir

    def full(path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if Path(path).name == "x":
            raise OSError(28, "No space left on device")
        mkdir(path, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", full)
    with pytest.raises(ToolError, match="x/b could not be written"):
        ledger.apply(changes)
    monkeypatch.undo()
    assert (root / "a").read_bytes() == b"old a"
    assert not (root / "x").exists()


def test_a_lost_blob_is_named_and_the_file_stays(ledger: Ledger, root: Path, tmp_path: Path) -> None:
    (root / "a").write_bytes(b"old")
    change = record(ledger, root, "a", state(b"new"))
    ledger.apply([change])
    assert change.before is not None
    next((tmp_path / "blobs").rglob(f"{change.before.digest}*")).unlink()
    [outcome] = undo(ledger, change)
    assert outcome.state == "failed"
    assert (root / "a").read_bytes() == b"new"


def test_nothing_is_recorded_when_the_image_cannot_be_saved(root: Path, tmp_path: Path) -> None:
    (tmp_path / "blobs").write_bytes(b"a file is in the way")
    ledger = Ledger(root, Blobs(tmp_path / "blobs"))
    with pytest.raises(StorageError):
        record(ledger, root, "a", state(b"new"))


def test_a_preview_says_what_would_happen_and_does_nothing(ledger: Ledger, root: Path) -> None:
    (root / "a").write_bytes(b"old")
    change = record(ledger, root, "a", state(b"new"))
    ledger.apply([change])
    [outcome] = draft_of(ledger, "undo", [change]).outcomes()
    assert outcome.state == "restored"
    assert (root / "a").read_bytes() == b"new"


def test_an_undo_never_follows_a_link_that_took_the_place_of_a_folder_out_of_the_workspace(
    ledger: Ledger, root: Path, tmp_path: Path
) -> None:
    (root / "d").mkdir()
    change = record(ledger, root, "d/f", state(b"new"))
    ledger.apply([change])
    (root / "d").rename(tmp_path / "outside")
    (root / "d").symlink_to(tmp_path / "outside")
    [outcome] = undo(ledger, change)
    assert (outcome.state, "folder" in outcome.reason) == ("conflict", True)
    assert (tmp_path / "outside" / "f").read_bytes() == b"new"


def test_nothing_is_written_through_a_link_that_took_the_place_of_a_folder_while_somebody_was_asked(
    ledger: Ledger, root: Path, tmp_path: Path
) -> None:
    """A background command in the sandbox may do that, to have a file written where it may not write itself."""
    (root / "d").mkdir()
    (tmp_path / "home").mkdir()
    changes = [record(ledger, root, "a", state(b"x")), record(ledger, root, "d/.bashrc", state(b"evil"), "1.2")]
    (root / "d").rmdir()
    (root / "d").symlink_to(tmp_path / "home")
    with pytest.raises(ToolError, match="does not lie in the workspace any more"):
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
    assert problems == {"1.1": "It was changed at this very moment; that version was left alone."}
    assert (root / "a").read_bytes().startswith(b"one\nmine\n")


def test_what_somebody_writes_while_an_edit_waits_for_the_disk_is_not_overwritten(
    ledger: Ledger, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"one\n")
    change = record(ledger, root, "a", state(b"two\n"))

    def write_meanwhile(*_: object) -> None:
        (root / "a").write_bytes(b"mine\n")

    monkeypatch.setattr(os, "fsync", write_meanwhile)
    with pytest.raises(ToolError):
        ledger.apply([change])
    assert (root / "a").read_bytes() == b"mine\n"


def racing(monkeypatch: pytest.MonkeyPatch, write: Callable[[], object]) -> None:
    """Let a program `write` after the last check and before the rename: a barrier in front of the system's own call."""
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
