"""What the window shows at its start, and how it goes from one folder or session to the next."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QBuffer, Qt, QUrl
from PySide6.QtGui import QAction, QDesktopServices, QImage
from PySide6.QtWidgets import QAbstractItemView, QApplication, QMessageBox, QPlainTextEdit, QToolButton, QWidget

from desktop_agent.cli import main as command_line
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.events import JobsReported
from desktop_agent.core.protocol.model import Job, ToolCall
from desktop_agent.core.sandbox.find import find_sandbox
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.transcript import PromptEntry, ToolEntry
from desktop_agent.ui.approvals.dialog import ApprovalDialog
from desktop_agent.ui.window.output_window import OutputWindow
from desktop_agent.ui.window.picture_window import PictureWindow
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers import fault
from tests.servers.script import reply, text
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine\n")
    return folder


def menu_item(person: Driver, picker: str, words: str) -> QAction:
    button = person.find(QToolButton, picker)
    assert button is not None
    (found,) = [action for action in button.menu().actions() if action.text().partition("\t")[0] == words]
    return found


def test_the_demo_starts_with_a_prompt_to_send(go: Go) -> None:
    async def journey(person: Driver) -> None:
        bar = person.window.main_window.top_bar
        assert bar.workspace_button.text() == "pagination ▾"
        assert bar.demo_label.isVisible()
        assert person.window.panels.composer.text().startswith("One of the tests fails")
        assert person.find(QWidget, "onboardingDialog") is None
        await person.until_true(lambda: bar.branch_label.text().endswith("fix/off-by-one"), "the branch is shown")

    go(["--demo"], journey)


def test_a_folder_of_the_command_line_is_shown_and_nothing_is_written_into_it(go: Go, project: Path) -> None:
    async def journey(person: Driver) -> None:
        assert person.window.main_window.top_bar.workspace_button.text() == "my project ▾"
        assert person.transcript.session.workspace == str(project)

    go([str(project), "--provider", "demo"], journey)
    assert [path.name for path in project.iterdir()] == ["notes.txt"]


def test_a_sandbox_that_the_folder_brings_along_is_not_tried(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_sandbox(os.environ).sandbox is None:
        pytest.skip("no sandbox works on this machine")
    fake = project / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ntouch '{project}/ran'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")

    async def journey(person: Driver) -> None:
        await person.until_true(lambda: person.window.panels.judges.is_sandbox_available, "a sandbox was found")

    go([str(project), "--provider", "demo"], journey)
    assert not (project / "ran").exists()


@pytest.mark.parametrize("wanted", [["no such folder"], ["--resume", "nothing-like-it"]])
def test_what_cannot_be_opened_is_said_and_the_welcome_offers_another_way(go: Go, wanted: list[str]) -> None:
    async def journey(person: Driver) -> None:
        assert person.banner
        assert any(wanted[-1] in text for text in [*person.banner, person.window.panels.banner.toolTip()])
        await person.see(QWidget, "onboardingDialog")

    go(wanted, journey)


def test_without_a_folder_a_prompt_is_kept_and_the_welcome_opens_again(
    go: Go, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(isolated_home)  # where a desktop starts its applications

    async def journey(person: Driver) -> None:
        await person.see(QWidget, "onboardingDialog")
        await person.press(Qt.Key.Key_Escape)
        await person.until_true(lambda: person.find(QWidget, "onboardingDialog") is None, "the welcome has closed")
        assert person.window.main_window.top_bar.workspace_button.text() == "Choose a folder ▾"
        await person.type("composer", "A long and careful question")
        await person.press(Qt.Key.Key_Return)
        await person.see(QWidget, "onboardingDialog")
        assert person.window.panels.composer.text() == "A long and careful question"

    go([], journey)


def test_settings_that_cannot_be_used_are_named_and_the_window_opens(go: Go, isolated_home: Path) -> None:
    file = isolated_home / "desktop-agent" / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[ui]\ntheme = "pink"\n')

    async def journey(person: Driver) -> None:
        (title, hint) = person.banner
        assert title == "Some of your settings cannot be used. Their defaults apply."
        assert f"{file}:2: ui.theme: 'pink' is not one of system, light, dark" in hint

    go(["--demo"], journey)


def test_a_mode_picked_before_the_first_prompt_holds_for_the_session(go: Go, project: Path) -> None:
    async def journey(person: Driver) -> None:
        menu_item(person, "approvalPicker", "Asks before every call").trigger()
        await person.until_true(lambda: person.transcript.session.approval == "always", "the mode is set")
        button = person.find(QToolButton, "approvalPicker")
        assert button is not None
        assert button.text() == "Asks before every call ▾"
        await person.type("composer", "Hello")
        await person.press(Qt.Key.Key_Return)
        await person.see(QWidget, "approvalDialog")
        assert person.transcript.session.approval == "always"
        await person.click("denyButton")
        person.window.main_window.actions_.stop.trigger()
        await person.until_true(lambda: not person.transcript.turns.is_running, "the turn has stopped")

    go([str(project), "--provider", "demo"], journey)


def test_prompts_sent_while_the_session_is_made_go_to_that_one_session(go: Go, project: Path) -> None:
    async def journey(person: Driver) -> None:
        composer = person.window.panels.composer
        composer.prompt_submitted.emit("First")
        composer.prompt_submitted.emit("Second")
        await person.until_true(lambda: person.transcript.turn == 2, "both are asked")
        prompts = [entry.text for entry in person.transcript.entries if isinstance(entry, PromptEntry)]
        assert prompts == ["First", "Second"]
        person.window.main_window.actions_.stop.trigger()
        await person.until_true(lambda: not person.transcript.turns.is_running, "the turn has stopped")

    go([str(project), "--provider", "demo"], journey)


def test_a_prompt_whose_session_cannot_be_made_comes_back_before_what_was_written_since(go: Go, project: Path) -> None:
    async def journey(person: Driver) -> None:
        composer = person.window.panels.composer
        shutil.rmtree(project)
        composer.prompt_submitted.emit("First")
        composer.set_text("Since then")
        await person.until_true(lambda: bool(person.banner), "the reason is shown")
        assert composer.text() == "First\n\nSince then"

    go([str(project), "--provider", "demo"], journey)


def test_names_of_questions_and_changes_are_there_when_there_are_some(go: Go) -> None:
    def spoken(name: str) -> bool:
        found = [widget for widget in QApplication.allWidgets() if widget.objectName() == name and widget.isVisible()]
        return len(found) == 1 and bool(found[0].accessibleName() or getattr(found[0], "text", str)())

    async def journey(person: Driver) -> None:
        person.window.panels.composer.setFocus()
        await person.press(Qt.Key.Key_Return)
        await person.see(QWidget, "approvalCommandEdit")
        question = ("approvalDialog", "approvalSummary", "approvalCommandEdit", "approveButton", "denyButton")
        assert [name for name in question if not spoken(name)] == []
        await allow(person)
        await person.see(QWidget, "approvalDiffView")
        assert spoken("approvalDiffView")
        await allow(person)
        await person.see(QWidget, "approvalCommandEdit")
        await allow(person)
        await person.until_true(lambda: person.transcript.turns.last_end == "completed", "the turn has ended")
        await person.see(QWidget, "diffView")
        change = ("baselinePicker", "changeList", "diffView", "diffModeButton", "undoTurnButton")
        assert [name for name in change if not spoken(name)] == []
        await person.click("undoTurnButton")
        await person.see(QWidget, "redoButton")
        assert spoken("redoButton")

    go(["--demo"], journey)


async def allow(person: Driver) -> None:
    dialog = await person.see(ApprovalDialog, "approvalDialog")
    await person.until_true(lambda: dialog.can_allow, "the dialog can be answered")
    await person.click("approveButton")
    await person.until_true(lambda: person.find(QWidget, "approveButton") is None, "the dialog has closed")


def test_closing_while_the_agent_works_asks_first(go: Go, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")

    async def journey(person: Driver) -> None:
        await person.type("composer", "What is in here?")
        await person.press(Qt.Key.Key_Return)
        await person.until_true(lambda: bool(server.messages), "the model is asked")
        assert person.transcript.turns.is_running
        person.window.main_window.close()
        box = await person.see(QMessageBox, "quitDialog")
        keep = next(button for button in box.buttons() if button.text() == "Keep working")
        assert box.defaultButton() is keep
        keep.click()
        await person.until_true(lambda: person.find(QWidget, "quitDialog") is None, "the question has closed")
        assert person.window.main_window.isVisible()
        person.window.main_window.actions_.stop.trigger()
        await person.until_true(lambda: not person.transcript.turns.is_running, "the turn has stopped")

    with serve(reply(text("Half of"), fault.stall_after(events=3))) as server:
        go([str(project), "--base-url", server.url], journey)


def test_closing_while_a_question_waits_stops_nothing_and_the_next_start_asks_it(go: Go) -> None:
    async def first(person: Driver) -> None:
        person.window.panels.composer.setFocus()
        await person.press(Qt.Key.Key_Return)
        await person.see(ApprovalDialog, "approvalDialog")

    async def second(person: Driver) -> None:
        dialog = await person.see(ApprovalDialog, "approvalDialog")
        dialog.reject()
        await person.until_true(lambda: person.find(QWidget, "approvalDialog") is None, "the question has closed")
        assert person.transcript.turns.is_running, "closing a question answers nothing"

    go(["--demo"], first)
    go([], second)


def test_a_session_is_listed_resumed_and_left_for_a_new_one(go: Go, project: Path) -> None:
    titles: list[str] = []

    async def first(person: Driver) -> None:
        await person.type("composer", "What is in here?")
        await person.press(Qt.Key.Key_Return)
        await person.until_true(lambda: person.transcript.turns.last_end == "completed", "the turn has ended")
        titles.append(person.transcript.session.title)

    async def second(person: Driver) -> None:
        assert person.transcript.session.title == titles[0]
        rows = await person.see(QAbstractItemView, "sessionList")
        shown = [str(rows.model().index(row, 0).data()) for row in range(rows.model().rowCount())]
        assert any(titles[0] in text for text in shown)
        assert not any("tools call" in text for text in shown), "a call by hand is no conversation"
        assert person.window.main_window.top_bar.title_label.text() == titles[0]
        await person.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
        await person.until_true(lambda: not person.transcript.session.session_id, "a new session is shown")
        assert person.window.main_window.top_bar.title_label.text() == "New session"
        assert person.window.panels.composer.isAncestorOf(
            person.window.main_window.focusWidget() or person.window.panels.banner
        )

    go([str(project), "--provider", "demo"], first)
    assert command_line(["tools", "call", "list_files", "{}", "--workspace", str(project)]) == 0
    go([str(project), "--continue"], second)


def test_the_theme_changes_with_the_setting_and_is_remembered(go: Go, isolated_home: Path) -> None:
    async def choose(person: Driver) -> None:
        from desktop_agent.ui.settings.dialog import SettingsDialog

        await person.press(Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        dialog = await person.see(SettingsDialog, "settingsDialog")
        dialog.settings_actions.change("ui.theme", "dark")
        dialog.settings_actions.change("ui.colour_blind_safe_diff", True)
        await person.until_true(lambda: person.window.theme.colours.is_dark, "the window is dark")
        file = isolated_home / "desktop-agent" / "config" / "config.toml"
        wanted = '[ui]\ntheme = "dark"\ncolour_blind_safe_diff = true\n'
        await person.until_true(lambda: file.is_file() and file.read_text() == wanted, "both settings are saved")
        await person.press(Qt.Key.Key_Escape)

    async def look(person: Driver) -> None:
        assert person.window.theme.colours.is_dark

    go(["--demo"], choose)
    go(["--demo"], look)


@pytest.mark.parametrize("is_executable", [False, True], ids=["shown", "would be run"])
def test_a_file_that_would_be_run_is_not_opened_but_its_folder(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch, is_executable: bool
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> None:
        opened.append(url.toLocalFile())

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    file = project / "notes.txt"
    file.chmod(0o755 if is_executable else 0o644)

    async def journey(person: Driver) -> None:
        person.window.panels.files.file_activated.emit(str(file))

    go([str(project)], journey)
    assert opened == [str(project if is_executable else file)]


@pytest.mark.parametrize(
    ("path", "is_opened"), [("notes.txt", True), ("gone.txt", False), ("//host/share/notes.txt", False)]
)
def test_a_place_a_search_found_opens_like_a_file_of_the_tree(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch, path: str, *, is_opened: bool
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> None:
        opened.append(url.toLocalFile())

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    (project / "notes.txt").chmod(0o644)
    banners: list[bool] = []

    async def journey(person: Driver) -> None:
        person.window.panels.transcript.entry_actions.file_requested.emit(path, 3)
        banners.append(person.window.panels.banner.isVisible())

    go([str(project)], journey)
    assert opened == ([str(project / path)] if is_opened else [])
    assert banners == [not is_opened]


def test_output_and_pictures_open_in_windows_of_their_own(go: Go, project: Path) -> None:
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(0)
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportArgumentType,reportCallIssue] - the stub wants bytes, Qt a name
    folder = AppPaths.from_environment()
    ref = Blobs(folder.blobs).put_ref(bytes(buffer.data().data()), "image/png")
    entry = ToolEntry(
        turn=1,
        call=ToolCall(id="c1", name="run_terminal_cmd", arguments={}),
        title="make",
        is_read_only=False,
        started_at=datetime(2026, 11, 21, tzinfo=UTC),
        output_tail="\x1b[31mred\x1b[0m\n",
        output_chars=13,
    )

    async def journey(person: Driver) -> None:
        window, transcript = person.window.main_window, person.window.panels.transcript
        transcript.entry_actions.output_requested.emit(entry)
        await person.until_true(lambda: bool(window.findChildren(OutputWindow)), "the output is shown")
        [output] = window.findChildren(OutputWindow)
        assert output.findChildren(QPlainTextEdit)[0].toPlainText() == "red\n"
        output.close()
        transcript.entry_actions.picture_requested.emit(ref, entry)
        await person.until_true(lambda: bool(window.findChildren(PictureWindow)), "the picture is shown")
        window.findChildren(PictureWindow)[0].close()

    go([str(project)], journey)


def test_the_output_of_a_background_command_is_read_from_its_log(go: Go, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("ready on :5173\n")
    job = Job(id="job-1", command="npm run dev", cwd=tmp_path, pid=1, log=log, started_at=datetime.now(UTC))

    async def journey(person: Driver) -> None:
        bridge = person.window.panels.wiring.bridge
        assert bridge is not None
        bridge.deliver(JobsReported(jobs=(job,)))
        await person.click("jobsButton")
        await person.click("jobOutputButton")
        output = await person.see(OutputWindow, "outputWindow")
        assert output.findChildren(QPlainTextEdit)[0].toPlainText() == "ready on :5173\n"
        output.close()
        log.unlink()
        await person.click("jobOutputButton")
        await person.until_true(lambda: bool(person.banner), "the banner says what is wrong")
        assert person.banner[0].startswith("The output cannot be read:")

    go(["--demo"], journey)


def test_a_sandbox_picked_before_the_first_prompt_holds_for_the_session(go: Go, project: Path) -> None:
    async def journey(person: Driver) -> None:
        menu_item(person, "sandboxPicker", "Sandbox: read-only").trigger()
        await person.until_true(lambda: person.transcript.session.sandbox == "strict", "the mode is set")
        await person.type("composer", "Hello")
        await person.press(Qt.Key.Key_Return)
        await person.until_true(lambda: bool(person.transcript.session.session_id), "the session has begun")
        await person.until_true(lambda: person.transcript.session.sandbox == "strict", "the mode holds")
        person.window.main_window.actions_.stop.trigger()
        await person.until_true(lambda: not person.transcript.turns.is_running, "the turn has stopped")

    go([str(project), "--provider", "demo"], journey)
