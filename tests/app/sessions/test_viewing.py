"""A session that is open in another window is followed here, and taken over when it is closed there."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel, QPushButton

from desktop_agent.core.protocol import ops
from desktop_agent.core.store.drafts import Drafts, SavedDraft, session_draft
from desktop_agent.core.store.session_folder import SessionLock
from desktop_agent.core.transcript import TextEntry, ToolEntry
from desktop_agent.ui.window.conversation_pane import ViewingBar
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers import fault
from tests.servers.script import Told, reply, text, tool_use
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp", "key")


def words_of(bar: ViewingBar) -> str:
    return " ".join(label.text() for label in bar.findChildren(QLabel))


class Elsewhere:
    def __init__(self, home: Path, url: str) -> None:
        self._url = url
        [self.journal] = (home / "desktop-agent" / "data" / "sessions").glob("*/journal.jsonl")
        self.id = self.journal.parent.name
        self._lock = SessionLock(self.journal.parent)

    def write(self, kind: str, **fields: object) -> None:
        lines = self.journal.read_bytes().splitlines()
        record = {"v": 1, "seq": len(lines) + 1, "at": "2026-11-22T10:00:00Z", "type": kind} | fields
        with self.journal.open("ab") as file:
            file.write(json.dumps(record).encode() + b"\n")

    def say(self, words: str, turn: int) -> None:
        model = {"provider": "anthropic", "model": "m", "base_url": self._url}
        block = {"type": "text", "text": words}
        self.write("prompt_submitted", turn=turn, prompt_id=f"p{turn}", text="elsewhere")
        self.write("turn_started", turn=turn, model=model)
        self.write(
            "message_done", turn=turn, message_id=f"m{turn}", model=model, content=[block], stop_reason="end_turn"
        )

    def close(self) -> None:
        self.write("turn_ended", turn=2, reason="completed", requests=1, duration_s=1)
        self._lock.release()

    def let_go(self) -> None:
        self._lock.release()


@pytest.fixture
def begun_elsewhere(go: Go, project: Path, isolated_home: Path) -> Callable[[str], Elsewhere]:
    async def begin(user: Driver) -> None:
        await user.run_turn("hello")

    def begun(url: str) -> Elsewhere:
        go([str(project), "--base-url", url], begin)
        return Elsewhere(isolated_home, url)

    return begun


def test_a_session_that_is_open_elsewhere_is_read_followed_and_taken_over(
    go: Go, begun_elsewhere: Callable[[str], Elsewhere], tmp_path: Path
) -> None:
    async def second(user: Driver) -> None:
        desk = user.window.panels
        bar = await user.see(ViewingBar, "viewingBar")
        assert "You can read it here." in words_of(bar)
        assert [entry.text for entry in user.transcript.entries if isinstance(entry, TextEntry)] == ["Hello."]
        assert user.find(QPushButton, "takeOverButton") is None, "not yet"
        desk.composer.set_text("a draft")
        assert user.find(QPushButton, "sendButton") is None
        assert not desk.pickers.model_button.isEnabled()
        elsewhere.say("From elsewhere.", 2)
        await user.until_true(lambda: user.transcript.turns.is_running, "what happens elsewhere is seen")
        assert user.find(QPushButton, "stopButton") is None, "it is not ours to stop"
        user.screenshot(tmp_path / "viewing.png")
        elsewhere.close()
        await user.until_true(lambda: not user.transcript.turns.is_running, "and how it ends")
        before = elsewhere.journal.read_bytes()
        await user.see(QPushButton, "takeOverButton")
        assert "no longer open" in words_of(bar)
        handle = user.window.panels.session.handle
        assert handle is not None
        handle.submit(ops.RenameSession(title="mine"))
        await user.until_true(lambda: "Nothing was done" in " ".join(user.banner), "why, is said")
        assert elsewhere.journal.read_bytes() == before, "to read it changes nothing"
        await user.click("takeOverButton")
        await user.until_true(bar.isHidden, "it is ours")
        assert desk.composer.text() == "a draft"
        await user.run_turn("and mine")
        assert elsewhere.journal.read_bytes().startswith(before)

    with serve(reply(text("Hello.")), reply(text("Mine."))) as server:
        elsewhere = begun_elsewhere(server.url)
        go(["--resume", elsewhere.id, "--base-url", server.url], second)
        assert server.violations == []


def test_another_session_can_be_used_meanwhile(go: Go, begun_elsewhere: Callable[[str], Elsewhere]) -> None:
    async def second(user: Driver) -> None:
        bar = await user.see(ViewingBar, "viewingBar")
        user.actions.new_session.trigger()
        await user.until_true(bar.isHidden, "a new conversation is ours")
        await user.run_turn("something else")
        user.window.panels.sessions.session_chosen.emit(elsewhere.id)
        await user.until_true(bar.isVisible, "back to the one that is not")
        elsewhere.write("session_renamed", title="Renamed elsewhere")
        await user.until_true(lambda: user.transcript.session.title == "Renamed elsewhere", "it is followed again")

    with serve(reply(text("Hello.")), reply(text("Else."))) as server:
        elsewhere = begun_elsewhere(server.url)
        go(["--resume", elsewhere.id, "--base-url", server.url], second)
        elsewhere.let_go()


def test_a_journal_that_was_repaired_meanwhile_is_read_anew(
    go: Go, begun_elsewhere: Callable[[str], Elsewhere]
) -> None:
    async def second(user: Driver) -> None:
        await user.see(ViewingBar, "viewingBar")
        content = elsewhere.journal.read_bytes()
        elsewhere.journal.rename(elsewhere.journal.with_name("journal.jsonl.before-repair"))
        elsewhere.journal.write_bytes(content)
        elsewhere.write("session_renamed", title="Repaired")
        await user.until_true(lambda: user.transcript.session.title == "Repaired", "the new file is followed")

    with serve(reply(text("Hello."))) as server:
        elsewhere = begun_elsewhere(server.url)
        go(["--resume", elsewhere.id], second)
        elsewhere.let_go()


def journals(home: Path) -> list[Path]:
    return sorted((home / "desktop-agent" / "data" / "sessions").glob("*/journal.jsonl"))


def test_a_session_that_is_chosen_twice_at_once_is_ours(go: Go, project: Path, isolated_home: Path) -> None:
    async def first(user: Driver) -> None:
        await user.run_turn("hello")

    async def second(user: Driver) -> None:
        [journal] = journals(isolated_home)
        desk = user.window.panels
        desk.window.actions_.new_session.trigger()
        for _ in range(3):
            desk.sessions.session_chosen.emit(journal.parent.name)
        await user.until_true(lambda: user.transcript.session.session_id == journal.parent.name, "it is shown")
        await user.until_true(desk.conversation.viewing_bar.isHidden, "no other window has it")
        await user.run_turn("again")

    with serve(reply(text("Hello.")), reply(text("Again."))) as server:
        go([str(project), "--base-url", server.url], first)
        go([str(project), "--base-url", server.url], second)


def test_a_draft_of_the_window_that_had_the_session_is_there_after_the_take_over(
    go: Go, project: Path, isolated_home: Path
) -> None:
    async def first(user: Driver) -> None:
        await user.run_turn("hello")

    async def second(user: Driver) -> None:
        desk = user.window.panels
        await user.until_true(desk.conversation.viewing_bar.isVisible, "it is only read")
        desk.composer.set_text("written while reading")
        drafts.save(session_draft(journal.parent.name), SavedDraft("written by its owner"))
        lock.release()
        await user.click("takeOverButton")
        await user.until_true(desk.conversation.viewing_bar.isHidden, "it is ours")
        assert desk.composer.text() == "written by its owner\n\nwritten while reading"

    with serve(reply(text("Hello."))) as server:
        go([str(project), "--base-url", server.url], first)
        drafts = Drafts(isolated_home / "desktop-agent" / "data" / "drafts")
        [journal] = journals(isolated_home)
        lock = SessionLock(journal.parent)
        go(["--resume", journal.parent.name], second)
    assert drafts.load(session_draft(journal.parent.name)).text == "written by its owner\n\nwritten while reading"


def test_a_sub_agent_at_work_is_not_said_to_be_in_another_window(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        desk = user.window.panels
        await user.send("Prepare the release.")
        await user.see_stalled(server, 1)
        [task] = [entry for entry in user.transcript.entries if isinstance(entry, ToolEntry)]
        assert task.subagent is not None
        desk.transcript.entry_actions.session_requested.emit(task.subagent.session_id)
        bar = await user.see(ViewingBar, "viewingBar")
        assert "A sub-agent works in this session." in words_of(bar)
        server.release()
        await user.see(QPushButton, "takeOverButton")
        assert "no longer open" in words_of(bar)

    look = tool_use("task", description="look", prompt="Look at prices.", role="explore")
    with serve(
        Told("Prepare", reply(look)),
        Told("Look at", reply(text("I look."), fault.stall_after(events=3))),
        Told("Prepare", reply(text("Done."))),
    ) as server:
        go([str(project), "--base-url", server.url], journey)
