"""Titles, pins and the archive of sessions that no process has open."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import SessionBusyError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import TextBlock
from desktop_agent.core.store.filing import file_session
from desktop_agent.core.store.journal.reading import read_journal
from desktop_agent.core.store.lock import SessionLock
from desktop_agent.core.transcript import replay
from tests.core.export.conftest import MODEL, Written

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def session(tmp_path: Path) -> Written:
    written = Written(tmp_path)
    written.turn(1, "hello", TextBlock(text="hi"))
    return written


def test_a_note_is_the_next_record_and_nothing_else_happens(session: Written) -> None:
    before = session.path.read_bytes()
    file_session(session.path, ev.SessionPinned(is_pinned=True), NOW, session.blobs)
    file_session(session.path, ev.SessionRenamed(title="Mine"), NOW, session.blobs)
    assert session.path.read_bytes().startswith(before)
    events, damages = read_journal(session.path, session.blobs)
    assert damages == []
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    session_info = replay(events).session
    assert (session_info.title, session_info.is_title_given, session_info.is_pinned) == ("Mine", True, True)


def test_a_long_journal_is_numbered_on_from_its_end(session: Written) -> None:
    session.turn(2, "x" * 10_000, *[TextBlock(text=f"{n} " * 4000) for n in range(60)])
    last = read_journal(session.path, session.blobs)[0][-1].seq
    file_session(session.path, ev.SessionArchived(is_archived=True), NOW, session.blobs)
    assert read_journal(session.path, session.blobs)[0][-1].seq == last + 1


def test_an_open_session_is_refused_and_stays_as_it_is(session: Written) -> None:
    before = session.path.read_bytes()
    lock = SessionLock(session.path.parent)
    with pytest.raises(SessionBusyError):
        file_session(session.path, ev.SessionPinned(is_pinned=True), NOW, session.blobs)
    lock.release()
    assert session.path.read_bytes() == before


def test_a_turn_that_a_crash_left_open_is_still_open(session: Written) -> None:
    session.add(ev.PromptSubmitted(turn=2, prompt_id="p", text="go"), ev.TurnStarted(turn=2, model=MODEL))
    file_session(session.path, ev.SessionRenamed(title="Mine"), NOW, session.blobs)
    assert replay(read_journal(session.path, session.blobs)[0]).turns.is_running
