import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.core.store.new_session import new_session_folder
from desktop_agent.core.system.staged_file import TEMPORARY_MARK

NOW = datetime.now(UTC)
ID = "20260101-000000-aaaaaa"


def names(sessions: Path) -> list[str]:
    return [path.name for path in sessions.iterdir()]


def test_a_session_has_no_name_before_it_is_complete(tmp_path: Path) -> None:
    with new_session_folder(tmp_path / "sessions", ID, NOW) as folder:
        (folder / "journal.jsonl").write_bytes(b"{}\n")
        assert ID not in names(tmp_path / "sessions")
    assert names(tmp_path / "sessions") == [ID]
    assert (tmp_path / "sessions" / ID / "journal.jsonl").read_bytes() == b"{}\n"


def test_nothing_is_left_of_a_session_that_could_not_be_written(tmp_path: Path) -> None:
    def fail() -> None:
        with new_session_folder(tmp_path, ID, NOW) as folder:
            (folder / "journal.jsonl").write_bytes(b"{}\n")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        fail()
    assert names(tmp_path) == []


def test_what_a_killed_process_left_goes_after_a_day(tmp_path: Path) -> None:
    old, young = tmp_path / f"{TEMPORARY_MARK}old.tmp", tmp_path / f"{TEMPORARY_MARK}young.tmp"
    for folder, age in ((old, timedelta(days=2)), (young, timedelta(hours=2))):
        folder.mkdir()
        moment = (NOW - age).timestamp()
        os.utime(folder, (moment, moment))
    with new_session_folder(tmp_path, ID, NOW):
        pass
    assert sorted(names(tmp_path)) == [young.name, ID]
