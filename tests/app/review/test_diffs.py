"""The window's diffs come from stored contents of any size, and nothing stays in memory."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from desktop_agent.app.diffs import BlobDiffs
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.store.blobs import Blobs
from tests.core.diff.changes import change_of
from tests.ui.review.stage import Session

SMALL = (b"one\ntwo\n", b"one\nzwei\n")
BIG = (b"one\n" * 30_000, b"one\n" * 10_000 + b"two\n" + b"one\n" * 20_000)


@asynccontextmanager
async def diffs_of(blobs: Blobs) -> AsyncGenerator[BlobDiffs]:
    diffs = BlobDiffs(blobs)
    try:
        yield diffs
    finally:
        await diffs.aclose()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    blobs = Blobs(tmp_path)
    for content in (*SMALL, *BIG):
        blobs.put(content)
    return blobs


@pytest.mark.parametrize("contents", [SMALL, BIG, (None, BIG[0]), (BIG[0], None)])
async def test_a_change_is_compared_by_its_stored_contents(
    blobs: Blobs, contents: tuple[bytes | None, bytes | None]
) -> None:
    change = change_of("1.1", "app.py", *contents)
    async with diffs_of(blobs) as diffs:
        assert await diffs.change_diff(change) == diff_change(change, *contents)


async def test_several_changes_of_a_file_come_to_one_diff(blobs: Blobs) -> None:
    session = Session()
    session.start_turn(1)
    session.change(1, "call-1", "app.py", SMALL[0], SMALL[1])
    session.change(1, "call-2", "app.py", SMALL[1], BIG[1])
    async with diffs_of(blobs) as diffs:
        diff = await diffs.diff(list(session.transcript.changes.values()))
        assert (len(diff.old_lines), len(diff.new_lines)) == (2, 30_001)


async def test_a_missing_content_is_said_so(tmp_path: Path) -> None:
    change: FileChange = change_of("1.1", "app.py", *BIG)
    async with diffs_of(Blobs(tmp_path)) as diffs:
        with pytest.raises(StorageError):
            await diffs.change_diff(change)


async def test_closing_leaves_no_process_behind(blobs: Blobs) -> None:
    before = set(psutil.Process().children())
    async with diffs_of(blobs) as diffs:
        await diffs.change_diff(change_of("1.1", "app.py", *BIG))
        assert len(set(psutil.Process().children()) - before) == 1
    assert set(psutil.Process().children()) <= before
