"""Sessions that the user has left are closed when idle, and come back unchanged."""

import gc
import weakref
from pathlib import Path

import pytest

from desktop_agent.app.sessions import window_sessions
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.session.session import Session
from desktop_agent.core.store.session_folder import is_locked
from tests.app.conftest import Go
from tests.core.importing.conftest import SAMPLES
from tests.e2e.driver import Driver, ask_for_no_titles
from tests.servers.script import reply, text
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")


def is_open(home: Path, session_id: SessionId) -> bool:
    return is_locked(home / "desktop-agent" / "data" / "sessions" / session_id)


async def shown_id(user: Driver, *, other_than: SessionId = "") -> SessionId:
    await user.until_true(lambda: user.transcript.session.session_id not in ("", other_than), "a session is shown")
    return user.transcript.session.session_id


def test_the_one_left_longest_ago_is_closed_and_comes_back_whole(go: Go, tmp_path: Path, isolated_home: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()

    async def journey(user: Driver) -> None:
        sessions = user.window.panels.sessions
        await user.import_conversation(SAMPLES / "claude_code.jsonl")
        ids = [await shown_id(user)]
        entries = len(user.transcript.entries)
        user.composer.set_text("not sent yet")
        for _ in range(window_sessions.MOST_LEFT + 1):
            sessions.action_requested.emit("copy", (ids[0],))
            ids.append(await shown_id(user, other_than=ids[-1]))
        await user.until_true(lambda: not is_open(isolated_home, ids[0]), "the first one is closed")
        assert all(is_open(isolated_home, session_id) for session_id in ids[1:])
        sessions.session_chosen.emit(ids[0])
        await user.until_true(lambda: user.transcript.session.session_id == ids[0], "it is shown again")
        assert len(user.transcript.entries) == entries
        assert user.composer.text() == "not sent yet"
        await user.until_true(lambda: not is_open(isolated_home, ids[1]), "now the second one is closed")

    go([str(project), "--provider", "demo"], journey)


def test_one_that_asks_stays_open(go: Go, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_sessions, "MOST_LEFT", 0)

    async def journey(user: Driver) -> None:
        await user.click("sendButton")
        await user.until_true(lambda: bool(user.transcript.pending_approvals), "it asks")
        asking = user.transcript.session.session_id
        user.window.panels.sessions.new_requested.emit()
        await user.until_true(lambda: not user.transcript.session.session_id, "an empty conversation is shown")
        user.window.panels.sessions.session_chosen.emit(asking)
        await user.until_true(lambda: user.transcript.session.session_id == asking, "it is shown again")
        assert is_open(isolated_home, asking)
        assert user.transcript.pending_approvals

    go(["--demo"], journey)


def test_the_user_is_where_they_were_in_one_that_was_closed(
    go: Go, project: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_sessions, "MOST_LEFT", 0)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    ask_for_no_titles()

    async def journey(user: Driver) -> None:
        panels = user.window.panels
        bar, navigation = panels.transcript.verticalScrollBar(), panels.transcript.navigation
        panels.composer.set_text("Count.")
        await user.click("sendButton")
        await user.until_true(lambda: user.transcript.turns.last_end == "completed", "the turn has ended")
        left = await shown_id(user)
        await user.until_true(lambda: bar.maximum() > 1_000, "the answer is laid out")
        bar.setValue(bar.maximum() // 2)
        place = navigation.place
        assert place is not None
        panels.sessions.new_requested.emit()
        await user.until_true(lambda: not is_open(isolated_home, left), "it is closed")
        panels.sessions.session_chosen.emit(left)
        assert await shown_id(user) == left
        await user.until_true(lambda: navigation.place == place, "it is where the user left it")

    answer = "\n\n".join(f"Paragraph {number}." for number in range(120))
    with serve(reply(text(answer))) as server:
        go([str(project), "--base-url", server.url], journey)


def test_nothing_of_one_that_was_closed_stays_in_memory(
    go: Go, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_sessions, "MOST_LEFT", 0)

    async def journey(user: Driver) -> None:
        await user.import_conversation(SAMPLES / "claude_code.jsonl")
        left = await shown_id(user)
        (session,) = (weakref.ref(held) for held in gc.get_objects() if isinstance(held, Session) and held.id == left)
        user.window.panels.sessions.new_requested.emit()
        await user.until_true(lambda: not is_open(isolated_home, left), "it is closed")
        await user.until_true(lambda: session() is None, "it is gone")

    go(["--demo"], journey)
