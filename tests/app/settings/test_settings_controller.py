"""Settings while the window is open: edits take effect, errors are reported, projects need trust."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from desktop_agent.ui.palette import CommandPalette
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from desktop_agent.ui.widgets.buttons import Switch
from tests.app.conftest import Go
from tests.core.mcp.conftest import PROGRAM
from tests.e2e.driver import Driver
from tests.parts import part, visible_texts
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture
def file(isolated_home: Path) -> Path:
    path = isolated_home / "desktop-agent" / "config" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    (folder / ".desktop-agent").mkdir(parents=True)
    write(folder / ".desktop-agent" / "config.toml", '[execution]\napproval = "always"\nsandbox = "none"\n')
    return folder


def write(path: Path, text: str) -> None:
    path.write_text(text)


def test_an_edit_of_the_file_takes_effect_and_a_broken_one_is_told_without_filling_the_window(
    go: Go, file: Path
) -> None:
    async def journey(user: Driver) -> None:
        write(file, '[ui]\ntheme = "dark"\n')
        await user.until_true(lambda: user.window.theme.colours.is_dark, "the window is dark")
        write(file, "[ui\n")
        await user.until_true(lambda: bool(user.banner), "the banner says so")
        title, hint = user.banner
        assert title == "Some of your settings cannot be used. The previous values apply."
        assert hint.startswith(f"{file}:1: is not valid TOML")
        assert user.window.theme.colours.is_dark

        wrong = "\n".join(f"key{number} = 1" for number in range(300))
        write(file, f"[ui]\ntheme = '{'x' * 20_000}'\n{wrong}\n")
        await user.until_true(lambda: "not valid TOML" not in user.banner[1], "the banner says what is wrong now")
        lines = user.banner[1].splitlines()
        assert len(lines) == 4
        assert max(map(len, lines)) <= 300
        assert lines[-1] == "And 298 more."

    go(["--demo"], journey)


def test_a_setting_is_searched_changed_and_taken_back_by_keyboard(go: Go, file: Path) -> None:
    write(file, "# mine\n")

    async def journey(user: Driver) -> None:
        dialog = await user.open_settings()
        (await user.see(QLineEdit, "settingsSearch")).setText("longest command")
        name = "Command time limit, seconds"

        def found() -> QLineEdit | None:
            named = (line for line in dialog.findChildren(QLineEdit) if line.accessibleName() == name)
            return next((line for line in named if line.isVisible()), None)

        field = await user.until(found, "the setting is found")  # it is built in steps of a few milliseconds
        field.setFocus()
        await user.press(Qt.Key.Key_9)
        await user.press(Qt.Key.Key_Return)
        saved = "# mine\n\n[execution]\ntimeout_seconds = 9.0\n"
        await user.until_true(lambda: saved.split() == read(file).split(), "it is saved")
        undo = await user.see(QPushButton, "undoSettingButton")
        assert any("Command time limit: set by each call → 9 seconds." in text for text in visible_texts(dialog))
        undo.click()
        await user.until_true(lambda: "timeout" not in read(file), "it is taken back")
        await user.until_true(lambda: field.text() == "", "the field shows that")
        field.setText("soon")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(
            lambda: any("is not a number" in text for text in visible_texts(dialog)), "what cannot be used is refused"
        )
        assert "timeout" not in read(file)
        await user.press(Qt.Key.Key_Escape)

    go(["--demo"], journey)


def test_the_settings_file_is_opened_and_made_if_there_is_none(
    go: Go, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> None:
        opened.append(url.toLocalFile())

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    file = isolated_home / "desktop-agent" / "config" / "config.toml"

    async def journey(user: Driver) -> None:
        await user.press(Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        await user.click("openSettingsFileButton")
        await user.until_true(lambda: opened == [str(file)], "it is opened")
        assert read(file).startswith("# The settings of Desktop Agent.")
        await user.press(Qt.Key.Key_Escape)

    go(["--demo"], journey)


def test_a_project_is_asked_about_and_holds_when_it_is_trusted(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        banner = await user.see(QWidget, "projectBanner")
        assert any("Approvals: Asks before writing → Asks before every call" in text for text in visible_texts(banner))
        assert any("execution.sandbox: refused" in text for text in visible_texts(banner))
        assert user.transcript.session.approval == "on_write"
        await user.click("projectBannerTrust")
        await user.until_true(lambda: user.transcript.session.approval == "always", "it holds")
        assert not banner.isVisible()

    async def again(user: Driver) -> None:
        assert user.transcript.session.approval == "always"
        banner = user.window.panels.conversation.project_banner
        assert banner.isHidden()
        write(project / ".desktop-agent" / "config.toml", "[tools.limits]\nmax_lines = 100\n")
        await user.until_true(banner.isVisible, "the changed file is asked about")
        await user.click("projectBannerDetails")
        dialog = await user.see(SettingsDialog, "settingsDialog")
        line = "Lines of a result: 800 lines → 100 lines"
        await user.until_true(lambda: line in visible_texts(dialog), "what it would change is listed")
        await user.click("ignoreProjectButton")
        await user.until_true(banner.isHidden, "it is answered")
        await user.press(Qt.Key.Key_Escape)

    go([str(project), "--provider", "demo"], journey)
    go([str(project), "--provider", "demo"], again)


def test_a_changed_hook_is_listed_answered_about_again_and_switched_off(go: Go, project: Path, file: Path) -> None:
    (project / ".claude").mkdir()
    hook = {"matcher": "Bash", "hooks": [{"command": "sh check.sh"}]}
    write(project / ".claude" / "settings.json", json.dumps({"hooks": {"PreToolUse": [hook]}}))
    write(project / "check.sh", "exit 0\n")

    async def journey(user: Driver) -> None:
        await user.click("projectBannerTrust")
        dialog = await user.open_settings()

        def says(words: str) -> bool:
            return any(words in text for text in visible_texts(dialog))

        dialog.show_section("hooks")
        switch = await user.see(Switch, "extensionSwitch")
        await user.until_true(switch.isChecked, "it is in force")
        await asyncio.to_thread(write, project / "check.sh", "exit 2\n")
        dialog.show_section("skills")
        dialog.show_section("hooks")
        await user.until_true(lambda: says("changed since your answer"), "the page says that it changed")
        await user.click("answerProjectButton")
        await user.until_true(lambda: says("(changed since you answered)"), "so does the question")
        await user.click("trustProjectButton")
        await user.until_true(lambda: says("You trust this project"), "it is trusted again")
        dialog.show_section("hooks")
        switch = await user.see(Switch, "extensionSwitch")
        await user.until_true(lambda: switch.isChecked() and switch.isEnabled(), "it is in force again")
        switch.click()
        await user.until_true(lambda: file.exists() and "[hooks]" in read(file), "it is switched off")
        await user.until_true(lambda: not switch.isChecked(), "the page shows that")
        await user.press(Qt.Key.Key_Escape)

    go([str(project), "--provider", "demo"], journey)


def test_a_server_whose_script_changed_waits_until_the_project_is_trusted_again(go: Go, project: Path) -> None:
    lines = ["[[mcp.definitions]]", 'name = "notes"', f'command = "{sys.executable}"', 'args = ["server.py"]']
    write(project / ".desktop-agent" / "config.toml", "\n".join(lines))
    write(project / "server.py", read(PROGRAM))

    async def journey(user: Driver) -> None:
        await user.click("projectBannerTrust")
        dialog = await user.open_settings()

        def says(words: str) -> bool:
            return any(words in text for text in visible_texts(dialog))

        dialog.show_section("mcp")
        await user.click("restartServerButton")
        await user.until_true(lambda: says("Running"), "it runs")
        await asyncio.to_thread(write, project / "server.py", f"open('ran', 'w').close()\n{read(PROGRAM)}")
        await user.click("restartServerButton")
        await user.until_true(lambda: says("Waiting for your answer"), "it is not started")
        assert says("Files that it runs are not as you trusted them, so it was not started.")
        banner = user.window.panels.conversation.project_banner
        await user.until_true(lambda: "(changed since you answered)" in banner.accessibleName(), "it is asked about")
        assert not (project / "ran").exists()
        await user.click("answerProjectButton")
        await user.until_true(lambda: says("(changed since you answered)"), "the page has the question, too")
        await user.click("trustProjectButton")
        await user.until_true(lambda: says("You trust this project"), "it is trusted again")
        dialog.show_section("mcp")
        await user.click("restartServerButton")
        await user.until_true(lambda: says("Running") and (project / "ran").exists(), "it runs as it is now")
        await user.press(Qt.Key.Key_Escape)

    go([str(project), "--provider", "demo"], journey)


def test_language_servers_are_listed_with_what_they_do_and_switched_off(
    go: Go, project: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("basedpyright-langserver", "pyright-langserver"):
        write(tmp_path / "bin" / name, "#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    async def journey(user: Driver) -> None:
        dialog = await user.open_settings()
        dialog.show_section("diagnostics")

        def says(*words: str) -> bool:
            texts = visible_texts(dialog)
            return all(any(word in text for text in texts) for word in words)

        starts = "Starts when a file of these types changes: .py .pyi"
        await user.until_true(lambda: says(starts, "basedpyright does the same", "gopls"), "they are listed")
        switch = await user.see(Switch, "extensionSwitch")
        switch.click()
        await user.until_true(lambda: file.exists() and "[diagnostics]" in read(file), "it is switched off")
        await user.until_true(lambda: says(starts) and not says("does the same"), "the other one is used")
        await user.press(Qt.Key.Key_Escape)

    go([str(project), "--provider", "demo"], journey)


def test_the_state_of_a_language_server_is_shown_as_it_changes(
    go: Go, file: Path, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del key
    project, program = tmp_path / "project", tmp_path / "bin" / "basedpyright-langserver"
    for folder in (project, program.parent):
        folder.mkdir()
    write(program, "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.1; done\necho No types today. >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    with file.open("a") as settings:
        settings.write('[execution]\napproval = "never"\n')

    async def journey(user: Driver) -> None:
        dialog = await user.open_settings()
        dialog.show_section("diagnostics")

        async def says(words: str) -> None:
            await user.until_true(lambda: any(words in text for text in visible_texts(dialog)), words)

        await says("Starts when a file of these types changes: .py .pyi")
        user.composer.set_text("Write it")
        part(user.window.main_window, QPushButton, "sendButton").click()
        await says("Is starting, and then checks .py .pyi")
        (project / "go").touch()
        await says("It ended with exit code 3. No types today")
        await user.press(Qt.Key.Key_Escape)

    with serve(reply(tool_use("create_file", path="a.py", content="")), reply(text("Done."))) as server:
        go([str(project), "--base-url", server.url], journey)


def read(path: Path) -> str:
    return path.read_text()


def test_both_are_made_before_they_are_opened_first_and_the_dialog_anew_later(go: Go) -> None:
    async def journey(user: Driver) -> None:
        window = user.window.main_window
        await user.until_true(lambda: window.findChild(SettingsDialog) is not None, "the dialog is made")
        made = window.findChild(SettingsDialog)
        assert made is not None
        assert made.isHidden()
        await user.press(Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        assert await user.see(SettingsDialog, "settingsDialog") is made
        await user.press(Qt.Key.Key_Escape)
        await user.until_true(lambda: window.findChild(SettingsDialog) is None, "the dialog has ended")
        await user.open_settings()
        await user.press(Qt.Key.Key_Escape)
        palette = window.findChild(CommandPalette)
        assert palette is not None
        await user.press(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        assert await user.see(CommandPalette, "commandPalette") is palette

    go(["--demo"], journey)
