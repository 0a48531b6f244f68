"""The branch button: by mouse and by keyboard, with a bare remote on disk."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMessageBox, QWidget

from desktop_agent.ui.window.branch_popup import BranchPopup
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")
Git = Callable[..., str]


@pytest.fixture
def git(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    def git(*arguments: str, folder: Path = project) -> str:
        return subprocess.check_output(["git", *arguments], cwd=folder, text=True, stderr=subprocess.PIPE).strip()

    git("init", "-q", "--bare", str(tmp_path / "there"))
    git("init", "-q")
    git("remote", "add", "origin", str(tmp_path / "there"))
    git("add", "-A")
    git("commit", "-qm", "First")
    git("branch", "other")
    return git


class User:
    """What a user does with branches."""

    def __init__(self, user: Driver) -> None:
        self.user = user
        self.button = user.window.main_window.top_bar.branch_button

    async def open(self) -> BranchPopup:
        await self.user.until_true(self.button.isVisible, "git is read")
        await self.user.press(Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
        popup = await self.user.see(BranchPopup, "branchPopup")
        await self.user.until_true(lambda: "main" in self.rows(popup), "the branches are listed")
        return popup

    @staticmethod
    def rows(popup: BranchPopup) -> list[str]:
        return [row.text for row in popup.rows]

    async def see_said(self, words: str) -> None:
        def is_said() -> bool:
            label = self.user.find(QLabel, "branchState")
            return label is not None and words in label.text()

        await self.user.until_true(is_said, f"it says: {words}")


def test_a_branch_is_made_and_switched_by_keyboard(go: Go, git: Git, project: Path) -> None:
    async def journey(driver: Driver) -> None:
        user = User(driver)
        popup = await user.open()
        assert user.rows(popup) == ["Push…", "New branch…", "main", "other"]
        await driver.type("branchField", "my work")
        assert user.rows(popup) == ["New branch “my-work”"]
        await driver.press(Qt.Key.Key_Return)
        await driver.until_true(lambda: "my-work" in user.button.text(), "the new branch is shown")
        assert not popup.isVisible()
        (project / "notes.txt").write_text("changed\n")
        git("commit", "-qam", "Second")
        (project / "notes.txt").write_text("not committed\n")
        await user.open()
        await driver.type("branchField", "other")
        await driver.press(Qt.Key.Key_Return)
        await user.see_said("Switching to the branch other failed.\nNothing was changed.")
        assert git("branch", "--show-current") == "my-work"

    go([str(project), "--provider", "demo"], journey)


def test_a_push_is_asked_about_and_its_failure_is_said(go: Go, git: Git, project: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"

    async def journey(driver: Driver) -> None:
        user = User(driver)
        await user.open()
        await user.see_said("main follows no branch of a remote.")
        await driver.press(Qt.Key.Key_Return)
        question = await driver.see(QMessageBox, "pushDialog")
        assert question.text() == "Push 1 commit of the branch main to origin?"
        assert question.informativeText() == "• First\n\norigin does not have this branch yet."
        assert git("for-each-ref", folder=there) == ""
        await driver.click("pushButton")
        await user.see_said("main was pushed to origin.")
        assert git("log", "--format=%s", "main", folder=there) == "First"
        git("commit", "--allow-empty", "-qm", "Second")
        await driver.until_true(lambda: "↑1" in user.button.text(), "a commit is ahead")
        hook = there / "hooks/pre-receive"
        hook.write_text("#!/bin/sh\necho not today; exit 1\n")
        hook.chmod(0o755)
        await driver.press(Qt.Key.Key_Return)
        await driver.see(QMessageBox, "pushDialog")
        await driver.click("pushButton")
        await user.see_said("not today")

    go([str(project), "--provider", "demo"], journey)


def test_a_push_can_be_stopped(go: Go, git: Git, project: Path, tmp_path: Path) -> None:
    hook = project / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho checking everything; sleep 1000\n")
    hook.chmod(0o755)

    async def journey(driver: Driver) -> None:
        user = User(driver)
        popup = await user.open()
        await driver.press(Qt.Key.Key_Return)
        await driver.see(QMessageBox, "pushDialog")
        await driver.click("pushButton")
        await user.see_said("checking everything")
        assert user.rows(popup) == ["Stop pushing"]
        await driver.press(Qt.Key.Key_Return)
        await user.see_said("The push was stopped.")
        assert git("for-each-ref", folder=tmp_path / "there") == ""

    go([str(project), "--provider", "demo"], journey)


def test_without_a_repository_there_is_no_button(go: Go, project: Path) -> None:
    async def journey(driver: Driver) -> None:
        driver.actions.choose_branch.trigger()
        await driver.pause()
        assert driver.find(QWidget, "branchPopup") is None
        assert not driver.window.main_window.top_bar.branch_button.isVisible()

    go([str(project), "--provider", "demo"], journey)
