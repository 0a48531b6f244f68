"""After a fault, the card or banner of the real window leads to a way out that works."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit, QPushButton, QToolButton, QWidget

from desktop_agent.app.settings.settings_dialog import Setup
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers import fault
from tests.servers.anthropic_server import Exchange
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp", "key")

WORDS = "my precious words"
NEW_KEY = "sk-ant-test-111111111111"


def find_button(user: Driver, label: str) -> QPushButton | None:
    buttons = user.window.main_window.findChildren(QPushButton)
    return next((button for button in buttons if button.text() == label and button.isVisible()), None)


async def click_label(user: Driver, label: str) -> None:
    button = await user.until(lambda: find_button(user, label), f"a button {label!r}")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


async def ended(user: Driver, reason: str, turn: int = 1) -> None:
    def has_ended() -> bool:
        return user.transcript.turn == turn and not user.transcript.turns.is_running

    await user.until_true(has_ended, f"turn {turn} has ended")
    assert user.transcript.turns.last_end == reason


def codes(user: Driver) -> list[str]:
    return [notice.code for notice in user.notices]


def draft(user: Driver) -> str:
    return user.composer.text()


def given_key(exchange: Exchange) -> str:
    return exchange.headers.get("x-api-key") or exchange.headers["authorization"].removeprefix("Bearer ")


def test_once_there_is_a_key_the_prompt_is_asked_again(go: Go, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with serve(reply(text("Hello."))) as server:

        async def journey(user: Driver) -> None:
            await user.send(WORDS)
            await ended(user, "provider_error")
            (notice,) = user.notices
            assert (notice.code, notice.title) == ("no_key", "There is no API key for Anthropic.")
            assert "Settings" in notice.hint
            await click_label(user, "Open settings")
            await user.see(SettingsDialog, "settingsDialog")
            await user.press(Qt.Key.Key_Escape)
            monkeypatch.setenv("ANTHROPIC_API_KEY", NEW_KEY)
            await click_label(user, "Try again")
            await ended(user, "completed", turn=2)

        go([str(project), "--base-url", server.url], journey)
        assert WORDS in str(server.messages[0].fields["messages"])


def test_what_the_provider_refuses_is_tried_again_with_the_key_of_now(
    go: Go, project: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(fault.unauthorized(), reply(text("Hello."))) as server:

        async def journey(user: Driver) -> None:
            await user.send(WORDS)
            await ended(user, "provider_error")
            (notice,) = user.notices
            assert "key" in f"{notice.title} {notice.hint}"
            assert key not in f"{notice.title} {notice.hint} {notice.detail}"
            monkeypatch.setenv("ANTHROPIC_API_KEY", NEW_KEY)
            await click_label(user, "Try again")
            await ended(user, "completed", turn=2)

        go([str(project), "--base-url", server.url], journey)
        assert [given_key(exchange) for exchange in server.messages] == [key, NEW_KEY]
        assert [WORDS in str(message.fields["messages"]) for message in server.messages] == [True, True]


async def change_setting(user: Driver, key: str, value: str) -> None:
    setup = user.window.findChild(Setup) or user.window.main_window.findChild(Setup)
    assert setup is not None
    setup.open()
    dialog = await user.see(SettingsDialog, "settingsDialog")
    dialog.settings_actions.change(key, value)
    await user.see(QPushButton, "undoSettingButton")
    dialog.reject()
    await user.until_true(lambda: user.find(SettingsDialog, "settingsDialog") is None, "the settings are closed")


def test_a_changed_address_and_model_reach_a_conversation_that_has_not_begun(go: Go, project: Path) -> None:
    with serve(reply(text("Hello."))) as server:

        async def journey(user: Driver) -> None:
            assert user.transcript.session.model is not None
            await change_setting(user, "model.name", "claude-opus-5-5")
            await change_setting(user, "model.base_url", server.url)
            await user.until_true(lambda: shown_address(user) == server.url, "the address is in force")
            picker = await user.see(QToolButton, "modelPicker")
            assert "claude-opus-5-5" in picker.text()
            await user.send(WORDS)
            await ended(user, "completed")

        go([str(project)], journey)
        assert server.messages[0].fields["model"] == "claude-opus-5-5"


def test_trying_again_uses_the_address_and_model_that_the_settings_say_now(go: Go, project: Path) -> None:
    with (
        serve(fault.not_found()) as wrong,
        serve(reply(text("Hello.")), fault.not_found(), reply(text("Here."))) as right,
    ):
        save_setting(AppPaths.from_environment(os.environ).settings_file(), "model.base_url", value=wrong.url)

        async def journey(user: Driver) -> None:
            await user.send(WORDS)
            await ended(user, "provider_error")
            await change_setting(user, "model.base_url", right.url)
            await click_label(user, "Try again")
            await ended(user, "completed", turn=2)
            await user.send("and more")
            await ended(user, "provider_error", turn=3)
            await change_setting(user, "model.name", "claude-opus-5-5")
            assert user.transcript.session.model is not None
            assert user.transcript.session.model.model != "claude-opus-5-5"  # it has begun
            await click_label(user, "Try again")
            await ended(user, "completed", turn=4)
            assert user.transcript.session.model.model == "claude-opus-5-5"

        go([str(project)], journey)


def shown_address(user: Driver) -> str | None:
    model = user.transcript.session.model
    return model.base_url if model is not None else None


def test_a_file_instead_of_a_folder_leads_to_the_choice_of_one_and_the_words_wait(go: Go, project: Path) -> None:
    with serve(reply(text("Hello."))) as server:

        async def journey(user: Driver) -> None:
            await user.until_true(lambda: "is a file" in " ".join(user.banner), "the banner says so")
            (await user.see(QWidget, "onboardingDialog")).close()
            assert "Choose a folder" in user.window.main_window.top_bar.workspace_button.text()
            user.composer.set_text(WORDS)
            await user.click("bannerFolderButton")
            await choose(user, project)
            await user.until_true(lambda: user.window.panels.session.handle is not None, "the folder is open")
            assert (user.banner, draft(user)) == ([], WORDS)
            await user.click("sendButton")
            await ended(user, "completed")

        go([str(project / "notes.txt"), "--base-url", server.url], journey)


async def choose(user: Driver, folder: Path) -> None:
    dialog = await user.see(QFileDialog, "folderDialog")
    name = await user.see(QLineEdit, "fileNameEdit")
    name.setText(str(folder))  # while one types fast, Qt's completer rewrites the text
    QTest.keyClick(name, Qt.Key.Key_Return)
    await user.until_true(lambda: not dialog.isVisible(), "the dialog has closed")


def test_a_folder_that_is_gone_can_be_replaced_or_come_back(go: Go, project: Path) -> None:
    away = project.with_name("away")
    with serve(reply(text("Hello.")), reply(text("Again."))) as server:

        async def journey(user: Driver) -> None:
            await user.send("first")
            await ended(user, "completed")
            project.rename(away)  # noqa: ASYNC240 - as quick as anything here
            await user.send(WORDS)
            await ended(user, "workspace_error", turn=2)
            assert codes(user) == ["workspace"]
            await click_label(user, "Open another folder…")
            (await user.see(QFileDialog, "folderDialog")).reject()
            away.rename(project)
            await click_label(user, "Try again")
            await ended(user, "completed", turn=3)

        go([str(project), "--base-url", server.url], journey)
        assert server.violations == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_words_that_could_not_be_saved_come_back_with_one_card(go: Go, project: Path, isolated_home: Path) -> None:
    sessions = isolated_home / "desktop-agent" / "data" / "sessions"
    with serve(reply(text("Hello.")), reply(text("Again."))) as server:

        async def journey(user: Driver) -> None:
            await user.send("first")
            await ended(user, "completed")
            make_room = fill_up(sessions / user.transcript.session.session_id / "journal.jsonl")
            await user.send(WORDS)
            await user.until_true(lambda: draft(user) == WORDS, "the words are back")
            assert codes(user) == ["storage"]
            assert find_button(user, "Try again") is None, "the words are in the field: sending is trying again"
            make_room()
            await user.click("sendButton")
            await ended(user, "completed", turn=2)

        go([str(project), "--base-url", server.url], journey)
        assert server.violations == []


def fill_up(path: Path) -> Callable[[], None]:
    """Point this process's only descriptor for a file at a full device; the returned function points it back."""
    descriptors = [int(entry.name) for entry in Path("/proc/self/fd").iterdir() if os.path.realpath(entry) == str(path)]
    [descriptor] = [descriptor for descriptor in descriptors if is_written(descriptor)]
    kept = os.dup(descriptor)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, descriptor)
    os.close(full)

    def make_room() -> None:
        os.dup2(kept, descriptor)
        os.close(kept)

    return make_room


def is_written(descriptor: int) -> bool:
    """Whether the descriptor is open for writing: the list of sessions also reads the file."""
    import fcntl  # not on every system; only needed with a full device

    try:
        return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:  # closed meanwhile by its reader
        return False


def test_a_folder_that_is_deleted_while_the_agent_works_is_told_to_both(go: Go, project: Path) -> None:
    answers = (reply(tool_use("create_file", path="new.txt", content="x\n")), reply(text("The folder is gone.")))
    with serve(*answers) as server:

        async def journey(user: Driver) -> None:
            await user.send(WORDS)
            await user.see(QWidget, "approveButton")
            shutil.rmtree(project)
            await user.until_true(lambda: user.can_allow, "it can be allowed")
            await user.press(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
            await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has ended")
            (call,) = [entry for entry in user.transcript.entries if isinstance(entry, ToolEntry)]
            assert call.result is not None
            assert call.result.content == f"The folder {project} does not exist. Nothing was written."
            # Once the folder is back, the conversation goes on.
            project.mkdir()  # noqa: ASYNC240 - a user waits
            await user.send("Again?")
            await ended(user, "completed", turn=2)

        go([str(project), "--base-url", server.url], journey)
    assert list(project.iterdir()) == []


def test_a_session_folder_that_cannot_be_written_keeps_the_prompt(go: Go, project: Path, isolated_home: Path) -> None:
    async def journey(user: Driver) -> None:
        sessions = isolated_home / "desktop-agent" / "data" / "sessions"
        sessions.parent.mkdir(parents=True, exist_ok=True)
        sessions.write_text("a file where the folder should be")
        await user.send(WORDS)
        await user.until_true(lambda: bool(user.banner), "the banner says something")
        assert user.banner[0] == "The session could not be written, so the agent stopped."
        assert draft(user) == WORDS
        sessions.unlink()
        await user.press(Qt.Key.Key_Return)
        await ended(user, "completed")

    with serve(reply(text("Hello."))) as server:
        go([str(project), "--base-url", server.url], journey)
