"""MCP servers in the real settings: added, tested, switched and removed without a process left.

A folder is open, since otherwise the welcome may come first. Without a session, a server runs only during its test.
"""

import json
import os
import shlex
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QPushButton

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.mcp.definition_file import read_definitions
from desktop_agent.core.settings.loading import load_settings
from desktop_agent.ui.settings.server_card import ServerCard
from desktop_agent.ui.settings.servers_page import ServersPage
from desktop_agent.ui.settings.setting_controls import Switch
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from tests.app.conftest import Go
from tests.app.signing import BrowserOfTheDesktop
from tests.core.mcp.conftest import PROGRAM
from tests.core.mcp.program import TOOLS
from tests.e2e.driver import Driver
from tests.memory_keyring import MemoryKeyring, use_keyring
from tests.parts import visible_texts
from tests.servers.browser import UserInBrowser
from tests.servers.mcp_authorization import wanting_a_sign_in
from tests.servers.threaded import in_thread

pytestmark = pytest.mark.usefixtures("qapp")


async def open_page(user: Driver) -> SettingsDialog:
    dialog = await user.open_settings()
    assert isinstance(dialog, SettingsDialog)
    dialog.show_section("mcp")
    return dialog


async def add(user: Driver, name: str, where: str) -> None:
    await user.click("addServerButton")
    (await user.see(QLineEdit, "serverNameEdit")).setText(name)
    (await user.see(QLineEdit, "serverWhereEdit")).setText(where)
    await user.click("confirmAddServerButton")


async def see_text(user: Driver, dialog: QDialog, words: str) -> None:
    await user.until_true(lambda: any(words in text for text in visible_texts(dialog)), f"{words!r} is shown")


def defined() -> list[tuple[str, bool, tuple[str, ...]]]:
    path = AppPaths.from_environment(os.environ).settings_file()
    found = read_definitions(load_settings(path, os.environ).tables)
    return [(server.name, server.is_enabled, server.disabled_tools) for server in found.servers]


def test_a_server_is_added_tested_switched_and_removed(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        dialog = await open_page(user)
        await add(user, "mine", shlex.join((sys.executable, "-S", str(PROGRAM))))
        tools = await user.see(QPushButton, "serverToolsButton")
        await see_text(user, dialog, f"{len(TOOLS)} tools")
        tools.click()
        await user.until_true(lambda: bool(switches(dialog, "Use the tool hang")), "the tools are listed")
        switches(dialog, "Use the tool hang")[0].click()
        await user.until_true(lambda: defined() == [("mine", True, ("hang",))], "the tool is switched off")
        await see_text(user, dialog, f"{len(TOOLS) - 1} of {len(TOOLS)} tools")
        (await user.see(Switch, "serverSwitch")).click()
        await user.until_true(lambda: defined() == [("mine", False, ("hang",))], "the server is switched off")
        await user.click("removeServerButton")
        await user.click("reallyRemoveServerButton")
        await user.until_true(lambda: not defined() and user.find(ServerCard, "serverCard") is None, "it is removed")
        await user.press(Qt.Key.Key_Escape)

    go([str(project)], journey)


def test_a_server_that_does_not_start_is_mended_on_its_card_or_not_kept(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        dialog = await open_page(user)
        await add(user, "gone", "no-such-program-anywhere --now")
        await see_text(user, dialog, "Failed.")
        assert any(
            "no-such-program-anywhere" in text for text in visible_texts(dialog) if "gone" not in text.split()[:1]
        )
        await see_text(user, dialog, "The test failed.")
        await user.click("keepServerButton")
        await user.click("editServerButton")
        mended = shlex.join((sys.executable, "-S", str(PROGRAM)))
        (await user.see(QLineEdit, "serverWhereEdit")).setText(mended)
        await user.click("confirmAddServerButton")
        await see_text(user, dialog, f"{len(TOOLS)} tools")
        await add(user, "away", "no-such-program-anywhere")
        await user.see(QPushButton, "keepServerButton")
        dialog.reject()
        await user.until_true(lambda: defined() == [("gone", True, ())], "the other one is removed")
        said = "The MCP server away failed its test, and was removed from your settings."
        await user.until_true(lambda: said in user.banner, "and the window says so")

    go([str(project)], journey)


def test_a_server_that_failed_its_test_is_not_kept_when_the_program_ends_before_the_answer(
    go: Go, project: Path
) -> None:
    async def journey(user: Driver) -> None:
        await open_page(user)
        await add(user, "gone", "no-such-program-anywhere")
        await user.see(QPushButton, "keepServerButton")
        user.window.request_quit()
        await user.see_window_close()

    go([str(project)], journey)
    assert defined() == []


def test_secrets_in_the_settings_are_moved_when_the_server_is_saved(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    path = AppPaths.from_environment(os.environ).settings_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'[[mcp.definitions]]\nname = "mine"\ncommand = {json.dumps(sys.executable)}\n'
        f'args = ["-S", {json.dumps(str(PROGRAM))}]\nenv = {{ API_TOKEN = "sesame", LEVEL = "2" }}\n'
    )

    async def journey(user: Driver) -> None:
        dialog = await open_page(user)
        await user.click("editServerButton")
        await user.click("confirmAddServerButton")
        await user.until_true(lambda: "Moved to the keyring: API_TOKEN." in visible_texts(dialog), "it is said")
        assert "sesame" not in path.read_text()
        assert 'secret_env = ["API_TOKEN"]' in path.read_text()
        assert "sesame" in backend.entries.values()
        await user.see(QPushButton, "serverToolsButton")
        await user.press(Qt.Key.Key_Escape)

    go([str(project)], journey)


def test_servers_of_another_tool_are_imported_and_what_is_left_out_is_named(
    go: Go, project: Path, tmp_path: Path
) -> None:
    theirs = {"mine": {"command": "uvx", "args": ["x"]}, "old": {"type": "sse", "url": "https://mcp.example"}}
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps({"mcpServers": theirs}))

    async def journey(user: Driver) -> None:
        dialog = await open_page(user)
        page = dialog.findChild(ServersPage)
        assert page is not None
        page.import_file(str(file))
        await user.see(ServerCard, "serverCard")
        await see_text(user, dialog, "Imported: mine.")
        assert any("Left out: old: the old SSE" in text for text in visible_texts(dialog))
        assert defined() == [("mine", True, ())]
        await user.press(Qt.Key.Key_Escape)

    go([str(project)], journey)


def switches(dialog: QDialog, name: str) -> list[Switch]:
    return [each for each in dialog.findChildren(Switch) if each.accessibleName() == name]


def test_the_user_signs_in_from_the_card_and_what_is_kept_goes_with_the_server(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    server, _ = wanting_a_sign_in()

    async def journey(user: Driver) -> None:
        dialog = await open_page(user)
        await add(user, "far", server.url)
        await user.see(QPushButton, "serverSignInButton")
        assert "It needs you to sign in." in visible_texts(dialog)
        async with UserInBrowser() as at_the_browser:
            with BrowserOfTheDesktop(at_the_browser) as desktop:
                await user.click("serverSignInButton")
                await see_text(user, dialog, "handshake")
        assert len(desktop.opened) == 1
        assert backend.entries
        await user.click("removeServerButton")
        await user.click("reallyRemoveServerButton")
        await user.until_true(lambda: not defined() and not backend.entries, "nothing is kept of it")
        await user.press(Qt.Key.Key_Escape)

    with in_thread(server):
        go([str(project)], journey)
