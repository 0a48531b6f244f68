"""A file that others write: what is known of it without reading it, and when that is not to be relied on."""

import os
import time
from pathlib import Path

import pytest

from desktop_agent.core.file_stamp import is_unchanged, stamp_of

HOUR_NS = 3_600 * 10**9


def dated(path: Path, text: str, date_ns: int) -> Path:
    path.write_text(text)
    os.utime(path, ns=(date_ns, date_ns))
    return path


def test_a_file_that_nobody_touched_is_unchanged_and_one_that_is_missing_stays_missing(tmp_path: Path) -> None:
    path = dated(tmp_path / "a", "one", time.time_ns() - HOUR_NS)
    assert is_unchanged(stamp_of(path), stamp_of(path))
    assert is_unchanged(stamp_of(tmp_path / "none"), None)
    assert not is_unchanged(None, stamp_of(path))
    assert not is_unchanged(stamp_of(path), None)


def test_size_date_and_place_tell_a_change(tmp_path: Path) -> None:
    long_ago = time.time_ns() - HOUR_NS
    path = dated(tmp_path / "a", "one", long_ago)
    before = stamp_of(path)
    assert not is_unchanged(stamp_of(dated(path, "other", long_ago)), before)
    assert not is_unchanged(stamp_of(dated(path, "two", long_ago + 1)), before)
    dated(tmp_path / "b", "two", long_ago).replace(path)
    assert not is_unchanged(stamp_of(path), before)


def test_a_file_that_was_written_a_moment_before_it_was_looked_at_may_have_changed(tmp_path: Path) -> None:
    """A second write within one step of the clock leaves no trace in the date."""
    path = dated(tmp_path / "a", "one", time.time_ns() + HOUR_NS)  # young, however long this test takes
    assert not is_unchanged(stamp_of(path), stamp_of(path))


def test_once_its_date_is_old_enough_it_is_known(tmp_path: Path) -> None:
    path = dated(tmp_path / "a", "one", time.time_ns() - HOUR_NS)
    before = stamp_of(path)
    assert before is not None
    assert not before.is_racy
    assert is_unchanged(stamp_of(path), before)


@pytest.mark.parametrize(("date_ns", "is_known"), [(10**18, False), (10**18 + 10**6, True)])
def test_a_date_in_whole_seconds_is_young_for_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, date_ns: int, *, is_known: bool
) -> None:
    """FAT dates what is written now with the last even second."""
    monkeypatch.setattr(time, "time_ns", lambda: 10**18 + 1_900_000_000)
    path = dated(tmp_path / "a", "one", date_ns)
    assert is_unchanged(stamp_of(path), stamp_of(path)) == is_known
