"""Plugins in the real settings: looked at, added, changed, allowed again and removed, with nothing left behind."""

import os
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLineEdit, QPushButton

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from tests.app.conftest import Go
from tests.app.settings.test_server_control import see_text
from tests.core.extensions.plugin_folders import COMMAND, claude_plugin, put
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


def kept() -> list[str]:
    folder = AppPaths.from_environment(os.environ).plugins
    return [path.name for path in folder.iterdir()] if folder.exists() else []


async def open_page(user: Driver) -> SettingsDialog:
    dialog = await user.open_settings()
    assert isinstance(dialog, SettingsDialog)
    dialog.show_section("plugins")
    return dialog


async def look_at(user: Driver, source: str) -> None:
    await user.click("addPluginButton")
    (await user.see(QLineEdit, "pluginSourceEdit")).setText(source)
    await user.click("stagePluginButton")


def test_a_plugin_is_shown_added_changed_let_in_and_removed(go: Go, project: Path, tmp_path: Path) -> None:
    source = claude_plugin(tmp_path / "source")

    async def journey(user: Driver) -> None:
        dialog = await open_page(user)
        await see_text(user, dialog, "There are no plugins yet.")
        await look_at(user, str(source))
        await see_text(user, dialog, "server notes: python3 '${CLAUDE_PLUGIN_ROOT}/server.py'")
        assert [name[:5] for name in kept()] == [".new-"]
        await user.click("confirmAddPluginButton")
        await see_text(user, dialog, "Commands: git:commit")
        assert kept() == ["demo"]
        files = AppPaths.from_environment(os.environ).plugins / "demo" / "files"
        put(files, {"check.sh": "true\n"})
        dialog.show_section("skills")
        dialog.show_section("plugins")
        await see_text(
            user, dialog, "It has changed since you allowed it, so it starts nothing until you allow it again."
        )
        await user.click("renewPluginButton")
        renew = next(iter(dialog.findChildren(QPushButton, "renewPluginButton")))
        await user.until_true(lambda: not renew.isVisible(), "it is allowed")
        put(source, {"commands/git/push.md": COMMAND})
        await user.click("updatePluginButton")
        await user.click("confirmAddPluginButton")
        await see_text(user, dialog, "Commands: git:commit, git:push")
        await user.click("removePluginButton")
        await user.click("reallyRemovePluginButton")
        await see_text(user, dialog, "There are no plugins yet.")
        assert kept() == []

    go([str(project)], journey)
