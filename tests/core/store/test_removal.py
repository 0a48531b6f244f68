"""A deleted session is gone at once, whole or not at all."""

import shutil
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import SessionBusyError, StorageError
from desktop_agent.core.protocol.model import TextBlock
from desktop_agent.core.store.lock import SessionLock, is_locked
from desktop_agent.core.store.removal import empty_trash, remove_session, session_use
from tests.core.export.conftest import Written


@pytest.fixture
def session(tmp_path: Path) -> Written:
    written = Written(tmp_path)
    written.turn(1, "hello " * 5000, TextBlock(text="hi"))
    return written


def test_a_session_goes_with_everything_in_its_folder(session: Written) -> None:
    (session.path.parent / "journal.jsonl.7.torn").write_text("x")
    remove_session(session.path.parent)
    assert list(session.path.parent.parent.iterdir()) == []


def test_an_open_session_is_refused(session: Written) -> None:
    lock = SessionLock(session.path.parent)
    with pytest.raises(SessionBusyError):
        remove_session(session.path.parent)
    lock.release()
    assert session.path.exists()


def test_a_session_that_cannot_be_locked_is_still_there_and_it_is_said(session: Written) -> None:
    (session.path.parent / "lock").mkdir()
    with pytest.raises(StorageError, match="cannot be opened for writing"):
        remove_session(session.path.parent)
    assert session.path.exists()
    assert not is_locked(session.path.parent)


def test_a_crash_in_between_leaves_nothing_to_see_and_the_rest_goes_with_the_next_tidying(
    session: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = session.path.parent

    def killed(_path: object, **_options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_session(folder)
    assert not folder.exists()
    assert len(list(folder.parent.iterdir())) == 1
    assert empty_trash(folder.parent) == 1
    assert list(folder.parent.iterdir()) == []


def test_a_session_that_cannot_be_removed_is_still_there(session: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_self: Path, _target: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(StorageError):
        remove_session(session.path.parent)
    assert session.path.exists()


def test_the_size_counts_the_journal_and_what_only_this_session_needs(session: Written) -> None:
    size = session_use(session.path.parent.parent, session.id, session.blobs)
    assert size.journal_bytes == session.path.stat().st_size
    assert size.own_bytes > 0
    shutil.copytree(session.path.parent, session.path.parent.parent / "20261121-120000-zzzzzz")
    assert session_use(session.path.parent.parent, session.id, session.blobs).own_bytes == 0
