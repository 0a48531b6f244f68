"""Records are found by their number without reading the journal."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.follow import Follower
from desktop_agent.core.store.journal.seeking import offset_after
from tests.journals import write_journal

NEAR = 4_096
LONGEST = 3_000


def written(folder: Path, sizes: Sequence[int]) -> Path:
    """Write a journal of records of these sizes, numbered from 1."""
    path = folder / "session" / "journal.jsonl"
    notices = (ev.Notice(level="info", code="test", title="x" * size) for size in sizes)
    write_journal(path, Blobs(folder / "blobs"), notices)
    return path


@given(sizes=st.lists(st.integers(0, LONGEST), max_size=60), data=st.data())
def test_from_the_place_on_every_later_record_is_read_and_hardly_more(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    path = written(folder, sizes)
    seq = data.draw(st.integers(0, len(sizes) + 1))
    start = offset_after(path, seq, near_bytes=NEAR)
    events = Follower(path, Blobs(folder / "blobs"), start).read()
    assert [event.seq for event in events if event.seq > seq] == list(range(seq + 1, len(sizes) + 1))
    lines = path.read_bytes()[start:].splitlines(keepends=True)
    for_nothing = sum(len(line) for line, event in zip(lines, events, strict=True) if event.seq <= seq)
    assert for_nothing <= NEAR + LONGEST + 200


def test_in_a_journal_of_another_program_the_search_ends_too_early_and_never_too_late(tmp_path: Path) -> None:
    path = written(tmp_path, [LONGEST] * 60)
    path.write_bytes(path.read_bytes().replace(b'{"v":1,"seq":', b'{"v": 1, "seq": '))
    assert offset_after(path, 50) == 0
