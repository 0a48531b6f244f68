"""The real window: the reference server of files writes a file, which is reviewed and undone like the agent's own."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.ui.review.diff.diff_view import DiffView
from tests.e2e.driver import Driver, drive
from tests.e2e.test_journey_of_a_changed_tool import see_ready
from tests.npm.programs import npm_program
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

BEFORE = b"one\r\ntwo\xff\n"


@pytest.mark.realwindow
@pytest.mark.usefixtures("qapp")
def test_what_the_reference_server_of_files_writes_is_shown_and_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]
) -> None:
    expected_logs.append("the window stands still")  # a test process has a larger heap, and shares its cores
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    folder = tmp_path / "project"
    folder.mkdir()
    notes = folder / "notes.txt"
    notes.write_bytes(BEFORE)
    command, *args = npm_program("mcp-server-filesystem")
    settings = AppPaths.from_environment().settings_file()
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(
        f'[model]\ngenerates_titles = false\n[[mcp.definitions]]\nname = "files"\ncommand = {json.dumps(command)}\n'
        f"args = {json.dumps([*args, str(folder)])}\n"
    )

    async def journey(user: Driver) -> None:
        await see_ready(user)
        await user.type("composer", "Write the notes.")
        await user.press(Qt.Key.Key_Return)
        await user.allow_with_mouse()
        await user.see_turn_end()
        assert notes.read_text() == "theirs\n"
        view = await user.see(DiffView, "diffView")
        await user.until_true(lambda: "theirs" in "".join(view.document.rows.diff.new_lines), "the diff is shown")
        await user.click("undoTurnButton")
        await user.until_true(lambda: notes.read_bytes() == BEFORE, "the file is as it was, to the byte")
        await user.quit_with_key()

    write = tool_use("files__write_file", path=str(notes), content="theirs\n")
    with serve(reply(text("I write them."), write), reply(text("Done."))) as server:
        drive([str(folder), "--base-url", server.url], tmp_path, journey)
