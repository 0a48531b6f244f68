"""Claude's clouds in the real window: set up and checked."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDialog, QLineEdit, QPushButton

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.system.processes import worker_process
from tests.app.conftest import Go
from tests.e2e.driver import Driver, ask_for_no_titles
from tests.memory_keyring import MemoryKeyring, use_keyring
from tests.parts import visible_texts
from tests.servers.dialects.clouds import bedrock
from tests.servers.script import reply, text
from tests.servers.threaded import serve
from tests.system_processes import descendants, running_with

pytestmark = pytest.mark.usefixtures("qapp")

SDK = "desktop_agent.core.providers.sdk_worker"
MODEL = "global.anthropic.claude-sonnet-5-5"
AWS_ID, SECRET = "AKIATESTTESTTEST1234", "a-secret-of-the-test-0123456789"


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> Iterator[MemoryKeyring]:
    worker_process.module_command(SDK)  # the first one imports the SDK, which may take longer than a user waits
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    ask_for_no_titles()
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(isolated_home / "no config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(isolated_home / "no credentials"))
    yield backend
    for file in isolated_home.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()
    assert workers() == [], "they end with the window"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", AWS_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def usual_account_in(region: str) -> Account:
    return replace(usual_account("bedrock"), cloud={"region": region})


def accounts() -> AccountsFile:
    return AccountsFile(AppPaths.from_environment(os.environ).config / ACCOUNTS_NAME)


def workers() -> list[psutil.Process]:
    return running_with("sdk_worker", descendants())


def said(user: Driver) -> str:
    dialogs = (user.find(QDialog, name) for name in ("onboardingDialog", "settingsDialog"))
    return "\n".join(text for dialog in dialogs if dialog is not None for text in visible_texts(dialog))


def test_bedrock_is_set_up_at_the_first_start_and_answers(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch, aws: None
) -> None:
    del aws
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.chdir(project)

    async def journey(user: Driver) -> None:
        await user.see(QDialog, "onboardingDialog")
        for _ in range(4):
            await user.press(Qt.Key.Key_Down)
        await user.press(Qt.Key.Key_Return)
        region = await user.see(QLineEdit, "cloud_region")
        await user.until_true(lambda: region.text() == "eu-central-1", "the environment fills it")
        region.setFocus()
        await user.press(Qt.Key.Key_Return)
        assert (await user.see(QComboBox, "firstModelEdit")).currentText() == MODEL
        assert "Credentials: AWS access key …1234 (env), region eu-central-1." in said(user)
        await user.until_true(lambda: workers() == [], "the process of the check has ended")
        await user.click("beginButton")
        await user.until_true(lambda: user.find(QDialog, "onboardingDialog") is None, "the welcome has closed")
        await user.until_true(lambda: bool(workers()), "the process starts before anything is asked")
        await user.run_turn("What does it do?")

    with serve(reply(text("It prints.")), dialect=bedrock(MODEL)) as server:
        monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", server.url)
        go([], journey)
        assert server.violations == []
        assert len(server.messages) == 1
    assert accounts().load().find("bedrock", "") == usual_account_in("eu-central-1")


def test_missing_credentials_and_a_missing_region_are_said_where_the_account_is(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        if user.find(QDialog, "onboardingDialog") is not None:
            await user.press(Qt.Key.Key_Escape)
        await user.open_settings()
        await user.until_true(lambda: len(workers()) == 1, "the conversation's own process has started")
        await user.click("checkSignInButton")
        await user.until_true(lambda: len(workers()) == 2, "the check has one, too")
        await user.click("cancelSignInButton")
        await user.until_true(lambda: len(workers()) == 1, "the check's has ended")
        await user.click("checkSignInButton")
        await user.see(QPushButton, "cancelSignInButton")
        await user.until_true(lambda: "Amazon Bedrock cannot be asked" in said(user), "the region is missed")
        await user.type("cloud_region", "eu-central-1")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: "Amazon Bedrock cannot be asked" not in said(user), "the region is kept")
        await user.click("checkSignInButton")
        await user.until_true(lambda: "no usable credentials for Amazon Bedrock. Sign in" in said(user), "how is said")
        await user.press(Qt.Key.Key_Escape)

    save_setting(AppPaths.from_environment(os.environ).settings_file(), "model.provider", "bedrock")
    go([str(project)], journey)
    assert accounts().load().find("bedrock", "") == usual_account_in("eu-central-1")
