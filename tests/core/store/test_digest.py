"""What is known of all journals may be asked for and kept by several threads at once."""

import threading
from pathlib import Path

import pytest
from msgspec.json import Decoder

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.core.store import digest
from desktop_agent.core.store.digest import JournalCache, JournalSummary, Noted
from desktop_agent.core.store.journal.journal_scan import JournalMark

ONE, TWO = "20261116-090001-aaaaaa", "20261116-090002-aaaaaa"


def seen(size: int) -> JournalSummary:
    return Noted(JournalMark((size, 1), size, b"witness"), None)


@pytest.mark.parametrize("name", [ONE, TWO])
def test_what_another_thread_keeps_while_something_is_written_is_kept_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: SessionId
) -> None:
    cache = JournalCache(tmp_path / "sessions.sqlite3", 4, Decoder(SessionSummary | None))
    row = digest._row  # pyright: ignore[reportPrivateUsage] - the moment between two sessions

    def interrupted(session_id: SessionId, glance: JournalSummary) -> tuple[str, int, int, int, bytes, str]:
        monkeypatch.setattr(digest, "_row", row)
        other = threading.Thread(target=cache.keep, args=({name: seen(2)},))
        other.start()
        other.join()
        return row(session_id, glance)

    monkeypatch.setattr(digest, "_row", interrupted)
    cache.keep({ONE: seen(1)})
    assert cache.all().keys() == {ONE, name}
