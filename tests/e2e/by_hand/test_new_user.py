"""A new user's way from the first command to the first reviewed change, on a small screen."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assistive import reading
from tests.command_line import PROGRAM
from tests.e2e.by_hand.guide import stated_actions
from tests.e2e.by_hand.screen import Onlooker, screen
from tests.session_bus import session_bus

SIZE = (1366, 768)
LIMIT_S = 60.0
LIMIT_CLICKS = 6


@pytest.mark.nightly
@pytest.mark.realwindow
def test_the_first_reviewed_change_takes_six_clicks_and_less_than_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("DESKTOP_AGENT_HOME")
    seen: dict[str, list[str]] = {}
    with screen(*SIZE) as display:
        monkeypatch.setenv("DISPLAY", display)
        with session_bus() as address, reading(address) as reader:
            environ = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": address, "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}
            start = time.monotonic()
            with subprocess.Popen(PROGRAM, env=environ, cwd=home) as application:
                try:
                    user = Onlooker(reader, *SIZE)
                    for step in steps(user):
                        seen[step] = user.everything_outside()
                    took_s = time.monotonic() - start
                finally:
                    application.send_signal(signal.SIGTERM)
                    application.wait()
    with capsys.disabled():
        print(f"\na new user: {user.clicks} clicks, {took_s:.0f} s")
    assert not [where for found in seen.values() for where in found]
    assert user.clicks == stated_actions()["See the demo change a file, from the first start on, and keep it"].mouse
    assert user.clicks <= LIMIT_CLICKS
    assert took_s <= LIMIT_S


def steps(user: Onlooker) -> Iterator[str]:
    user.click("demoButton")
    user.see_text("MessageEdit", "One of the tests")
    yield "the demo's prompt"
    user.click("sendButton")
    for number in range(3):
        user.click("Allow once")
        yield f"after question {number + 1}"
    user.click("keepAllButton")
    yield "kept"
