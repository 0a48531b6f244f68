"""A screen reader's way through a turn of the demo, over AT-SPI."""

import re
import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from operator import attrgetter
from pathlib import Path

import pytest

from tests.assistive import PATIENCE_S, Announcement, GoneError, Reader, Thing, application_read
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
    "jobsPanel": "Background work",
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
    wrong: list[tuple[str, str, str]] = []
    for thing in reader.everything():
        with suppress(GoneError):
            name, description = thing.name, thing.description
            if "\n" in name or "<p" in description or (thing.role == "push button" and not name):
                wrong.append((thing.object_name, name, description))
    assert wrong == []


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

    reader.use(lambda message: message.write(f"{message.text} Thank you."), "MessageEdit")
    assert "Thank you." in reader.use(attrgetter("text"), "MessageEdit")
    reader.press("sendButton")
    file = Path(reader.use(attrgetter("description"), "workspaceButton")) / "pagination" / "pages.py"
    broken = file.read_bytes()
    asked = reader.wait_for_announcement("Wants to run a command")
    assert asked == Announcement("Wants to run a command: python3 -m unittest discover -s tests -t .", is_urgent=True)
    answer_in_the_dialog(reader)
    while not any("The agent has finished" in one.text for one in reader.announced()):
        reader.use_if_there(Thing.press, "Allow once")  # a question that has just come takes no answer yet
        reader.wait()
    assert reader.wait_for_announcement("The agent has finished") == Announcement(
        "The agent has finished", is_urgent=False
    )
    check_names(reader, LATER)
    check_words(reader)
    for name, value in DESCRIBED.items():
        assert re.fullmatch(value, reader.use(attrgetter("description"), name))
    open_places(reader)

    mended = file.read_bytes()
    assert mended != broken
    file.write_bytes(mended.replace(b"// size", b"// (size)"))
    reader.press("undoTurnButton")
    reader.wait_for("undoConflictDialog")
    check_words(reader)
    reader.press("keepMineButton")
    file.write_bytes(mended)
    reader.press("undoTurnButton")
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
        reader.use(lambda message: message.write("Hello"), "MessageEdit")
        while reader.find("sendButton") is not None:
            reader.use_if_there(Thing.press, "sendButton")  # a window that is being opened gives the message back
            reader.wait()
        assert reader.wait_for_announcement("key").is_urgent
        assert not reader.wait_for_announcement("The turn failed").is_urgent
        (tmp_path / "agent" / "config" / "config.toml").write_text('[ui]\ntheme = "pink"\n')
        assert reader.wait_for_announcement("Some of your settings cannot be used").is_urgent


def begin_the_demo(reader: Reader) -> None:
    reader.press("Enter an API key")
    reader.press("enterKeyButton")
    check_names(reader, WELCOME)
    reader.press("Back")
    reader.press("Try the demo")
    reader.press("demoButton")
    reader.wait_for("fileTree")
    reader.wait_for("sendButton")


def answer_in_the_dialog(reader: Reader) -> None:
    """Open the question, edit its command into a dangerous one and back, and allow it."""
    reader.press("Review…")
    check_names(reader, ASKED)
    asked: str = reader.use(attrgetter("text"), "approvalCommandEdit")
    reader.use(lambda command: command.write("rm -rf ../elsewhere"), "approvalCommandEdit")
    check_names(reader, RISKY)
    check_words(reader)
    reader.use(lambda command: command.write(asked), "approvalCommandEdit")
    while reader.find("approvalDialog") is not None:
        reader.use_if_there(Thing.press, "approveButton")
        reader.wait()
    reader.press("Review…")
    reader.wait_for("approvalDiffView")


def open_places(reader: Reader) -> None:
    reader.press("paletteButton")
    check_names(reader, {"commandPalette": OPENED["commandPalette"]})
    reader.press("searchButton")
    check_names(reader, {"searchField": OPENED["searchField"]})
    reader.choose("Menu", "Show", "Background work")
    check_names(reader, {"jobsPanel": OPENED["jobsPanel"]})
    reader.press("Hide background work")
    reader.choose("Menu", "Settings…")
    check_names(reader, {"settingsDialog": OPENED["settingsDialog"]})
    check_words(reader)
    reader.press("Close")
