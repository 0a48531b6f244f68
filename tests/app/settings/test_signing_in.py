"""Accounts sign in and out in the real settings, also after a sign-in that ended during a turn."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QPushButton, QWidget

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.settings.settings_file import save_setting
from tests.app.conftest import Go
from tests.app.signing import BrowserOfTheDesktop, service
from tests.e2e.driver import Driver, ask_for_no_titles
from tests.memory_keyring import MemoryKeyring, use_keyring
from tests.parts import visible_texts
from tests.servers import fault
from tests.servers.browser import UserInBrowser
from tests.servers.dialects.responses import RESPONSES
from tests.servers.script import reply, text

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> MemoryKeyring:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    ask_for_no_titles()
    save_setting(AppPaths.from_environment(os.environ).settings_file(), "model.provider", "openai")
    return backend


def added() -> list[str]:
    return [
        each.name for each in AccountsFile(AppPaths.from_environment(os.environ).config / "accounts.toml").load().added
    ]


def said(user: Driver) -> str:
    dialog = user.find(QDialog, "settingsDialog")
    return "\n".join(visible_texts(dialog)) if dialog else ""


async def open_settings(user: Driver) -> None:
    if user.find(QDialog, "onboardingDialog") is not None:
        await user.press(Qt.Key.Key_Escape)
    await user.open_settings()


async def sign_in(user: Driver) -> None:
    await user.click("accountSignInButton")
    await user.until_true(lambda: "You are signed in, and OpenAI (chatgpt) answers." in said(user), "it is checked")


def test_an_account_signs_in_is_checked_and_signs_out(
    go: Go, project: Path, keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        async with UserInBrowser() as browser:
            with BrowserOfTheDesktop(browser):
                await open_settings(user)
                await sign_in(user)
                assert added() == ["chatgpt"]
                await user.click("checkSignInButton")
                await user.see(QPushButton, "checkSignInButton")
                assert user.find(QLineEdit, "apiKeyEdit") is None
                out = await user.see(QPushButton, "removeAccountButton")
                assert out.text() == "Sign out"
                await user.click("removeAccountButton")
                await user.click("reallyRemoveAccountButton")
                await user.until_true(lambda: added() == [] and not keyring.entries, "nothing of it is kept")
                await user.press(Qt.Key.Key_Escape)

    with service(monkeypatch, RESPONSES):
        go([str(project)], journey)


def test_a_token_that_is_revoked_in_a_turn_is_asked_about_once_and_signed_in_again(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        async with UserInBrowser() as browser:
            with BrowserOfTheDesktop(browser):
                await open_settings(user)
                await sign_in(user)
                await user.press(Qt.Key.Key_Escape)
                server.revoke()
                await user.type("composer", "What does it do?")
                await user.press(Qt.Key.Key_Return)
                await user.see(QPushButton, "signInAgainButton")
                assert [notice.code for notice in user.notices] == ["signed_out"]
                assert len(models.messages) == 1, "one refresh was tried, and nothing was sent again"
                await user.click("signInAgainButton")
                await user.until_true(lambda: "answers." in said(user), "it is signed in again, and checked")
                await user.press(Qt.Key.Key_Escape)
                await user.until_true(lambda: user.find(QWidget, "settingsDialog") is None, "the settings have closed")
                again = next(
                    button
                    for button in user.window.main_window.findChildren(QPushButton)
                    if button.text() == "Try again" and button.isVisible()
                )
                again.click()
                await user.until_true(lambda: len(models.messages) == 2, "the model is asked again")
                await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has ended")
                assert user.transcript.turns.last_end == "completed"

    with service(monkeypatch, RESPONSES, fault.unauthorized(), reply(text("It prints."))) as (server, models):
        go([str(project)], journey)
