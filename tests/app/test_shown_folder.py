"""What the panels say of the open folder."""

import os
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

from desktop_agent.core.sandbox.find import find_sandbox
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


def test_a_folder_of_the_command_line_is_shown_and_nothing_is_written_into_it(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        assert user.window.main_window.top_bar.workspace_button.text() == "my project ▾"
        assert user.transcript.session.workspace == str(project)

    go([str(project), "--provider", "demo"], journey)
    assert [path.name for path in project.iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_worked_in_is_refused_in_words_and_none_is_open(go: Go, project: Path) -> None:
    hooks = project / ".git" / "hooks"
    hooks.mkdir(parents=True)

    async def journey(user: Driver) -> None:
        window = user.window.main_window
        words = f"The folder {hooks} cannot be worked in"
        await user.until_true(lambda: any(words in label.text() for label in window.findChildren(QLabel)), "it says so")
        assert "my project" not in window.top_bar.workspace_button.text()
        assert "hooks" not in window.top_bar.workspace_button.text()

    go([str(hooks), "--provider", "demo"], journey)


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

    async def journey(user: Driver) -> None:
        await user.until_true(lambda: user.window.panels.judges.is_sandbox_available, "a sandbox was found")

    go([str(project), "--provider", "demo"], journey)
    assert not (project / "ran").exists()
