"""Whole sessions in the real window: filed, copied, exported, imported and deleted."""

import asyncio
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QListView, QMessageBox, QPushButton

from desktop_agent.composition.stored_sessions import OpenedSession
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.model import TextBlock
from desktop_agent.core.protocol.model.sessions import SessionSummary
from desktop_agent.core.session.recorder import Sink
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.transcript import NoticeEntry
from tests.app.conftest import Go
from tests.core.export.conftest import Written
from tests.core.importing.conftest import SAMPLES
from tests.e2e.driver import PATIENCE_S, Driver
from tests.parts import part

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture
def written(isolated_home: Path, tmp_path: Path) -> Written:
    del isolated_home
    session = Written(AppPaths.from_environment().data)
    session.turn(1, "An old question", TextBlock(text="An old answer"))
    return session


def listed(user: Driver) -> list[str]:
    rows = user.find(QListView, "sessionList")
    if rows is None:  # where there is none, a word stands in its place
        return []
    return [str(rows.model().index(row, 0).data()) for row in range(rows.model().rowCount())]


def test_a_session_that_is_not_open_is_pinned_and_put_away(go: Go, project: Path, written: Written) -> None:
    async def journey(user: Driver) -> None:
        sessions = user.window.panels.sessions
        await user.until_true(lambda: "An old question" in listed(user), "the session is listed")
        sessions.action_requested.emit("pin", (written.id,))
        await user.until_true(lambda: listed(user)[:2] == ["Pinned", "An old question"], "it is at the top")
        sessions.rename_requested.emit(written.id, "Mine")
        await user.until_true(lambda: "Mine" in listed(user), "it has its title")
        sessions.action_requested.emit("archive", (written.id,))
        await user.until_true(lambda: listed(user) == [], "it is put away")

    go([str(project), "--provider", "demo"], journey)


def test_a_session_is_pinned_while_it_is_being_opened(
    go: Go, project: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The opening holds the lock, and the window has no session yet."""
    has_lock, go_on = asyncio.Event(), asyncio.Event()
    open_session = Workbench.open_session

    async def held(bench: Workbench, session_id: SessionId, *, sink: Sink) -> OpenedSession:
        opened = await open_session(bench, session_id, sink=sink)
        has_lock.set()
        await go_on.wait()
        return opened

    monkeypatch.setattr(Workbench, "open_session", held)

    async def journey(user: Driver) -> None:
        sessions = user.window.panels.sessions
        await user.until_true(lambda: "An old question" in listed(user), "the session is listed")
        sessions.session_chosen.emit(written.id)
        await user.until_true(has_lock.is_set, "it is being opened")
        sessions.action_requested.emit("pin", (written.id,))
        sessions.rename_requested.emit(written.id, "Mine")
        go_on.set()
        await user.until_true(lambda: listed(user)[:2] == ["Pinned", "Mine"], "both were done")
        assert not user.banner

    go([str(project), "--provider", "demo"], journey)


def test_the_list_shows_what_was_filed_last_however_long_an_earlier_reading_takes(
    go: Go, project: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_held, go_on = threading.Event(), threading.Event()
    done: list[int] = []
    summaries = SessionCatalog.summaries

    def held(catalog: SessionCatalog) -> list[SessionSummary]:
        found = summaries(catalog)
        if any(summary.is_pinned for summary in found) and not is_held.is_set():
            is_held.set()
            go_on.wait(PATIENCE_S)
        done.append(len(found))
        return found

    async def journey(user: Driver) -> None:
        sessions = user.window.panels.sessions
        await user.until_true(lambda: "An old question" in listed(user), "the session is listed")
        monkeypatch.setattr(SessionCatalog, "summaries", held)
        sessions.action_requested.emit("pin", (written.id,))
        await user.until_true(is_held.is_set, "the list is being read")
        before = written.path.stat().st_size
        sessions.rename_requested.emit(written.id, "Mine")
        await user.until_true(lambda: written.path.stat().st_size > before, "the title is on record")
        for _ in range(20):  # another reading could begin and end meanwhile
            await asyncio.to_thread(lambda: None)
        go_on.set()
        await user.until_true(lambda: len(done) == 2, "the list was read twice")
        await user.until_true(lambda: listed(user) == ["Pinned", "Mine"], "both are shown")

    go([str(project), "--provider", "demo"], journey)


def test_several_sessions_are_deleted_after_one_question(go: Go, project: Path, written: Written) -> None:
    async def journey(user: Driver) -> None:
        sessions = user.window.panels.sessions
        sessions.action_requested.emit("copy", (written.id,))
        await user.until_true(lambda: bool(user.transcript.session.session_id), "the copy is shown")
        await user.until_true(lambda: len(listed(user)) == 2, "there are two")
        copied = user.transcript.session.session_id
        assert user.transcript.session.forked_from == written.id
        sessions.action_requested.emit("delete", (written.id, copied))
        question = await user.see(QMessageBox, "deleteSessionDialog")
        assert question.text() == "Delete 2 sessions?"
        part(question, QPushButton, "deleteSessionButton").click()
        await user.until_true(lambda: listed(user) == [], "both are gone")
        assert not written.path.parent.exists()

    go([str(project), "--provider", "demo"], journey)


def test_a_session_goes_to_a_window_of_its_own(
    go: Go, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, told = tmp_path / "program", tmp_path / "told"
    says = f'echo "$@" > {told}.new && mv {told}.new {told}'
    program.write_text(f'#!/bin/sh\ncase "$*" in *--resume*) {says};; *) exec "{sys.executable}" "$@";; esac\n')
    program.chmod(0o755)

    async def journey(user: Driver) -> None:
        await user.import_conversation(SAMPLES / "claude_code.jsonl")
        await user.until_true(lambda: bool(user.transcript.session.session_id), "it is shown")
        shown = user.transcript.session.session_id
        monkeypatch.setattr(sys, "executable", str(program))
        user.window.panels.sessions.action_requested.emit("window", (shown,))
        await user.until_true(told.exists, "another window starts")
        await user.until_true(lambda: not user.transcript.session.session_id, "this one shows a new conversation")
        assert told.read_text().split()[-2:] == ["--resume", shown]

    go([str(project), "--provider", "demo"], journey)


def test_a_conversation_is_imported_shown_and_exported_again(go: Go, project: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.html"

    async def journey(user: Driver) -> None:
        actions = user.window.main_window.actions_
        await user.import_conversation(SAMPLES / "codex.jsonl")
        await user.until_true(lambda: user.transcript.session.title == "Repair the build", "it is shown")
        last = user.transcript.entries[-1]
        assert isinstance(last, NoticeEntry)
        assert last.notice.title == "Imported from Codex."
        assert user.transcript.session.workspace == str(project)
        actions.export_session.trigger()
        saving = await user.see(QFileDialog, "exportDialog")
        assert saving.selectedFiles() == [str(project / "Repair the build.html")]
        saving.fileSelected.emit(str(target))
        saving.reject()
        await user.until_true(target.exists, "the file is there")
        await user.import_conversation(SAMPLES / "codex.jsonl")
        question = await user.see(QMessageBox, "importedAlreadyDialog")
        question.reject()

    go([str(project), "--provider", "demo"], journey)
    assert "Repair the build" in target.read_text()
