from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.memory_keyring import HeldKeyring, use_keyring
from tests.parts import visible_texts
from tests.still_running import still_running

pytestmark = pytest.mark.usefixtures("qapp")


def test_the_demo_starts_with_a_prompt_to_send(go: Go) -> None:
    async def journey(user: Driver) -> None:
        bar = user.window.main_window.top_bar
        assert bar.workspace_button.text() == "pagination ▾"
        assert bar.demo_label.isVisible()
        assert user.composer.text().startswith("One of the tests fails")
        empty = user.window.panels.transcript.status.empty
        assert any("Send the message below" in text for text in visible_texts(empty))
        assert not any(button.isVisible() for button in empty.findChildren(QPushButton)), "it is in the field already"
        assert user.find(QWidget, "onboardingDialog") is None
        await user.until_true(lambda: "fix/off-by-one" in bar.branch_button.text(), "the branch is shown")

    go(["--demo"], journey)


@pytest.mark.parametrize("wanted", [["no such folder"], ["--resume", "nothing-like-it"]])
def test_what_cannot_be_opened_is_said_and_the_welcome_offers_another_way(go: Go, wanted: list[str]) -> None:
    async def journey(user: Driver) -> None:
        assert user.banner
        assert any(wanted[-1] in text for text in [*user.banner, user.window.panels.conversation.banner.toolTip()])
        await user.see(QWidget, "onboardingDialog")

    go(wanted, journey)


def test_without_a_folder_a_prompt_is_kept_and_the_welcome_opens_again(
    go: Go, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(isolated_home)  # where a desktop starts its applications

    async def journey(user: Driver) -> None:
        await user.close_welcome()
        assert user.window.main_window.top_bar.workspace_button.text() == "Choose a folder ▾"
        await user.type("composer", "A long and careful question")
        await user.press(Qt.Key.Key_Return)
        await user.see(QWidget, "onboardingDialog")
        assert user.composer.text() == "A long and careful question"

    go([], journey)


def test_the_welcome_does_not_open_over_settings_that_the_user_opened_before(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = HeldKeyring()
    use_keyring(monkeypatch, keyring)
    monkeypatch.chdir(project)

    async def journey(user: Driver) -> None:
        await user.open_settings()
        assert "_welcome_without_key" in still_running()
        keyring.let_go.set()
        await user.until_true(lambda: "_welcome_without_key" not in still_running(), "the keyring has answered")
        assert user.find(QWidget, "onboardingDialog") is None
        await user.press(Qt.Key.Key_Escape)

    go([], journey)
