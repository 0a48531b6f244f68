"""When sessions are chosen quickly, the last one is shown, and each is opened once."""

from pathlib import Path

import pytest

from desktop_agent.core.store.drafts import Drafts, SavedDraft, session_draft
from desktop_agent.core.store.session_folder import SessionLock
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.script import reply, text
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp", "key")


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
