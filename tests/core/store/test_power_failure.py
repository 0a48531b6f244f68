"""Stored blobs survive a power failure, whatever was not yet synced."""

import os
import random
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal, cast

import pytest

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.collect import GRACE, Collected, collect, report_storage
from desktop_agent.core.system.files import FileState, FileTransition, digest_of
from desktop_agent.core.system.staged_file import is_left_over
from tests.faulty_os import in_place_of_os

TEXT = b"def kept(value):\n    return value\n" * 200
NOISE = random.Random(7).randbytes(5000)
VERSIONS = [b"# %d\n" % number + TEXT for number in range(6)]

Loss = Literal["all that was not synced", "contents that were not synced", "old names beside new ones"]
LOSSES: list[Loss] = ["all that was not synced", "contents that were not synced", "old names beside new ones"]


@dataclass
class ForgetfulDisk:
    """Records what an `fsync` made durable: names by a sync of the folder, contents by one of the file.

    It carries out every call of `core.system`. A sync keeps the state from when it began.
    """

    folder: Path
    names: dict[str, int] = field(default_factory=dict[str, int])
    """The file of each name at the folder's last sync."""
    contents: dict[int, bytes] = field(default_factory=dict[int, bytes])
    """The content of each file at its last sync."""
    replace: Callable[[Path, Path], None] = os.replace
    fsync: Callable[[int], None] = os.fsync

    def __post_init__(self) -> None:
        self.fsync = self._remembered

    def _remembered(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        names = self._names_now()
        content = path.read_bytes() if path.parent == self.folder else b""
        os.fsync(descriptor)
        if path == self.folder:
            self.names = names
        else:
            self.contents[status.st_ino] = content

    def __getattr__(self, name: str) -> object:
        return cast("object", getattr(os, name))

    def lose_power(self, target: Path, loss: Loss) -> Blobs:
        """Make `target` a possible state of the folder after a power failure, and open it."""
        now = self._names_now()
        left = {
            "all that was not synced": self.names,
            "contents that were not synced": now,
            "old names beside new ones": {**self.names, **now},
        }[loss]
        target.mkdir()
        for name, number in left.items():
            (target / name).write_bytes(self.contents.get(number, b""))
        return Blobs(target)

    def _names_now(self) -> dict[str, int]:
        return {path.name: path.stat().st_ino for path in self.folder.iterdir()}


@contextmanager
def watched(folder: Path) -> Generator[ForgetfulDisk]:
    folder.mkdir(parents=True)
    disk = ForgetfulDisk(folder)
    with in_place_of_os(disk):
        yield disk


pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the disk is watched by way of /proc")


@pytest.mark.parametrize("loss", LOSSES)
def test_what_was_put_is_there_after_the_power_failed(tmp_path: Path, loss: Loss) -> None:
    with watched(tmp_path / "blobs") as disk:
        blobs = Blobs(disk.folder)
        for number, contents in enumerate([[TEXT, NOISE], [NOISE, b"tiny"], [b""], VERSIONS, [TEXT]]):
            digests = blobs.put_many(contents)
            after = disk.lose_power(tmp_path / f"after {number}", loss)
            assert [after.get(digest) for digest in digests] == contents
            assert [b"".join(after.blocks(digest)) for digest in digests] == contents
            assert all(map(after.has, digests))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_file_of_before_an_edit_comes_back_though_the_power_failed_at_its_first_byte(
    tmp_path: Path, loss: Loss
) -> None:
    with watched(tmp_path / "blobs") as disk:
        ledger = Ledger(tmp_path, Blobs(disk.folder))
        for number, (before, after) in enumerate(pairwise(VERSIONS)):
            states = FileState(content=before), FileState(content=after)
            change = ledger.record(FileTransition("a.py", *states), author="agent", change_id="1.1")
            later = Ledger(tmp_path, disk.lose_power(tmp_path / f"after {number}", loss))
            assert (later.images.state(change.before), later.images.state(change.after)) == states


@pytest.mark.parametrize("loss", LOSSES)
def test_a_name_comes_last_and_its_content_is_found_before(tmp_path: Path, loss: Loss) -> None:
    with watched(tmp_path / "blobs") as disk:
        named: list[int] = []
        real = os.replace

        def lose_power_first(source: Path, target: Path) -> None:
            after = disk.lose_power(tmp_path / f"after {len(named)}", loss)
            assert (after.get(digest_of(TEXT)), after.get(digest_of(NOISE))) == (TEXT, NOISE)
            named.append(sum(after.file_at(path) is not None for path in after.folder.iterdir()))
            real(source, target)

        disk.replace = lose_power_first
        Blobs(disk.folder).put_many([TEXT, NOISE])
        assert named == ([0, 0] if loss == "all that was not synced" else [0, 1])


@pytest.mark.parametrize("loss", LOSSES)
def test_before_the_wait_is_over_nothing_can_be_taken_for_what_it_is_not(tmp_path: Path, loss: Loss) -> None:
    with watched(tmp_path / "blobs") as disk:
        after: list[Blobs] = []
        real = disk.fsync
        turn = threading.Lock()

        def lose_power_around(descriptor: int) -> None:
            with turn:
                after.append(disk.lose_power(tmp_path / f"before {len(after)}", loss))
                real(descriptor)
                after.append(disk.lose_power(tmp_path / f"after {len(after)}", loss))

        disk.fsync = lose_power_around
        Blobs(disk.folder).put_many([TEXT, NOISE])
        assert len(after) == 6
        for blobs in after:
            assert not any(blobs.file_at(path) for path in blobs.folder.iterdir())
            assert all(blobs.get(digest_of(content)) == content for content in (TEXT, NOISE) if holds(blobs, content))


def holds(blobs: Blobs, content: bytes) -> bool:
    return blobs.has(digest_of(content))


def unnamed(folder: Path, content: bytes, *, cut: int = 0) -> Blobs:
    blobs = Blobs(folder)
    digest = blobs.put(content)
    [path] = folder.iterdir()
    path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])
    path.rename(folder / f".desktop-agent-0123456789abcdef.{path.name}.tmp")
    assert blobs.has(digest) == (cut == 0)
    return blobs


def name_in_a_session(data: Path, content: bytes) -> Path:
    journal = data / "sessions" / "20261121-213700-k3f9qx" / "journal.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text(digest_of(content))
    return data / "sessions"


@pytest.mark.parametrize("content", [TEXT, NOISE], ids=["packed", "plain"])
def test_a_blob_that_lost_its_name_gets_it_back_when_it_is_a_day_old(tmp_path: Path, content: bytes) -> None:
    blobs = unnamed(tmp_path / "blobs", content)
    sessions = name_in_a_session(tmp_path, content)
    now = datetime.now(UTC)
    assert report_storage(blobs, sessions).blobs == 1
    for later, is_dry_run, has_name in (
        (now, False, False),
        (now + 2 * GRACE, True, False),
        (now + 2 * GRACE, False, True),
    ):
        done = collect(blobs, sessions, now=later, is_dry_run=is_dry_run)
        assert done == Collected(removed=0, removed_bytes=0, kept_young=0)
        assert blobs.get(digest_of(content)) == content
        [path] = blobs.folder.iterdir()
        assert (blobs.file_at(path) is not None) == has_name


@pytest.mark.parametrize("content", [TEXT, NOISE], ids=["packed", "plain"])
def test_a_part_of_a_blob_is_never_taken_for_it(tmp_path: Path, content: bytes) -> None:
    blobs = unnamed(tmp_path / "blobs", content, cut=9)
    with pytest.raises(StorageError, match="missing"):
        blobs.get(digest_of(content))
    collect(blobs, name_in_a_session(tmp_path, content), now=datetime.now(UTC) + 2 * GRACE)
    assert not blobs.has(digest_of(content))
    blobs.put(content)
    assert blobs.get(digest_of(content)) == content


def test_a_draft_that_nobody_needs_is_removed_like_any_temporary_file(tmp_path: Path) -> None:
    blobs = unnamed(tmp_path / "blobs", NOISE)
    sessions = name_in_a_session(tmp_path, TEXT)
    assert report_storage(blobs, sessions).left_overs == 1
    assert collect(blobs, sessions, now=datetime.now(UTC)).kept_young == 1
    assert collect(blobs, sessions, now=datetime.now(UTC) + 2 * GRACE).removed == 1
    assert list(blobs.folder.iterdir()) == []


def test_a_draft_of_a_blob_that_was_put_again_is_removed_though_it_is_needed(tmp_path: Path) -> None:
    blobs = unnamed(tmp_path / "blobs", TEXT)
    blobs.put(TEXT)
    sessions = name_in_a_session(tmp_path, TEXT)
    assert report_storage(blobs, sessions).left_overs == 1
    assert collect(blobs, sessions, now=datetime.now(UTC) + 2 * GRACE).removed == 1
    assert not any(is_left_over(path) for path in blobs.folder.iterdir())
    assert blobs.get(digest_of(TEXT)) == TEXT
