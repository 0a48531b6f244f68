"""A key is checked only with its provider, at the address of its account."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLabel

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.dialects.responses import RESPONSES
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")

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
