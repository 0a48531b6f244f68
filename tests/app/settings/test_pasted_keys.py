"""A key goes only into its own field, wherever it is pasted."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QLabel, QLineEdit, QPlainTextEdit, QWidget

from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")

CTRL = Qt.KeyboardModifier.ControlModifier
KEY = "sk-ant-test-000000000000"


async def key_field(user: Driver) -> QLineEdit:
    return await user.see(QLineEdit, "apiKeyEdit")


def shown(user: Driver) -> str:
    fields = [*user.window.main_window.findChildren(QLineEdit), *user.window.main_window.findChildren(QLabel)]
    return "\n".join(field.text() for field in fields if field.objectName() != "apiKeyEdit")


def test_the_welcome_leads_to_the_field_for_the_key(go: Go) -> None:
    async def journey(user: Driver) -> None:
        await user.see(QDialog, "onboardingDialog")
        await user.press(Qt.Key.Key_Down)
        await user.click("enterKeyButton")
        field = await key_field(user)
        await user.until_true(field.hasFocus, "the field for the key has the keyboard")
        await user.press(Qt.Key.Key_Escape)
        await user.see(QWidget, "enterKeyButton")
        await user.press(Qt.Key.Key_Escape)
        await user.until_true(lambda: user.find(QWidget, "onboardingDialog") is None, "the welcome has closed")

    go([], journey)


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


@pytest.mark.parametrize("name", ["settingsSearch", "baseUrlEdit"])
def test_a_key_pasted_into_another_field_of_the_settings_goes_to_its_own(go: Go, name: str) -> None:
    async def journey(user: Driver) -> None:
        await user.close_welcome()
        await user.press(Qt.Key.Key_Comma, CTRL)
        other = await user.see(QLineEdit, name)
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
