"""The window without eyes and mouse: a screen reader's way through a turn of the demo, over AT-SPI."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from tests.assistive import GoneError, Reader, reading
from tests.session_bus import session_bus

pytestmark = pytest.mark.realwindow

CONTROLS = {
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
    "inboxButton": "Inbox, nothing waits",
}
"""What the window shows from the start, and how it is named, with its value where it has one."""


LATER = {
    "sessionList": "Sessions",
    "changeList": "Changed files",
    "diffView": "Changes in .*pages.py: .*",
    "contextMeter": "Context used",
    "redoButton": "Redo",
}
"""What is there once there was a turn."""


def check_names(reader: Reader, controls: Mapping[str, str]) -> None:
    """Every control is there under its name."""
    for name in controls:
        reader.wait_for(name)
    named: dict[str, str] = {}
    for thing in reader.everything():
        named.setdefault(thing.object_name, thing.name)
    assert {name: named[name] for name in controls if not re.fullmatch(controls[name], named[name])} == {}


def check_words(reader: Reader) -> None:
    """Every button has a name, and no description is markup."""
    shown = list(reader.everything())
    assert [thing.object_name for thing in shown if "<p" in thing.description] == []
    assert [thing.object_name for thing in shown if thing.role == "push button" and not thing.name] == []


@pytest.fixture
def reader(tmp_path: Path) -> Generator[Reader]:
    """A screen reader, and the application with the demo."""
    home = tmp_path / "home"
    home.mkdir()
    with session_bus() as address:
        environ = os.environ | {
            "HOME": str(home),
            "DBUS_SESSION_BUS_ADDRESS": address,
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        }
        with (
            reading(address) as reader,
            subprocess.Popen([sys.executable, "-m", "desktop_agent", "--demo"], env=environ) as application,
        ):
            try:
                yield reader
            finally:
                application.send_signal(signal.SIGTERM)
                application.wait()


def test_a_turn_of_the_demo_is_asked_for_answered_seen_and_undone_through_actions(reader: Reader) -> None:
    send = reader.wait_for("sendButton")
    check_names(reader, CONTROLS)
    check_words(reader)

    message = reader.wait_for("MessageEdit")
    message.write(f"{message.text} Thank you.")
    assert "Thank you." in message.text
    send.press()
    file = Path(reader.wait_for("workspaceButton").description) / "pagination" / "pages.py"
    broken = file.read_bytes()
    while reader.find("undoTurnButton") is None:
        if (allow := reader.find("Allow once")) is not None:
            with suppress(GoneError):
                allow.press()  # a question that has just come takes no answer yet
        reader.wait()
    undo = reader.wait_for("undoTurnButton")
    assert file.read_bytes() != broken
    undo.press()
    reader.wait_for("redoButton")
    check_names(reader, LATER)
    check_words(reader)
    assert file.read_bytes() == broken
