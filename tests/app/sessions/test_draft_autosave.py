"""A draft stays in its conversation, over switching and over a restart."""

import asyncio
import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.events import PromptSubmitted, SessionForked
from desktop_agent.core.protocol.model import Allowed
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.store.drafts import Drafts, session_draft
from desktop_agent.ui.chat.entries.prompt import PromptWidget
from tests.app.conftest import Go
from tests.core.approvals.test_pending import EDIT, killed_while_asking
from tests.e2e.driver import Driver
from tests.harness import Ground


def text(user: Driver) -> str:
    return user.composer.text()


def test_each_conversation_keeps_its_draft(go: Go, project: Path, isolated_home: Path) -> None:
    ids: list[SessionId] = []
    drafts = Drafts(isolated_home / "desktop-agent" / "data" / "drafts")

    async def first(user: Driver) -> None:
        await user.run_turn("What is in here?")
        ids.append(user.transcript.session.session_id)
        user.composer.set_text("")
        await user.type("composer", "and then")
        # Without a switch or a quit, as before a kill.
        await user.until_true(lambda: drafts.load(session_draft(ids[0])).text == "and then", "it is on disk")
        await user.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
        await user.until_true(lambda: not user.transcript.session.session_id, "a new conversation is shown")
        assert text(user) == ""
        await user.type("composer", "something new")
        user.window.panels.sessions.session_chosen.emit(ids[0])
        await user.until_true(lambda: user.transcript.session.session_id == ids[0], "the first is shown")
        assert text(user) == "and then"

    async def second(user: Driver) -> None:
        assert text(user) == "and then"
        await user.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
        await user.until_true(lambda: text(user) == "something new", "the other draft is there")
        user.window.panels.sessions.session_chosen.emit(ids[0])
        await user.until_true(lambda: text(user) == "and then", "and this one")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: drafts.load(session_draft(ids[0])).is_empty, "what was sent is not kept")
        await user.stop_turn()

    go([str(project), "--provider", "demo"], first)
    go([str(project), "--continue"], second)


def test_what_was_sent_is_kept_until_the_journal_has_it(
    go: Go, project: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh, folder = LiveSettings.refresh, isolated_home / "desktop-agent" / "data" / "drafts"
    is_free = asyncio.Event()

    async def refresh_later(settings: LiveSettings) -> None:
        """Reading the settings, which a session does before it takes a prompt, waits here."""
        await is_free.wait()
        await refresh(settings)

    async def journey(user: Driver) -> None:
        await user.run_turn("What is in here?")
        path = folder / f"{session_draft(user.transcript.session.session_id)}.json"
        user.composer.set_text("")
        await user.type("composer", "and then")
        monkeypatch.setattr(LiveSettings, "refresh", refresh_later)
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: path.exists() and json.loads(path.read_bytes())["sent"] == ["and then"], "kept")
        assert text(user) == ""
        is_free.set()
        await user.until_true(lambda: user.transcript.turn == 2, "the session takes it")
        await user.until_true(lambda: not path.exists(), "what was sent is not kept")
        await user.stop_turn()

    go([str(project), "--provider", "demo"], journey)


def test_an_edited_prompt_goes_on_in_a_copy(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        await user.run_turn("What is in here?")
        await user.run_turn("And what else?")
        source = user.transcript.session.session_id
        view = user.window.panels.transcript
        last = [row for row in view.rows if isinstance(row.entry, PromptSubmitted)][-1]
        view.row_layout.reveal(view.row_layout.reading.row_top(last))
        await user.until_true(lambda: last.widget is not None, "the prompt is in sight")
        assert isinstance(last.widget, PromptWidget)
        last.widget.begin_edit()
        await user.type("promptEdit", " Only this.")
        await user.click("promptEditSend")
        await user.until_true(lambda: user.transcript.session.session_id not in ("", source), "the copy is shown")
        await user.until_true(lambda: user.transcript.turn == 2, "the new prompt is asked there")
        await user.until_true(lambda: not user.transcript.turns.is_running, "and answered")
        prompts = [entry.text for entry in user.transcript.entries if isinstance(entry, PromptSubmitted)]
        assert prompts == ["What is in here?", "And what else? Only this."]
        [forked] = [entry for entry in user.transcript.entries if isinstance(entry, SessionForked)]
        assert (forked.source, forked.before_turn) == (source, 2)
        button = await user.see(QPushButton, "openSourceButton")
        button.click()
        await user.until_true(lambda: user.transcript.session.session_id == source, "the source is shown")
        prompts = [entry.text for entry in user.transcript.entries if isinstance(entry, PromptSubmitted)]
        assert prompts == ["What is in here?", "And what else?"]

    go([str(project), "--provider", "demo"], journey)


def test_a_question_that_a_killed_process_asked_is_answered_in_the_window(go: Go, isolated_home: Path) -> None:
    ground = Ground(isolated_home / "desktop-agent")
    with asyncio.Runner() as runner:
        session_id = runner.run(killed_while_asking(ground, [EDIT], then="and then"))
    journal = ground.journal(session_id)
    journal.write_bytes(journal.read_bytes().replace(b'"provider":"scripted"', b'"provider":"demo"'))

    async def journey(user: Driver) -> None:
        await user.see(QWidget, "approvalDialog")
        assert user.transcript.turns.status == "waiting"
        assert [prompt.text for prompt in user.transcript.turns.queued] == ["and then"]
        assert ground.read("a.py") == "x = 1\n"
        await user.press(Qt.Key.Key_Escape)
        [request] = user.transcript.pending_approvals
        user.window.panels.transcript.entry_actions.approval_answered.emit(request.call_id, Allowed())
        await user.until_true(lambda: ground.read("a.py") == "x = 2\n", "the answer counts")
        await user.until_true(lambda: user.transcript.turn == 2, "what waited behind it begins")
        await user.stop_turn()

    go([str(ground.workspace), "--resume", session_id], journey)
