"""A screen reader's way through a turn of the demo, over AT-SPI."""

import re
import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from tests.assistive import PATIENCE_S, Announcement, GoneError, Reader, application_read
from tests.servers.script import Refusal
from tests.servers.threaded import serve

pytestmark = pytest.mark.realwindow

PROMISED = (
    *("mainWindow", "workspaceButton", "sessionList", "newSessionButton", "fileTree", "fileFilter"),
    *("transcript", "composer", "sendButton", "stopButton", "attachButton", "modelPicker", "approvalPicker"),
    *("sandboxPicker", "contextMeter", "costLabel", "reviewPanel", "baselinePicker", "changeList", "diffView"),
    *("diffModeButton", "keepHunkButton", "undoHunkButton", "commentHunkButton", "nextUndecidedButton"),
    *("keepAllButton", "undoTurnButton", "redoButton", "approvalDialog", "approvalSummary"),
    *("approvalCommandEdit", "approvalDiffView", "approvalRiskNote", "approvalScopePicker", "approveButton"),
    *("denyButton", "denyMessageEdit", "inboxButton", "jobsPanel", "searchField", "commandPalette"),
    *("settingsDialog", "apiKeyEdit", "onboardingDialog", "demoButton", "undoConflictDialog"),
)
"""Object names that other programs rely on."""


WELCOME = {
    "onboardingDialog": "Welcome",
    "apiKeyEdit": "API key",
}


CONTROLS = {
    "mainWindow": "Desktop Agent",
    "workspaceButton": r"Workspace folder: .+",
    "newSessionButton": "New session",
    "fileTree": "Files",
    "fileFilter": "Filter files",
    "transcript": "Conversation",
    "composer": "Composer",
    "sendButton": "Send",
    "attachButton": r"Mention files…",
    "modelPicker": r"Model: Demo model",
    "approvalPicker": r"Approvals: Asks before writing",
    "sandboxPicker": r"Sandbox: .+",
    "reviewPanel": "Review",
    "inboxButton": "Inbox, nothing waiting",
}


ASKED = {
    "stopButton": "Stop this turn",
    "approvalDialog": "Approval",
    "approvalSummary": r"run_terminal_cmd · in .+",
    "approvalCommandEdit": "Command",
    "approvalScopePicker": "Only this once",
    "approveButton": "Allow once",
    "denyButton": "Deny",
    "denyMessageEdit": "Message to the agent if you deny",
}


RISKY = {"approvalRiskNote": "Risks"}


LATER = {
    "sessionList": "Sessions",
    "changeList": "Changed files",
    "diffView": "Changes in .*pages.py: .*",
    "diffModeButton": "Side by side",
    "baselinePicker": r"Last turn \(1\)",
    "keepHunkButton": "Keep line 8",
    "undoHunkButton": "Undo line 8",
    "commentHunkButton": "Comment on line 8",
    "nextUndecidedButton": "Next undecided change",
    "keepAllButton": "Keep all",
    "undoTurnButton": "Undo turn",
    "contextMeter": "Context used",
    "costLabel": "Cost of this session",
}


OPENED = {
    "commandPalette": "Command palette",
    "searchField": "Search all sessions",
    "jobsPanel": "Background commands",
    "settingsDialog": "Settings",
}


DESCRIBED = {"contextMeter": r"[\d\s]+ of [\d\s]+ tokens, .+", "costLabel": r"This session: \$0.00\n(.|\n)+"}
"""The values of controls without a name."""


WITHOUT_A_PLACE = frozenset({"approvalDiffView", "demoButton", "redoButton", "undoConflictDialog"})
"""Waited for by name."""


def check_names(reader: Reader, controls: Mapping[str, str]) -> None:
    named: dict[str, str] = {}
    end = time.monotonic() + PATIENCE_S
    while not controls.keys() <= named.keys():
        assert time.monotonic() < end, f"never came: {controls.keys() - named.keys()}"
        if named:
            reader.wait()
        named.clear()
        for thing in reader.everything():
            with suppress(GoneError):
                named.setdefault(thing.object_name, thing.name)
    assert {name: named[name] for name in controls if not re.fullmatch(controls[name], named[name])} == {}


def check_words(reader: Reader) -> None:
    """Check that buttons have names, names are one line, and descriptions have no markup."""
    shown = list(reader.everything())
    assert [(thing.object_name, thing.name) for thing in shown if "\n" in thing.name] == []
    assert [thing.object_name for thing in shown if "<p" in thing.description] == []
    assert [thing.object_name for thing in shown if thing.role == "push button" and not thing.name] == []


@pytest.fixture
def reader(tmp_path: Path) -> Generator[Reader]:
    with application_read(tmp_path / "home") as reader:
        yield reader


def test_every_control_of_the_contract_is_looked_for() -> None:
    looked_for = {*WELCOME, *CONTROLS, *ASKED, *RISKY, *LATER, *OPENED, *WITHOUT_A_PLACE}
    assert set(PROMISED) <= looked_for


def test_a_first_start_and_a_turn_of_the_demo_are_done_through_actions(reader: Reader) -> None:
    begin_the_demo(reader)
    check_names(reader, CONTROLS)
    check_words(reader)

    message = reader.wait_for("MessageEdit")
    message.write(f"{message.text} Thank you.")
    assert "Thank you." in message.text
    reader.wait_for("sendButton").press()
    file = Path(reader.wait_for("workspaceButton").description) / "pagination" / "pages.py"
    broken = file.read_bytes()
    asked = reader.wait_for_announcement("Wants to run a command")
    assert asked == Announcement("Wants to run a command: python3 -m unittest discover -s tests -t .", is_urgent=True)
    answer_in_the_dialog(reader)
    while not any("The agent has finished" in one.text for one in reader.announced()):
        if (allow := reader.find("Allow once")) is not None:
            with suppress(GoneError):
                allow.press()  # a question that has just come takes no answer yet
        reader.wait()
    assert reader.wait_for_announcement("The agent has finished") == Announcement(
        "The agent has finished", is_urgent=False
    )
    check_names(reader, LATER)
    check_words(reader)
    for name, value in DESCRIBED.items():
        assert re.fullmatch(value, reader.wait_for(name).description)
    open_places(reader)

    mended = file.read_bytes()
    assert mended != broken
    file.write_bytes(mended.replace(b"// size", b"// (size)"))
    reader.wait_for("undoTurnButton").press()
    reader.wait_for("undoConflictDialog")
    check_words(reader)
    reader.wait_for("keepMineButton").press()
    file.write_bytes(mended)
    reader.wait_for("undoTurnButton").press()
    reader.wait_for("redoButton")
    assert file.read_bytes() == broken


def test_what_went_wrong_is_said_at_once(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    environment = {"ANTHROPIC_API_KEY": "sk-ant-test-000000000000", "DESKTOP_AGENT_HOME": str(tmp_path / "agent")}
    with (
        serve(Refusal(401, "authentication_error", "invalid x-api-key")) as server,
        application_read(tmp_path / "home", str(project), "--base-url", server.url, **environment) as reader,
    ):
        reader.wait_for("MessageEdit").write("Hello")
        while (button := reader.find("sendButton")) is not None:
            button.press()  # a window that is still being opened gives the message back
            reader.wait()
        assert reader.wait_for_announcement("key").is_urgent
        assert not reader.wait_for_announcement("The turn failed").is_urgent
        (tmp_path / "agent" / "config" / "config.toml").write_text('[ui]\ntheme = "pink"\n')
        assert reader.wait_for_announcement("Some of your settings cannot be used").is_urgent


def begin_the_demo(reader: Reader) -> None:
    reader.wait_for("Enter an API key").press()
    reader.wait_for("enterKeyButton").press()
    check_names(reader, WELCOME)
    reader.wait_for("Back").press()
    reader.wait_for("Try the demo").press()
    reader.wait_for("demoButton").press()
    reader.wait_for("fileTree")
    reader.wait_for("sendButton")


def answer_in_the_dialog(reader: Reader) -> None:
    """Open the question, edit its command into a dangerous one and back, and allow it."""
    reader.wait_for("Review…").press()
    check_names(reader, ASKED)
    command = reader.wait_for("approvalCommandEdit")
    asked = command.text
    command.write("rm -rf ../elsewhere")
    check_names(reader, RISKY)
    check_words(reader)
    command.write(asked)
    while reader.find("approvalDialog") is not None:
        if (allow := reader.find("approveButton")) is not None:
            with suppress(GoneError):
                allow.press()
        reader.wait()
    reader.wait_for("Review…").press()
    reader.wait_for("approvalDiffView")


def open_places(reader: Reader) -> None:
    reader.wait_for("paletteButton").press()
    check_names(reader, {"commandPalette": OPENED["commandPalette"]})
    reader.wait_for("searchButton").press()
    check_names(reader, {"searchField": OPENED["searchField"]})
    reader.choose("Menu", "Show", "Background commands")
    check_names(reader, {"jobsPanel": OPENED["jobsPanel"]})
    reader.wait_for("Hide background commands").press()
    reader.choose("Menu", "Settings…")
    check_names(reader, {"settingsDialog": OPENED["settingsDialog"]})
    check_words(reader)
    reader.wait_for("Close").press()
