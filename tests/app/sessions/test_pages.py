"""A long session in the real application: its end at once, the rest on demand."""

import asyncio
import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QMessageBox, QPushButton

from desktop_agent.composition.stored_sessions import OpenedSession
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.ops import RenameSession, Unqueue
from desktop_agent.core.session.recorder import Sink
from desktop_agent.core.session.resume import LONG_BYTES
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.drafts import Drafts, SavedDraft, session_draft
from desktop_agent.core.store.journal.snapshot import SNAPSHOT_NAME
from desktop_agent.core.transcript import Entry, PageEntry, TextEntry
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.journals import SESSION_ID, opened, turn, write_journal
from tests.parts import part

TURNS = 160


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    paths = AppPaths.from_environment(os.environ)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    events: list[ev.KnownEvent] = [opened(str(workspace))]
    for number in range(1, TURNS + 1):
        text = "A papaya." if number == 40 else "Words. " * 300
        events += turn(number, calls=2, text=text, result="output\n" * 1_800)
    path = paths.sessions / SESSION_ID / "journal.jsonl"
    write_journal(path, Blobs(paths.blobs), events)
    assert path.stat().st_size > LONG_BYTES
    return path


def kinds_in_view(user: Driver) -> set[type[Entry]]:
    view = user.window.panels.transcript
    top, bottom = view.row_layout.top_edge, view.row_layout.top_edge + view.viewport().height()
    row_top, heights = view.row_layout.reading.row_top, view.rows.heights
    rows = (row for row in view.row_layout.widgets.live if row_top(row) < bottom)
    return {type(row.entry) for row in rows if row_top(row) + heights[row.index] > top}


def test_a_long_session_is_read_from_its_end_to_its_beginning_and_found_in_before_it_is_loaded(
    go: Go, journal: Path
) -> None:
    async def journey(user: Driver) -> None:
        view = user.window.panels.transcript
        await user.until_true(lambda: TextEntry in kinds_in_view(user), "the end is there")
        handle = user.window.panels.session.handle
        assert handle is not None
        handle.submit(RenameSession(title="Fruit"))
        await user.until_true(lambda: user.transcript.session.title == "Fruit", "what is asked waits for the session")
        assert len(user.transcript.pages) > 10, "the whole session is known"
        assert journal.with_name(SNAPSHOT_NAME).exists()
        assert user.transcript.turn == TURNS
        assert len(user.transcript.turns.prompts) == TURNS
        user.actions.find.trigger()
        await user.type("findField", "papaya")
        await user.until_true(
            lambda: any(_shows_papaya(user, row.index) for row in view.row_layout.widgets.live), "the match"
        )
        assert (await user.see(QLineEdit, "findField")).text() == "papaya"
        view.row_layout.scroll_to(0)
        await user.until_true(lambda: ev.PromptSubmitted in kinds_in_view(user), "the beginning is there")
        assert PageEntry not in kinds_in_view(user)
        assert isinstance(user.transcript.entries[0], ev.PromptSubmitted)
        view.navigation.show_call("c80-0")
        await user.until_true(lambda: user.transcript.paged.tool_entry("c80-0") is not None, "the call is there")

    go(["--resume", SESSION_ID], journey)


class SlowBench:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go_on = asyncio.Event()
        self.error: AgentError | None = None
        open_session = Workbench.open_session

        async def held(bench: Workbench, session_id: SessionId, *, sink: Sink) -> OpenedSession:
            await self.go_on.wait()
            if self.error is not None:
                raise self.error
            return await open_session(bench, session_id, sink=sink)

        monkeypatch.setattr(Workbench, "open_session", held)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowBench:
    return SlowBench(monkeypatch)


async def send_while_it_opens(user: Driver, *texts: str) -> None:
    await user.until_true(lambda: len(user.transcript.entries) > 1, "the end is there")
    for text in texts:
        user.composer.set_text("")
        await user.type("composer", text)
        await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: [prompt.text for prompt in user.transcript.turns.queued] == [*texts], "they wait")


def kept(journal: Path) -> SavedDraft:
    return Drafts(AppPaths.from_environment(os.environ).data / "drafts").load(session_draft(journal.parent.name))


def test_what_was_sent_to_a_session_that_was_still_being_opened_outlives_the_window(
    go: Go, journal: Path, slow: SlowBench
) -> None:
    async def first(user: Driver) -> None:
        await send_while_it_opens(user, "And the pears?", "And the plums?")
        both = "And the pears?\n\nAnd the plums?"
        await user.until_true(lambda: kept(journal).text == both, "a kill would not lose them")

    async def second(user: Driver) -> None:
        await user.until_true(lambda: len(user.transcript.entries) > 1, "the end is there")
        assert user.composer.text() == "And the pears?\n\nAnd the plums?"

    go(["--resume", SESSION_ID], first)
    go(["--resume", SESSION_ID], second)


def test_a_title_that_is_given_while_the_session_is_being_opened_outlives_the_window(
    go: Go, journal: Path, slow: SlowBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine, opening a long session may take longer than a user would wait.
    monkeypatch.setattr("desktop_agent.app.sessions.open_sessions.FILING_WAIT_S", 120)

    async def journey(user: Driver) -> None:
        await user.until_true(lambda: len(user.transcript.entries) > 1, "the end is there")
        user.window.panels.sessions.rename_requested.emit(SESSION_ID, "Fruit")
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(0.2, slow.go_on.set)  # while the window closes

    go(["--resume", SESSION_ID], journey)
    assert b'"Fruit"' in journal.read_bytes()


def test_what_was_sent_to_a_session_that_cannot_be_opened_is_a_draft_again(
    go: Go, journal: Path, slow: SlowBench
) -> None:
    slow.error = StorageError("The session could not be read.", hint="Check the permissions.")

    async def journey(user: Driver) -> None:
        composer = user.composer
        await send_while_it_opens(user, "And the pears?")
        slow.go_on.set()
        await user.until_true(lambda: composer.text() == "And the pears?", "it is given back")
        assert not user.transcript.turns.queued
        assert "could not be read" in "".join(user.banner)
        (await user.see(QPushButton, "bannerDismissButton")).click()
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: "could not be read" in "".join(user.banner), "it is reported again")
        await user.until_true(lambda: composer.text() == "And the pears?", "as often as it is sent")
        assert not user.transcript.turns.queued

    go(["--resume", SESSION_ID], journey)


def _shows_papaya(user: Driver, index: int) -> bool:
    entry = user.window.panels.transcript.rows[index].entry
    return isinstance(entry, TextEntry) and "papaya" in entry.text


def test_a_session_that_is_being_opened_can_be_deleted(go: Go, journal: Path, slow: SlowBench) -> None:
    async def journey(user: Driver) -> None:
        await send_while_it_opens(user, "And the pears?")
        user.window.panels.sessions.action_requested.emit("delete", (SESSION_ID,))
        question = await user.see(QMessageBox, "deleteSessionDialog")
        part(question, QPushButton, "deleteSessionButton").click()
        slow.go_on.set()
        await user.until_true(lambda: not journal.parent.exists(), "it is gone")
        await user.until_true(lambda: not user.transcript.session.session_id, "a new conversation is shown")
        await user.until_true(lambda: kept(journal).is_empty, "what was sent went with it")
        assert not user.banner

    go(["--resume", SESSION_ID], journey)


def test_a_draft_outlives_a_session_that_cannot_be_opened(go: Go, journal: Path, slow: SlowBench) -> None:
    drafts = Drafts(AppPaths.from_environment(os.environ).data / "drafts")
    drafts.save(session_draft(SESSION_ID), SavedDraft("My precious words"))
    slow.error = StorageError("The session could not be read.", hint="Check the permissions.")
    slow.go_on.set()

    async def journey(user: Driver) -> None:
        await user.until_true(lambda: "could not be read" in "".join(user.banner), "it is reported")
        assert user.composer.text() == "My precious words"

    go(["--resume", SESSION_ID], journey)
    assert kept(journal).text == "My precious words"


def test_a_prompt_that_an_earlier_process_left_is_taken_back_while_its_session_is_being_opened(
    go: Go, journal: Path, slow: SlowBench
) -> None:
    async def journey(user: Driver) -> None:
        await user.until_true(lambda: len(user.transcript.turns.queued) == 1, "it waits")
        handle = user.window.panels.session.handle
        assert handle is not None
        handle.submit(Unqueue(prompt_id="p-left"))
        slow.go_on.set()
        await user.until_true(lambda: len(user.transcript.pages) > 10, "the whole session is known")
        await user.until_true(lambda: not user.transcript.turns.queued, "it is taken back")

    left = ev.Queued(prompt_id="p-left", text="And the figs?")
    blobs = Blobs(AppPaths.from_environment(os.environ).blobs)
    write_journal(journal, blobs, [left], first=len(journal.read_bytes().splitlines()) + 1)
    go(["--resume", SESSION_ID], journey)
