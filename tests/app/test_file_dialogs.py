"""File dialogs: the desktop's own through its portal, Qt's otherwise."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QFileDialog, QToolButton, QTreeView

from desktop_agent.core.system.session_bus import ChosenFiles, FileQuestion, ask_portal
from tests.app.conftest import Go, StartService
from tests.app.portal_service import Mode
from tests.core.importing.conftest import SAMPLES
from tests.e2e.driver import Driver
from tests.parts import part

Portal = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def portal(start_service: StartService) -> Portal:
    def start(mode: Mode, answer: Path | str = "") -> "subprocess.Popen[str]":
        uri = answer.as_uri() if isinstance(answer, Path) else answer
        return start_service("tests.app.portal_service", mode, uri)

    return start


def asked(process: "subprocess.Popen[str]") -> list[object]:
    assert process.stdout is not None
    return msgspec.json.decode(process.stdout.readline(), type=list[object])


async def test_the_portal_is_asked_for_what_is_meant_and_its_answer_is_a_path(portal: Portal, tmp_path: Path) -> None:
    target = tmp_path / "ein Gespräch %41.md"
    desktop = portal("choosing", target)
    filters = ("Web page (*.html)", "Markdown (*.md *.markdown)")
    question = FileQuestion(kind="save", title="Export", folder=str(tmp_path), name="a.html", filters=filters)
    assert await ask_portal(question, "", patience_s=20) == ChosenFiles((str(target),), filters[0])
    member, window, title, options = asked(desktop)
    assert (member, window, title) == ("SaveFile", "", "Export")
    assert isinstance(options, dict)
    assert options["current_folder"] == ["ay", (os.fsencode(tmp_path) + b"\0").hex()]
    assert options["current_name"] == ["s", "a.html"]
    patterns = [[0, "*.md"], [0, "*.markdown"]]
    assert options["filters"] == ["a(sa(us))", [[filters[0], [[0, "*.html"]]], [filters[1], patterns]]]


@pytest.mark.parametrize(
    ("mode", "answer"), [("cancelling", ""), ("choosing", "https://example.org/a"), ("nonsense", "")]
)
async def test_what_is_no_file_is_no_choice(portal: Portal, mode: Mode, answer: str) -> None:
    portal(mode, answer)
    assert (await ask_portal(FileQuestion(kind="file", title="Open"), "", patience_s=20)).paths == ()


UNABLE: tuple[Mode, ...] = ("silent", "erring", "old")


@pytest.mark.parametrize("mode", UNABLE)
async def test_a_portal_that_cannot_ask_is_told_from_one_that_waits(portal: Portal, mode: Mode) -> None:
    portal(mode)
    with pytest.raises((OSError, TimeoutError)):
        await ask_portal(FileQuestion(kind="folder", title="Open"), "", patience_s=0.2 if mode == "silent" else 20)


def test_a_folder_is_opened_with_the_desktops_dialog(go: Go, project: Path, portal: Portal, tmp_path: Path) -> None:
    other = tmp_path / "another project"
    other.mkdir()
    desktop = portal("choosing", other)

    async def journey(user: Driver) -> None:
        user.actions.open_folder.trigger()
        button = user.window.main_window.top_bar.workspace_button
        await user.until_true(lambda: "another project" in button.text(), "the folder is open")
        assert user.find(QFileDialog, "folderDialog") is None

    go([str(project), "--provider", "demo"], journey)
    assert asked(desktop)[2] == "Open a folder"


def test_where_the_portal_fails_qts_dialog_asks_with_recent_folders_first(
    go: Go, project: Path, portal: Portal
) -> None:
    portal("erring")

    async def journey(user: Driver) -> None:
        await user.import_conversation(SAMPLES / "codex.jsonl")
        menu = user.window.main_window.top_bar.folder_menu
        await user.until_true(lambda: menu.folders == (str(project),), "the folder is a recent one")
        assert menu.actions()[0].text().endswith("my project"), "above everything else"
        user.actions.open_folder.trigger()
        dialog = await user.see(QFileDialog, "folderDialog")
        assert dialog.sidebarUrls()[0] == QUrl.fromLocalFile(str(project))
        assert len(dialog.sidebarUrls()) > 1
        rows = part(dialog, QTreeView, "treeView")
        await user.until_true(lambda: 0 < rows.header().length() <= rows.viewport().width(), "no column is cut")
        shown = [button for button in dialog.findChildren(QToolButton) if button.isVisible()]
        assert [button.text() for button in shown] == ["←", "→", "↑", "+"], "in the colour of texts"
        assert all(button.icon().isNull() and button.accessibleName() for button in shown)
        dialog.reject()

    go([str(project), "--provider", "demo"], journey)
