"""The real settings find a local server, recognise its kind, and offer its models."""

import os

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.dialects.local import OLLAMA
from tests.servers.ports import free_port
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp", "patient_looks")


def choose(provider: str, address: str) -> None:
    settings = AppPaths.from_environment(os.environ).settings_file()
    save_setting(settings, "model.provider", provider)
    save_setting(settings, "model.base_url", address)


async def note(user: Driver) -> str:
    await user.press(Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    return (await user.see(QLabel, "localServerNote")).text()


def test_a_server_that_is_started_meanwhile_is_found_by_looking_again(go: Go) -> None:
    async def journey(user: Driver) -> None:
        assert await note(user) == f"Ollama is not running on 127.0.0.1:{port}. Start it with “ollama serve”."
        with serve(dialect=OLLAMA, asks_for_key=False, port=port):
            await user.click("lookAgainButton")
            assert user.find(QPushButton, "lookAgainButton") is None, "it is being looked for"
            label = await user.see(QLabel, "localServerNote")
            await user.until_true(lambda: "with one model" in label.text(), "the server was found")
            await user.see(QPushButton, "lookAgainButton")
            box = await user.see(QComboBox, "modelNameEdit")
            assert [box.itemText(index) for index in range(box.count())] == ["qwen3:8b"]
            assert box.currentText() == "", "none is chosen for the user"
        await user.press(Qt.Key.Key_Escape)

    port = free_port()
    choose("ollama", f"http://127.0.0.1:{port}/v1")
    go([], journey)
