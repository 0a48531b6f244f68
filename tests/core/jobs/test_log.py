"""A log that keeps the newest output, and its limit."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.jobs import JobLog, read_tail


def opened(folder: Path, limit_bytes: int) -> JobLog:
    log = JobLog(folder / "job.log", limit_bytes)
    log.open()
    return log


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(1, 50), st.integers(0, 100))
def test_the_end_can_be_read_and_the_limit_holds(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes], limit: int, wanted: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = opened(folder, limit)
    for chunk in chunks:
        log.write(chunk)
    log.close()
    output = b"".join(chunks).decode("latin-1")
    assert max(file.stat().st_size for file in folder.iterdir()) <= limit
    kept = sum(file.stat().st_size for file in folder.iterdir())
    assert kept >= min(len(output), limit)
    content = b"".join(file.read_bytes() for file in (folder / "job.log.1", folder / "job.log") if file.exists())
    assert output.endswith(content.decode("latin-1"))
    assert len(read_tail(log.path, wanted).encode("utf-8", "replace")) <= 3 * wanted


def test_the_tail_goes_on_in_what_was_moved_aside(tmp_path: Path) -> None:
    log = opened(tmp_path, 10)
    log.write(b"0123456789abc")
    assert read_tail(log.path, 6) == "789abc"
    assert read_tail(log.path, 100) == "0123456789abc"
    log.close()


def test_the_tail_begins_with_a_whole_character(tmp_path: Path) -> None:
    log = opened(tmp_path, 100)
    log.write("a€€".encode())
    assert read_tail(log.path, 5) == "€"
    log.close()


def test_a_log_is_the_persons_own(tmp_path: Path) -> None:
    log = opened(tmp_path, 100)
    assert log.path.stat().st_mode & 0o777 == 0o600
    log.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_no_more_is_no_reason_to_fail(tmp_path: Path) -> None:
    log = opened(tmp_path, 4)
    tmp_path.joinpath("job.log.1").mkdir()
    log.write(b"0123456789")
    assert read_tail(log.path, 4) == "0123"
