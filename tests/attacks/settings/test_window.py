"""With broken settings the window opens, says so, and runs nothing until they are fixed or the user decides."""

from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLabel

from tests.app.conftest import Go, go
from tests.attacks.settings.test_rules_and_projects import BROKEN_RULES
from tests.e2e.driver import Driver

__all__ = ["go"]

pytestmark = pytest.mark.usefixtures("qapp")

BROKEN = '[execution]\nsandbox = "strct"\nblocked_commands = ["rm"]\n'


@pytest.fixture
def config(isolated_home: Path) -> Path:
    path = isolated_home / "desktop-agent" / "config"
    path.mkdir(parents=True)
    return path


def mend(file: Path) -> None:
    file.write_text(BROKEN.replace("strct", "strict"))


def held(user: Driver) -> list[str]:
    return [
        label.text() for label in user.window.panels.conversation.hold_banner.findChildren(QLabel) if label.isVisible()
    ]


async def try_to_send(user: Driver) -> None:
    composer = user.window.panels.composer
    text = composer.text()
    assert text
    await user.click("sendButton")
    await user.until_true(lambda: bool(user.banner) and composer.text() == text, "the prompt comes back")


async def begin_and_stop(user: Driver) -> None:
    await user.click("sendButton")
    await user.until_true(lambda: user.transcript.turn == 1, "the turn begins")
    await user.stop_turn()  # by the action: a question may cover the button by now


def test_nothing_runs_until_the_file_is_mended(go: Go, config: Path) -> None:
    file = config / "config.toml"
    file.write_text(BROKEN)

    async def journey(user: Driver) -> None:
        await user.until_true(lambda: bool(held(user)), "the banner says so")
        assert f"{file}:2: execution.sandbox: 'strct' is not one of restricted, strict, none" in held(user)[1]
        await try_to_send(user)
        assert f"{file}:2" in user.window.panels.conversation.banner.toolTip()
        assert user.transcript.turn == 0
        mend(file)
        await user.until_true(lambda: not held(user), "the banner goes")
        await begin_and_stop(user)
        assert user.window.panels.judges.execution_in(user.transcript.session.workspace).sandbox == "strict"

    go(["--demo"], journey)


def test_the_file_is_opened_and_the_user_may_decide(go: Go, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = config / "config.toml"
    file.write_text(BROKEN)
    opened: list[str] = []

    def open_url(url: QUrl) -> None:
        opened.append(url.toLocalFile())

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)

    async def journey(user: Driver) -> None:
        await user.click("openFaultyFileButton")
        await user.until_true(lambda: opened == [str(file)], "the file is opened")
        await user.click("useDefaultsButton")
        await user.until_true(lambda: not held(user), "the banner goes")
        execution = user.window.panels.judges.execution_in(user.transcript.session.workspace)
        assert (execution.sandbox, execution.blocked_commands) == ("restricted", ("rm",))
        await begin_and_stop(user)

    go(["--demo"], journey)


def test_broken_rules_hold_the_window_as_well(go: Go, config: Path) -> None:
    file = config / "rules.toml"
    file.write_text(BROKEN_RULES[0].text)

    async def journey(user: Driver) -> None:
        await user.until_true(lambda: bool(held(user)), "the banner says so")
        assert f"{file}:8: rule 2: effect must be one of allow, ask, forbid" in held(user)[1]
        await try_to_send(user)
        await user.click("useDefaultsButton")
        await user.until_true(lambda: not held(user), "the banner goes")
        await begin_and_stop(user)

    go(["--demo"], journey)
