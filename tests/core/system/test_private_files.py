"""A foreign file: whether it is unchanged without reading it, and when that is uncertain."""

import time
from pathlib import Path

import pytest

from desktop_agent.core.system.private_files import is_unchanged, stamp_of
from tests.file_dates import LONG_AGO_NS, TO_COME_NS, put_date


def dated(path: Path, text: str, date_ns: int) -> Path:
    path.write_text(text)
    put_date(path, date_ns)
    return path


def test_a_file_that_nobody_touched_is_unchanged_and_one_that_is_missing_stays_missing(tmp_path: Path) -> None:
    path = dated(tmp_path / "a", "one", LONG_AGO_NS)
    assert is_unchanged(stamp_of(path), stamp_of(path))
    assert is_unchanged(stamp_of(tmp_path / "none"), None)
    assert not is_unchanged(None, stamp_of(path))
    assert not is_unchanged(stamp_of(path), None)


def test_size_date_and_place_tell_a_change(tmp_path: Path) -> None:
    path = dated(tmp_path / "a", "one", LONG_AGO_NS)
    before = stamp_of(path)
    assert not is_unchanged(stamp_of(dated(path, "other", LONG_AGO_NS)), before)
    assert not is_unchanged(stamp_of(dated(path, "two", LONG_AGO_NS + 1)), before)
    dated(tmp_path / "b", "two", LONG_AGO_NS).replace(path)
    assert not is_unchanged(stamp_of(path), before)


def test_a_file_that_was_written_a_moment_before_it_was_looked_at_may_have_changed(tmp_path: Path) -> None:
    """A second write within one step of the clock does not change the date."""
    path = dated(tmp_path / "a", "one", TO_COME_NS)
    assert not is_unchanged(stamp_of(path), stamp_of(path))


def test_a_file_that_was_too_young_is_known_from_the_next_look_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dated(tmp_path / "a", "one", LONG_AGO_NS)
    monkeypatch.setattr(time, "time_ns", lambda: LONG_AGO_NS)
    first = stamp_of(path)
    monkeypatch.setattr(time, "time_ns", lambda: LONG_AGO_NS + 10**10)
    second, third = stamp_of(path), stamp_of(path)
    assert not is_unchanged(second, first)
    assert is_unchanged(third, second)


@pytest.mark.parametrize(("date_ns", "is_known"), [(10**18, False), (10**18 + 10**6, True)])
def test_a_date_in_whole_seconds_is_young_for_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, date_ns: int, *, is_known: bool
) -> None:
    """FAT rounds dates down to even seconds."""
    monkeypatch.setattr(time, "time_ns", lambda: 10**18 + 1_900_000_000)
    path = dated(tmp_path / "a", "one", date_ns)
    assert is_unchanged(stamp_of(path), stamp_of(path)) == is_known
