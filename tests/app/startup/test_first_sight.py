"""The window's first sight, and what the user can already ask for."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QListView

from desktop_agent.app.startup import first_sight, serving
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.session.resume import LONG_BYTES
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_folder import SessionLock
from desktop_agent.ui.chat.entries.entry import EntryWidget
from desktop_agent.ui.window.session_handle import OwnSession
from tests.app.conftest import Journey
from tests.app.startup.held_machinery import OTHER_ID, TURNS, BeginWith, Machinery, load
from tests.e2e.driver import Driver
from tests.journals import SESSION_ID, opened, turn, write_journal

Begin = Callable[[Journey], None]

pytestmark = pytest.mark.usefixtures("qapp", "sessions")


@pytest.fixture
def begin(begin_with: BeginWith) -> Begin:
    return partial(begin_with, ["--resume", SESSION_ID])


def shown_id(user: Driver) -> SessionId:
    handle = user.window.panels.session.handle
    return handle.transcript.session.session_id if handle is not None else "nothing"


async def see_first_sight(user: Driver) -> None:
    await user.until_true(lambda: shown_id(user) == SESSION_ID, "the conversation is there")


async def send(user: Driver, text: str) -> None:
    await user.type("composer", text)
    await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: [one.text for one in user.transcript.turns.queued] == [text], "it waits")


async def click_on_other(user: Driver) -> None:
    rows = await user.see(QListView, "sessionList")
    chosen: list[str] = []
    user.window.panels.sessions.session_chosen.connect(chosen.append)
    for row in reversed(range(rows.model().rowCount())):
        at = rows.visualRect(rows.model().index(row, 0)).center()
        QTest.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=at)
        if chosen:
            break
    assert chosen == [OTHER_ID]


def test_the_first_sight_lasts_until_the_conversation_is_laid_out(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next imports would take half of the time that painting needs."""
    ended: list[tuple[bool, bool]] = []
    show = first_sight.show_first_sight

    async def noted(panels: WindowPanels, found: first_sight.FirstSight | None) -> OwnSession | None:
        port = await show(panels, found)
        is_shown = any(one.isVisible() for one in panels.transcript.findChildren(EntryWidget))
        ended.append((is_shown, panels.transcript.row_layout.is_gentle))
        return port

    monkeypatch.setattr(serving, "show_first_sight", noted)

    async def journey(user: Driver) -> None:
        await user.until_true(lambda: bool(ended), "the first sight has been shown")

    begin(journey)
    assert ended == [(True, False)]


def test_sessions_and_the_conversation_are_there_first_and_a_prompt_waits_and_is_handed_over(
    begin: Begin, machinery: Machinery, sessions: dict[SessionId, Path]
) -> None:
    async def journey(user: Driver) -> None:
        await see_first_sight(user)
        assert user.transcript.turn == TURNS
        assert user.transcript.session.title == "Prompt 1: ok"
        rows = await user.see(QListView, "sessionList")
        assert rows.model().rowCount() >= 2
        assert len(rows.selectedIndexes()) == 1
        await send(user, "And the pears?")
        await load(user, machinery)
        await user.until_true(lambda: user.transcript.turn == TURNS + 1, "it is asked")
        assert not user.transcript.turns.queued
        assert user.composer.text() == ""
        await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has ended")

    begin(journey)
    assert sessions[SESSION_ID].read_bytes().count(b"And the pears?") >= 1


def test_a_session_that_is_open_elsewhere_is_left_to_what_says_so(
    begin: Begin, machinery: Machinery, sessions: dict[SessionId, Path]
) -> None:
    lock = SessionLock(sessions[SESSION_ID].parent)

    async def journey(user: Driver) -> None:
        rows = await user.see(QListView, "sessionList")
        await user.until_true(lambda: rows.model().rowCount() >= 2, "the list is there")
        assert user.window.panels.session.handle is None
        await load(user, machinery)
        assert user.window.panels.conversation.viewing_bar.isVisible()
        assert shown_id(user) == SESSION_ID

    begin(journey)
    lock.release()


# --- what is clicked meanwhile ------------------------------------------------------------------------------------


def test_a_new_session_waits_and_what_was_sent_before_is_not_lost(
    begin: Begin, machinery: Machinery, sessions: dict[SessionId, Path]
) -> None:
    async def journey(user: Driver) -> None:
        await see_first_sight(user)
        await send(user, "And the pears?")
        await user.click("newSessionButton")
        await load(user, machinery)
        await user.until_true(lambda: shown_id(user) == "", "an empty conversation is shown")
        await user.until_true(lambda: sessions[SESSION_ID].read_bytes().count(b"turn_ended") > TURNS, "it is asked")
        assert b"And the pears?" in sessions[SESSION_ID].read_bytes()

    begin(journey)


def test_of_several_choices_the_last_is_meant(begin: Begin, machinery: Machinery) -> None:
    async def journey(user: Driver) -> None:
        await see_first_sight(user)
        user.actions.open_folder.trigger()
        await user.click("newSessionButton")
        await click_on_other(user)
        await load(user, machinery)
        await user.until_true(lambda: shown_id(user) == OTHER_ID, "it is shown")
        assert user.find(QFileDialog, "folderDialog") is None

    begin(journey)


def test_what_is_no_choice_is_done_beside_it(
    begin: Begin, machinery: Machinery, sessions: dict[SessionId, Path]
) -> None:
    async def journey(user: Driver) -> None:
        await see_first_sight(user)
        user.window.panels.sessions.rename_requested.emit(OTHER_ID, "Fruit")
        await click_on_other(user)
        await load(user, machinery)
        await user.until_true(lambda: shown_id(user) == OTHER_ID, "it is shown")
        await user.until_true(lambda: sessions[OTHER_ID].read_bytes().count(b'"Fruit"') == 1, "it has its title")

    begin(journey)


# --- what is not known yet ----------------------------------------------------------------------------------------


def test_the_review_claims_nothing_of_what_is_not_read_yet(
    begin: Begin, machinery: Machinery, sessions: dict[SessionId, Path], tmp_path: Path
) -> None:
    paths = AppPaths.from_environment(os.environ)
    journal = sessions[SESSION_ID]
    journal.unlink()
    events: list[ev.KnownEvent] = [opened(str(tmp_path / "workspace"))]
    for number in range(1, 270):
        events += turn(number, calls=0, text="Words. " * 1_200)
    write_journal(journal, Blobs(paths.blobs), events)
    assert journal.stat().st_size > LONG_BYTES

    def review(user: Driver) -> set[str]:
        return {label.text() for label in user.window.panels.review.findChildren(QLabel)}

    async def journey(user: Driver) -> None:
        await see_first_sight(user)
        assert "Reading the changes…" in review(user)
        assert "No changes yet" not in review(user)
        await load(user, machinery)
        await user.until_true(lambda: "No changes yet" in review(user), "now it is known")

    begin(journey)
