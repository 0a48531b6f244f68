"""All changes of a call are stored together, in their order, and before any of them is carried out."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.changes import ledger as recording
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import FileState, FileTransition


class CountedBlobs(Blobs):
    """Notes how many bytes come at once."""

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
