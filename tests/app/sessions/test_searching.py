"""From a word in the search field to its place in another conversation."""

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListView

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.store.journal.journal import Journal
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


def test_what_was_said_long_ago_is_found_and_shown(go: Go, tmp_path: Path, isolated_home: Path) -> None:
    folder = tmp_path / "orchard"
    folder.mkdir()
    bench = Workbench.from_environment()
    session_id = write_session(bench, folder)

    async def journey(user: Driver) -> None:
        await user.press(Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        await user.type("searchField", "quince")
        results = await user.see(QListView, "searchResults")
        await user.until_true(lambda: results.model().rowCount() > 0, "the place is found")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: user.transcript.session.session_id == session_id, "the session is shown")
        view = user.window.panels.transcript
        await user.until_true(
            lambda: any(
                isinstance(row.entry, ev.PromptSubmitted) and row.entry.turn == 3 and row.widget is not None
                for row in view.row_layout.widgets.live
            ),
            "the turn is in view",
        )

    go([str(folder), "--provider", "demo"], journey)


def write_session(bench: Workbench, folder: Path) -> str:
    async def create() -> str:
        session = await bench.create_session(folder, sink=lambda _: None)
        session.submit(ops.Shutdown())
        await session.run()
        return session.id

    session_id = asyncio.run(create())  # noqa: TID251 - no loop runs yet
    journal, _ = Journal.open(bench.catalog.journal_path(session_id), bench.blobs)
    for turn in range(1, 61):
        text = "Where is the quince?" if turn == 3 else f"Prompt {turn}\n" + "more of it\n" * 8
        event = ev.PromptSubmitted(turn=turn, prompt_id=f"p-{turn}", text=text)
        journal.append(event.stamped(turn + 1, ev.UNSTAMPED), is_durable=False)
    journal.close()
    return session_id
