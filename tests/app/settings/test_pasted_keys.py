"""A key goes only into its own field, wherever it is pasted."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QLabel, QLineEdit, QPlainTextEdit, QWidget

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.dialects.responses import RESPONSES
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")

CTRL = Qt.KeyboardModifier.ControlModifier
KEY = "sk-ant-test-000000000000"


async def key_field(user: Driver) -> QLineEdit:
    return await user.see(QLineEdit, "apiKeyEdit")


def shown(user: Driver) -> str:
    fields = [*user.window.main_window.findChildren(QLineEdit), *user.window.main_window.findChildren(QLabel)]
    return "\n".join(field.text() for field in fields if field.objectName() != "apiKeyEdit")


def test_a_key_pasted_elsewhere_in_the_welcome_goes_to_its_field(go: Go) -> None:
    async def journey(user: Driver) -> None:
        await user.see(QDialog, "onboardingDialog")
        for _ in range(5):
            await user.press(Qt.Key.Key_Down)
        await user.click("otherAddressButton")
        await user.press(Qt.Key.Key_Down)
        await user.click("enterAddressButton")
        name = await user.see(QLineEdit, "newAccountNameEdit")
        await user.until_true(name.hasFocus, "the name has the keyboard")
        QGuiApplication.clipboard().setText(KEY)
        name.paste()
        field = await key_field(user)
        await user.until_true(lambda: field.text() == KEY and field.hasFocus(), "the key is where it belongs")
        assert name.text() == ""
        assert KEY not in shown(user)

    go([], journey)


def test_a_key_pasted_into_another_field_of_the_settings_goes_to_its_own(go: Go) -> None:
    async def journey(user: Driver) -> None:
        await user.close_welcome()
        await user.press(Qt.Key.Key_Comma, CTRL)
        other = await user.see(QLineEdit, "settingsSearch")
        other.window().activateWindow()
        other.setFocus()
        await user.until_true(other.hasFocus, "the field has the keyboard")
        said: list[str] = []
        other.textChanged.connect(said.append)
        QGuiApplication.clipboard().setText(f" {KEY}\n")
        other.paste()
        field = await key_field(user)
        await user.until_true(lambda: field.text() == KEY and field.hasFocus(), "the key is where it belongs")
        assert not any(KEY in text for text in said)
        assert KEY not in shown(user)
        assert field.echoMode() is QLineEdit.EchoMode.Password
        await user.press(Qt.Key.Key_Escape)

    go([], journey)


def test_a_key_pasted_into_the_message_is_not_written_there(go: Go) -> None:
    async def journey(user: Driver) -> None:
        await user.see(QDialog, "onboardingDialog")
        await user.press(Qt.Key.Key_Escape)
        user.composer.set_text("before")
        [edit] = user.composer.findChildren(QPlainTextEdit)
        QGuiApplication.clipboard().setText(KEY)
        edit.paste()
        field = await key_field(user)
        await user.until_true(lambda: field.text() == KEY, "the key is offered to be kept")
        assert user.composer.text() == "before"
        await user.press(Qt.Key.Key_Escape)
        QGuiApplication.clipboard().setText("put sk-ant- keys away")
        edit.paste()
        assert user.composer.text() == "beforeput sk-ant- keys away"
        assert user.find(QWidget, "settingsDialog") is None

    go([], journey)


THEIRS = "sk-ant-test-000000000000"
TYPED = "sk-proj-test-111111111111"


def words(dialog: QDialog) -> str:
    return "\n".join(label.text() for label in dialog.findChildren(QLabel))


def test_the_key_of_the_chosen_provider_is_checked_and_no_other_is_sent(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        dialog = await user.open_settings()
        await user.type("apiKeyEdit", TYPED)
        await user.click("checkKeyButton")
        await user.until_true(lambda: "The key works." in words(dialog), "the key was checked")
        await user.press(Qt.Key.Key_Escape)

    monkeypatch.setenv("ANTHROPIC_API_KEY", THEIRS)
    with serve(dialect=RESPONSES) as server:
        settings = AppPaths.from_environment(os.environ).settings_file()
        save_setting(settings, "model.provider", "openai")
        save_setting(settings, "model.base_url", server.url)
        go([str(project)], journey)  # without a folder the welcome may come before the settings
        sent = [exchange.headers.get("authorization", "") for exchange in server.exchanges]
    assert sent == [f"Bearer {TYPED}"]
