"""A long session in the real application: its end at once, the rest as it is looked at."""

import os
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLineEdit

from desktop_agent.core import events as ev
from desktop_agent.core.ops import RenameSession
from desktop_agent.core.paths import AppPaths
from desktop_agent.core.resuming.opening import LONG_BYTES
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.snapshot import SNAPSHOT_NAME
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.journals import SESSION_ID, opened, turn, write_journal

TURNS = 160


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A session that is too long to be folded in a moment; one turn of it says what the others do not."""
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


def kinds_in_view(person: Driver) -> set[str]:
    view = person.window.desk.transcript
    top, bottom = view.top_edge, view.top_edge + view.viewport().height()
    rows = (row for row in view.live_rows if view.row_top(row) < bottom)
    return {row.entry.kind for row in rows if view.row_top(row) + view.rows.heights[row.index] > top}


def test_a_long_session_is_read_from_its_end_to_its_beginning(go: Go, journal: Path) -> None:
    async def journey(person: Driver) -> None:
        view = person.window.desk.transcript
        person.window.desk.sessions.session_chosen.emit(SESSION_ID)
        await person.until_true(lambda: "text" in kinds_in_view(person), "the end is there")
        await person.until_true(lambda: len(person.transcript.pages) > 10, "the whole session is known")
        assert journal.with_name(SNAPSHOT_NAME).exists()
        assert person.transcript.turn == TURNS
        assert len(person.transcript.prompts) == TURNS
        view.scroll_to_top()
        await person.until_true(lambda: "prompt" in kinds_in_view(person), "the beginning is there")
        assert "page" not in kinds_in_view(person)
        assert person.transcript.entries[0].kind == "prompt"
        view.show_call("c80-0")
        await person.until_true(lambda: person.transcript.tool_entry("c80-0") is not None, "the call is there")

    go(["--resume", SESSION_ID], journey)


def test_a_search_finds_what_is_on_a_page_that_was_never_loaded(go: Go, journal: Path) -> None:
    async def journey(person: Driver) -> None:
        view = person.window.desk.transcript
        await person.until_true(lambda: len(person.transcript.pages) > 10, "the whole session is known")
        person.window.desk.window.actions_.find.trigger()
        await person.type("findField", "papaya")
        await person.until_true(lambda: any(_shows_papaya(person, row.index) for row in view.live_rows), "the match")
        field = await person.see(QLineEdit, "findField")
        assert field.text() == "papaya"

    go(["--resume", SESSION_ID], journey)


def test_what_is_asked_while_a_session_is_being_opened_waits_for_it(go: Go, journal: Path) -> None:
    async def journey(person: Driver) -> None:
        await person.until_true(lambda: len(person.transcript.entries) > 1, "the end is there")
        person.window.desk.wiring.submit(RenameSession(title="Fruit"))
        await person.until_true(lambda: person.transcript.title == "Fruit", "the title came")
        assert len(person.transcript.pages) > 10

    go(["--resume", SESSION_ID], journey)


def _shows_papaya(person: Driver, index: int) -> bool:
    entry = person.window.desk.transcript.rows[index].entry
    return entry.kind == "text" and "papaya" in entry.text
