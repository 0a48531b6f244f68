import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

from desktop_agent.core.protocol.model import Rule
from desktop_agent.core.sandbox.find import find_sandbox
from desktop_agent.core.system.processes import shell as shell_module
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
        words = f"The folder {hooks} cannot be a workspace"
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


@pytest.mark.parametrize("has_bash", [True, False])
def test_the_preview_of_a_rule_judges_by_the_shell_that_will_run(
    go: Go, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_bash: bool
) -> None:
    """`sh` and bash read `make &> f` differently."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / ("bash" if has_bash else "sh")).symlink_to("/bin/bash" if has_bash else "/bin/sh")
    monkeypatch.setattr(shell_module, "PLACES", (str(folder),))
    monkeypatch.setenv("PATH", str(folder))
    then = datetime(2026, 1, 1, tzinfo=UTC)
    made = Rule(id="r", effect="allow", kind="command", pattern="make", scope="session", created_at=then)

    async def journey(user: Driver) -> None:
        judges = user.window.panels.judges
        await user.until_true(lambda: judges.shell == ("bash" if has_bash else "sh"), "the shell was looked for")
        judges.is_sandbox_available = True
        judge = judges.judge(user.transcript)
        assert judge.would_allow("command", [made], "make")
        assert judge.would_allow("command", [made], "make &> f") == has_bash

    go([str(project), "--provider", "demo"], journey)
