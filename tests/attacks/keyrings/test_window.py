"""The window opens, checks keys and quits while a keyring never answers, and says so."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLabel

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from tests.app.conftest import Go, go
from tests.attacks.corpus import cases
from tests.attacks.keyrings.conftest import bus, secret_service
from tests.attacks.keyrings.service import Mode
from tests.e2e.driver import Driver
from tests.servers.threaded import serve

__all__ = ["bus", "go", "secret_service"]

pytestmark = pytest.mark.usefixtures("qapp")

Start = Callable[[Mode], None]


def words(dialog: QDialog) -> str:
    return "\n".join(label.text() for label in dialog.findChildren(QLabel) if label.isVisible())


# A call that a silent keyring never answers is abandoned with its connection.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_the_window_quits_while_the_keyring_waits_for_the_user(go: Go, secret_service: Start, tmp_path: Path) -> None:
    secret_service("locked")

    async def journey(user: Driver) -> None:
        await user.until_true(lambda: "Waiting for the keyring" in " ".join(user.banner), "it says so")

    go([], journey)


# A call that a silent keyring never answers is abandoned with its connection.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.parametrize("mode", cases(["locked", "silent", "erring", "vanishing"], str))
def test_a_typed_key_can_be_checked_whatever_the_keyring_does(go: Go, secret_service: Start, mode: Mode) -> None:
    secret_service(mode)

    async def journey(user: Driver) -> None:
        await user.press(Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        dialog = await user.see(QDialog, "settingsDialog")
        await user.type("apiKeyEdit", "sk-ant-test-000000000000")
        await user.click("checkKeyButton")
        await user.until_true(lambda: "The key works." in words(dialog), "the key was checked")
        await user.press(Qt.Key.Key_Escape)

    with serve() as server:
        save_setting(AppPaths.from_environment(os.environ).settings_file(), "model.base_url", server.url)
        go([], journey)
