"""Agents of other programs in the real settings: found, added, tested, changed and removed, without a process left."""

import asyncio
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QPushButton

from desktop_agent.core.agents.definition import AgentDefinition, read_agents
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.loading import load_settings
from desktop_agent.ui.settings.agents_page import AgentCard
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from desktop_agent.ui.terminal.screen_view import TerminalView
from tests.app.conftest import Go
from tests.app.settings.test_server_control import see_text
from tests.cli.test_agents import BROWSER, TERMINAL, scripted, signing
from tests.core.agents.test_definition import program
from tests.e2e.driver import Driver
from tests.memory_keyring import MemoryKeyring, use_keyring

pytestmark = pytest.mark.usefixtures("qapp")


async def open_page(user: Driver) -> SettingsDialog:
    dialog = await user.open_settings()
    assert isinstance(dialog, SettingsDialog)
    dialog.show_section("agents")
    return dialog


def defined() -> tuple[AgentDefinition, ...]:
    path = AppPaths.from_environment(os.environ).settings_file()
    return read_agents(load_settings(path, os.environ).tables).agents


def test_an_agent_is_added_tested_changed_and_removed(
    go: Go, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    line = shlex.join(scripted(tmp_path / "script.json"))

    async def journey(user: Driver) -> None:
        dialog = await open_page(user)
        await user.click("addAgentButton")
        (await user.see(QLineEdit, "agentNameEdit")).setText("mine")
        (await user.see(QLineEdit, "agentWhereEdit")).setText(line)
        (await user.see(QLineEdit, "agentVariableNameEdit")).setText("API_KEY")
        (await user.see(QLineEdit, "agentVariableValueEdit")).setText("sesame")
        await user.click("confirmAddAgentButton")
        await see_text(user, dialog, "It works: scripted 1")
        assert [(agent.name, agent.secrets) for agent in defined()] == [("mine", ("API_KEY",))]
        assert list(backend.entries.values()) == ["sesame"]

        await user.click("editAgentButton")
        (await user.see(QLineEdit, "agentWhereEdit")).setText("sh -c 'exit 3'")
        await user.click("confirmAddAgentButton")
        await see_text(user, dialog, "It ended with exit code 3.")
        assert [(agent.where, agent.secrets) for agent in defined()] == [("sh -c 'exit 3'", ("API_KEY",))]

        await user.click("removeAgentButton")
        await user.click("reallyRemoveAgentButton")
        await user.until_true(lambda: not defined() and user.find(AgentCard, "agentCard") is None, "it is removed")
        assert backend.entries == {}
        await user.press(Qt.Key.Key_Escape)

    go([str(project)], journey)


def test_what_is_installed_is_found_and_set_up_and_zeds_agents_are_taken(
    go: Go, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    started = tmp_path / "started"
    gemini = program(home / ".local/bin/gemini")
    gemini.write_text(f"#!/bin/sh\ntouch {started}\nexit 3\n")
    zed = home / ".config/zed/settings.json"
    zed.parent.mkdir(parents=True)
    servers = {"one": {"command": sys.executable, "args": ["-c", "1"]}, "far": {"type": "registry"}}
    zed.write_text(f"// mine\n{json.dumps({'agent_servers': servers})}")

    async def journey(user: Driver) -> None:
        dialog = await open_page(user)
        await see_text(user, dialog, "Gemini CLI")
        await see_text(user, dialog, "npm install -g @agentclientprotocol/codex-acp")
        assert not started.exists()
        await user.click("testAgentButton")
        await see_text(user, dialog, "It ended with exit code 3.")
        assert started.exists(), "it was found where no PATH leads"
        await user.click("editAgentButton")
        box = await user.see(QComboBox, "agentSandboxPicker")
        box.setCurrentIndex(box.findData("strict"))
        await user.click("confirmAddAgentButton")
        await user.until_true(lambda: [agent.name for agent in defined()] == ["gemini"], "it is defined")
        assert (defined()[0].command, defined()[0].sandbox) == ("gemini", "strict")

        await user.click("zedAgentsButton")
        await see_text(user, dialog, "Imported from Zed: one. Left out: far: Zed installs it for itself")
        assert [agent.name for agent in defined()] == ["gemini", "one"]
        await user.press(Qt.Key.Key_Escape)

    go([str(project)], journey)


def sign_in_script(folder: Path, *methods: dict[str, Any]) -> tuple[list[str], Path]:
    """Return the command line of an agent that wants a sign-in by one of these, and the file with its account."""
    account = folder / "account"
    line = signing(folder / "script.json", account, *methods)
    script = json.loads((folder / "script.json").read_text())
    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Now I can."}}
    (folder / "script.json").write_text(json.dumps(script | {"prompts": [[{"update": said}]]}))
    return line, account


def use_agent(line: list[str]) -> None:
    settings = AppPaths.from_environment(os.environ).settings_file()
    settings.parent.mkdir(parents=True, exist_ok=True)
    command, args = json.dumps(line[0]), json.dumps(line[1:])
    chosen = (
        f'[model]\nprovider = "acp"\nname = "mine"\n\n[[agents]]\nname = "mine"\ncommand = {command}\nargs = {args}\n'
    )
    settings.write_text(chosen)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no terminal")
def test_the_notice_of_a_failed_turn_signs_in_in_the_terminal_and_the_turn_is_tried_again(
    go: Go, project: Path, tmp_path: Path
) -> None:
    line, account = sign_in_script(tmp_path, TERMINAL)
    use_agent(line)

    async def journey(user: Driver) -> None:
        await user.send("Go")
        await user.click("agentSignInButton")
        view = await user.see(TerminalView, "terminalScreen")
        await user.until_true(lambda: "Signing in as mo. Type yes:" in view.recent_text(20), "it asks")
        QTest.keyClicks(view, "no")
        QTest.keyClick(view, Qt.Key.Key_Return)
        assert (await user.see(QLabel, "terminalState")).text() == "Ended with code 4."
        assert not account.exists()
        await user.click("dismissSignInButton")
        await user.click("agentSignInButton")
        await user.until_true(lambda: view.recent_text(20).strip().endswith("Type yes:"), "it asks again")
        QTest.keyClicks(view, "yes")
        QTest.keyClick(view, Qt.Key.Key_Return)
        again = await user.see(QPushButton, "retryAfterSignInButton")
        assert account.read_text() == "terminal"
        assert not view.isVisible(), "the panel is as before"
        again.click()
        await user.until_true(lambda: "Now I can." in str(user.transcript.entries[-2:]), "the turn is made")
        await user.see_turn_end()

    go([str(project)], journey)


def test_an_agent_signs_in_by_itself_from_the_notice_and_from_its_card_and_can_be_cancelled(
    go: Go, project: Path, tmp_path: Path
) -> None:
    line, account = sign_in_script(tmp_path, BROWSER, {"id": "wait", "name": "A slow browser"})
    use_agent(line)
    waits = tmp_path / "account-waits"
    os.mkfifo(waits)

    async def journey(user: Driver) -> None:
        await user.send("Go")
        await user.see(QPushButton, "agentSignInButton")
        buttons = user.window.main_window.findChildren(QPushButton, "agentSignInButton")
        assert [button.text() for button in buttons] == ["A browser…", "A slow browser…"]
        buttons[1].click()
        assert await asyncio.to_thread(waits.read_text) == "it waits"
        await user.click("cancelAgentSignInButton")
        await user.until_true(lambda: user.find(QPushButton, "cancelAgentSignInButton") is None, "the bar has gone")

        dialog = await open_page(user)
        await user.click("testAgentButton")
        await see_text(user, dialog, "scripted is not signed in.")
        (first, _) = dialog.findChildren(QPushButton, "agentSignInButton")
        first.click()
        await see_text(user, dialog, "It works: scripted 1")
        assert account.read_text() == "browser"
        await user.press(Qt.Key.Key_Escape)

    go([str(project)], journey)
