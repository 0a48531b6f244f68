"""The real window: another program's agent is chosen, asked, allowed, reviewed, and left for a model and back."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListView

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.transcript import TextEntry
from desktop_agent.ui.chat.cards.approval import ApprovalCard
from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.window.mode_pickers import OptionsButton
from tests.core.agents.scene import POEM, PROGRAM, call, ended, said
from tests.e2e.driver import Driver, drive
from tests.servers.script import reply, text
from tests.servers.threaded import serve

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
BOTH = POEM.replace("line 2\n", "LINE 2\n").replace("line 39\n", "LINE 39\n")
MODELS = [{"value": "small", "name": "Small & quick"}, {"value": "large", "name": "Large"}]
SCRIPT: dict[str, Any] = {
    "options": [
        {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "small",
         "options": MODELS},
        {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": False},
    ],
    "prompts": [
        [
            {"update": {"sessionUpdate": "available_commands_update", "availableCommands": [
                {"name": "review", "description": "Review what changed"}]}},
            call("1", "edit", "Edit poem.txt", locations=[{"path": "poem.txt"}]),
            {"ask": {"toolCallId": "1"}}, {"write": ["poem.txt", BOTH]}, {"end": True}, ended("1"),
            call("2", "execute", "echo made > shell.txt", rawInput={"command": "echo made > shell.txt"}),
            {"ask": {"toolCallId": "2"}}, {"run": "echo made > shell.txt"}, {"end": True}, ended("2", "ran"),
            said("Two lines are loud now."),
        ],
        [said("I am back.")],
    ],
}  # fmt: skip


def define_agent(folder: Path) -> Path:
    """Define the scripted agent in the user's settings. Return where its lines are logged."""
    script, log = folder / "script.json", folder / "lines"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    settings = AppPaths.from_environment().settings_file()
    settings.parent.mkdir(parents=True, exist_ok=True)
    args = json.dumps([str(PROGRAM), str(script), str(log)])
    with settings.open("a", encoding="utf-8") as file:
        file.write(f'\n[[agents]]\nname = "poet"\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n')
    return log


@pytest.mark.realwindow
@pytest.mark.usefixtures("ready_to_work")
def test_an_agent_is_chosen_asked_reviewed_and_left_for_a_model_and_back(tmp_path: Path) -> None:
    folder = tmp_path / "my poems"
    folder.mkdir()
    poem, shell = folder / "poem.txt", folder / "shell.txt"
    poem.write_text(POEM)
    log = define_agent(tmp_path)

    async def journey(user: Driver) -> None:
        await user.see_ready()
        await choose(user, "poet")
        button = user.window.panels.pickers.model_button
        assert button.text() == "poet ▾"
        assert not user.window.panels.pickers.sandbox_button.isVisible()
        await user.send("Make it louder.")
        edit = await user.see_card()
        await user.allow_with_mouse()
        await answer_command(user, behind=edit)
        await user.see_turn_end()
        assert (poem.read_text(), shell.read_text()) == (BOTH, "made\n")
        await undo_first_hunk_and_redo(user, poem)
        await set_options(user)
        await user.type("composer", "/rev")
        offered = await user.see(QListView, "commandPopup")
        assert any("review" in str(offered.model().index(row, 0).data()) for row in range(offered.model().rowCount()))
        user.composer.set_text("")
        await choose(user, "sonnet")
        await user.run_turn("And you?")
        assert "Two lines are loud now." in json.dumps(model.messages[-1].fields["messages"])
        await choose(user, "poet")
        await user.run_turn("Again?")
        assert any(isinstance(entry, TextEntry) and entry.text == "I am back." for entry in user.transcript.entries)
        await user.quit()

    with serve(reply(text("I heard of it."))) as model:
        save_setting(AppPaths.from_environment().settings_file(), "model.base_url", model.url)
        drive([str(folder)], tmp_path, journey)
    lines = [line[2:] for line in log.read_text().splitlines() if line.startswith(">")]
    told = [json.loads(line)["params"] for line in lines if '"session/prompt"' in line]
    assert "I heard of it." in json.dumps(told[-1])


async def choose(user: Driver, name: str) -> None:
    await user.press(Qt.Key.Key_M, CTRL_SHIFT)
    rows = await user.see(QListView, "modelList")
    await user.until_true(
        lambda: any(name in str(rows.model().index(at, 0).data()).lower() for at in range(rows.model().rowCount())),
        f"{name} is offered",
    )
    await user.type("modelSearch", name)
    await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: user.find(QListView, "modelList") is None, "the picker has closed")


async def answer_command(user: Driver, *, behind: ApprovalCard) -> None:
    card = await user.see_card(behind=behind)
    assert not card.edit.isVisible()
    assert "cannot be edited" in card.accessibleName()
    await user.allow_with_mouse()


async def undo_first_hunk_and_redo(user: Driver, poem: Path) -> None:
    changes = await user.see(QListView, "changeList")
    await user.until_true(lambda: changes.model().rowCount() == 2, "the edit and the command's file are listed")
    view = await user.see(DiffView, "diffView")
    overlays = view.findChild(DiffReview)
    assert overlays
    await user.until_true(lambda: len(overlays.hunks.keys) == 2, "both hunks are drawn")
    await user.click("undoHunkButton")
    await user.until_true(lambda: poem.read_text() == POEM.replace("line 39\n", "LINE 39\n"), "the first is undone")
    await user.until_true(lambda: overlays.hunks.counts() == (0, 1, 0), "the mark is drawn")
    view.setFocus()
    await user.press(Qt.Key.Key_R)
    await user.until_true(lambda: poem.read_text() == BOTH, "it is made again")


async def set_options(user: Driver) -> None:
    button = await user.see(OptionsButton, "agentOption1")
    assert button.text() == "Small && quick ▾"
    button.menu().actions()[1].trigger()
    await user.until_true(lambda: button.text() == "Large ▾", "the agent has another model")
    rest = await user.see(OptionsButton, "agentOptions")
    rest.menu().actions()[0].trigger()
    await user.until_true(lambda: rest.menu().actions()[0].isChecked() is True, "it is fast")
