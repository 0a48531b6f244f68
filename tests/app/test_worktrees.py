"""Worktrees in the real window, with real repositories: begun, brought back, removed and restored."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QListView, QMessageBox, QPlainTextEdit, QPushButton, QTreeWidget

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.ui.chat.entry_words import sentence
from desktop_agent.ui.review.change_listing import BaselinePicker
from desktop_agent.ui.review.changed_file_list import ChangedFileList
from desktop_agent.ui.review.clash_dialog import ClashDialog
from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.sessions.worktrees import WorktreeRow, WorktreesDialog, WorktreeSheet
from desktop_agent.ui.widgets.buttons import Picker
from desktop_agent.ui.window.conversation_pane import WorktreeBar
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.git import git
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

LINES = [f"line {number}" for number in range(60)]
CTRL_ALT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


def written(**changed: str) -> str:
    return "".join(f"{changed.get(line.replace(' ', '_'), line)}\n" for line in LINES)


WORK = written(line_5="five", line_30="thirty", line_55="fifty-five")
EDIT = reply(tool_use("create_file", path="a.txt", content=WORK, if_exists="overwrite"))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "a.txt").write_text(written())
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "branch", "release")
    return folder


async def begin(user: Driver, name: str) -> None:
    """Begin a session in a worktree, by key."""
    await user.until_true(user.actions.new_worktree.isEnabled, "the repository is read")
    await user.press(Qt.Key.Key_N, CTRL_ALT)
    await user.see(WorktreeSheet, "worktreeSheet")
    line = await user.see(QLineEdit, "worktreeNameEdit")
    assert line.selectedText() == line.text() != "", "a name is suggested, to be typed over"
    QTest.keyClicks(line, name)
    await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: worktree_of(user) == name, "the session in the worktree is shown")


def last_undo(user: Driver) -> str:
    """Return what the conversation says about the last undo or redo."""
    return sentence(user.transcript.changed.undos[-1])


def worktree_of(user: Driver) -> str:
    worktree = user.transcript.session.worktree
    return worktree.name if worktree is not None else ""


def rows(user: Driver) -> list[str]:
    view = user.window.main_window.findChild(QListView, "sessionList")
    assert isinstance(view, QListView)
    role = Qt.ItemDataRole.AccessibleTextRole
    return [str(view.model().index(row, 0, QModelIndex()).data(role)) for row in range(view.model().rowCount())]


@pytest.mark.usefixtures("key")
def test_a_session_works_in_a_worktree_and_two_of_three_hunks_are_brought_back(go: Go, repository: Path) -> None:
    async def journey(user: Driver) -> None:
        top = user.window.panels.window.top_bar
        await begin(user, "calm")
        assert top.worktree_label.isVisible()
        assert "worktree calm" in top.worktree_label.accessibleName()
        branch = top.branch_button
        await user.until_true(lambda: branch.accessibleName() == "Branch desktop-agent/calm", "its branch is shown")
        await user.send("Change three lines")
        await user.allow_with_mouse()
        await user.see_turn_end()
        tree = Path(user.transcript.session.workspace)
        assert (tree / "a.txt").read_text() == WORK
        assert (repository / "a.txt").read_text() == written()
        await user.until_true(lambda: any("in the worktree calm" in row for row in rows(user)), "the list says so")

        git(tree, "commit", "-qam", "by hand")
        picker = await user.see(BaselinePicker, "baselinePicker")
        base = "Against the worktree's base"
        await user.until_true(lambda: picker.findText(base) > 0, "its base is a baseline")
        picker.activated.emit(picker.findText(base))
        changes = await user.see(ChangedFileList, "changeList")
        await user.until_true(lambda: [file.is_git for file in changes.files] == [True], "commits are in it")

        (repository / "a.txt").write_text(written(line_20="mine"))
        await user.click("bringBackButton")
        await user.until_true(lambda: user.transcript.session.workspace == str(repository), "it is offered")
        assert (repository / "a.txt").read_text() == written(line_20="mine"), "and nothing is written yet"
        assert not top.worktree_label.isVisible()
        redo = await user.see(QPushButton, "redoButton")
        assert redo.text() == "Bring all back"
        view = await user.see(DiffView, "diffView")
        await user.until_true(lambda: len(view.document.rows.changes) == 3, "three hunks are offered")
        await user.activate()
        await user.until_true(view.hasFocus, "the first one has the keyboard")
        QTest.keyClick(view, Qt.Key.Key_R)
        review = view.findChild(DiffReview)
        assert review
        await user.until_true(lambda: review.hunks.counts()[1] == 2, "one is brought back, and the review shows it")
        QTest.keyClick(view, Qt.Key.Key_R)
        both = written(line_20="mine", line_5="five", line_30="thirty")
        await user.until_true(lambda: (repository / "a.txt").read_text() == both, "two of three are brought back")
        assert last_undo(user).startswith("Brought back 1 change in a.txt")
        await user.click("commitButton")
        choice = await user.see(QTreeWidget, "commitList")
        await user.until_true(lambda: choice.topLevelItemCount() == 1, "the file is listed")
        file = choice.topLevelItem(0)
        assert file is not None
        assert (file.childCount(), file.text(0)) == (2, "a.txt · +2 −2"), "the third hunk is only in the worktree"
        await user.click("cancelCommitButton")
        await user.activate()
        await user.press(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        await user.until_true(lambda: (repository / "a.txt").read_text() == written(line_20="mine"), "undone")

    with serve(EDIT, reply(text("Done."))) as server:
        go([str(repository), "--base-url", server.url], journey)


@pytest.mark.usefixtures("key")
def test_a_worktree_is_removed_to_the_trash_and_restored(go: Go, repository: Path) -> None:
    async def journey(user: Driver) -> None:
        await begin(user, "calm")
        tree = Path(user.transcript.session.workspace)
        (tree / "new.txt").write_text("not committed\n")

        await user.press(Qt.Key.Key_O, CTRL_ALT)
        dialog = await user.see(WorktreesDialog, "worktreesDialog")
        row = await user.see(WorktreeRow, "worktreeRow")
        await user.until_true(lambda: row.state.text() == "Not brought back: 1 file", "it is counted")
        await user.click("removeWorktreeButton")
        await user.see(QPushButton, "restoreWorktreeButton")
        await user.until_true(lambda: not tree.exists(), "it is gone from its place")
        dialog.close()

        bar = await user.see(WorktreeBar, "worktreeBar")
        assert bar.accessibleName().startswith("The worktree calm is in the trash.")
        await user.click("restoreWorktreeButton")
        await user.until_true((tree / "new.txt").exists, "it is back with all that was in it")
        await user.until_true(lambda: not bar.isVisible(), "the session can go on")
        await user.run_turn("Hello")
        assert user.notices[-1].code == "worktree", "without a problem"

    with serve(reply(text("Hello."))) as server:
        go([str(repository), "--base-url", server.url], journey)


@pytest.mark.usefixtures("key")
def test_a_session_says_what_became_of_its_worktree(go: Go, repository: Path, tmp_path: Path) -> None:
    async def journey(user: Driver) -> None:
        navigator = user.window.panels.sessions
        await begin(user, "calm")
        session = user.transcript.session
        tree = Path(session.workspace)
        await user.until_true(user.actions.bring_back.isEnabled, "the session of a worktree is shown")
        user.actions.bring_back.trigger()
        bar = await user.see(WorktreeBar, "worktreeBar")
        assert bar.accessibleName().startswith("Nothing new to bring back from calm")

        async def see_again(words: str) -> None:
            await user.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
            await user.until_true(lambda: not user.transcript.session.session_id, "a new session is shown")
            assert user.transcript.session.workspace == str(repository), "in the folder of the user"
            navigator.session_chosen.emit(session.session_id)
            await user.until_true(lambda: bar.isVisible() and words in bar.accessibleName(), words)

        shutil.rmtree(tree)
        await see_again("The folder of the worktree calm is gone.")
        await user.click("restoreWorktreeButton")
        await user.until_true(lambda: not bar.isVisible(), "the session can go on")
        assert (tree / "a.txt").exists(), "git's files are back"
        git(repository, "worktree", "move", str(tree), str(tmp_path / "elsewhere"))
        await see_again(f"git worktree move {tmp_path / 'elsewhere'} {tree}")
        assert user.find(QPushButton, "restoreWorktreeButton") is None

    go([str(repository)], journey)


def test_a_name_that_is_taken_is_said_in_the_sheet_and_the_set_up_is_shown_and_stopped(
    go: Go, repository: Path, isolated_home: Path, key: str
) -> None:
    del isolated_home, key
    settings = AppPaths.from_environment().settings_file()
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[execution]\nworktree_setup = "echo installing && sleep 60"\n')
    git(repository, "branch", "desktop-agent/taken")

    async def journey(user: Driver) -> None:
        await user.until_true(user.actions.new_worktree.isEnabled, "the repository is read")
        user.actions.new_worktree.trigger()
        line = await user.see(QLineEdit, "worktreeNameEdit")
        base = await user.see(Picker, "worktreeBasePicker")
        assert [base.itemText(row) for row in range(base.count())] == [
            "The last commit",
            "main",
            "desktop-agent/taken",
            "release",
        ]
        line.setText("taken")
        await user.click("createWorktreeButton")
        note = await user.see(QLabel, "worktreeNote")
        assert "Choose another name." in note.text()
        line.setText("free")
        base.setCurrentText("release")
        await user.click("createWorktreeButton")
        output = await user.see(QPlainTextEdit, "worktreeOutput")
        await user.until_true(lambda: "installing" in output.toPlainText(), "the output is shown while it runs")
        assert (worktrees := git(repository, "worktree", "list")).count("\n") == 1, worktrees
        await user.click("cancelWorktreeButton")
        left = "worktree", "list", "--porcelain"
        await user.until_true(
            lambda: "free" not in git(repository, *left) + git(repository, "branch"), "nothing is left"
        )
        assert worktree_of(user) == ""

    go([str(repository)], journey)


@pytest.mark.usefixtures("key")
def test_without_a_commit_there_is_no_worktree_to_begin(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        branch = user.window.panels.window.top_bar.branch_button
        more = user.window.panels.sessions.more_button
        assert not user.actions.bring_back.isEnabled()
        git(project, "init", "-q")
        await user.until_true(branch.isVisible, "the repository is read")
        assert not user.actions.new_worktree.isEnabled()
        assert not more.isVisible()
        git(project, "add", "-A")
        git(project, "commit", "-qm", "first")
        await user.until_true(more.isVisible, "now it is offered")
        assert user.actions.new_worktree.isEnabled()

    go([str(project)], journey)


@pytest.mark.usefixtures("key")
def test_what_clashes_with_an_edit_of_the_user_is_settled_and_the_worktree_outlives_its_session(
    go: Go, repository: Path
) -> None:
    async def journey(user: Driver) -> None:
        await begin(user, "calm")
        session = user.transcript.session
        tree = Path(session.workspace)
        (tree / "a.txt").write_text(WORK)
        (repository / "a.txt").write_text(written(line_30="mine"))
        user.window.panels.sessions.bring_back_requested.emit("calm")
        await user.until_true(lambda: user.transcript.session.workspace == str(repository), "it is offered")
        await user.click("redoButton")
        dialog = await user.see(ClashDialog, "undoConflictDialog")
        assert (repository / "a.txt").read_text() == written(line_30="mine"), "nothing of the user's is overwritten"
        dialog.close()
        assert last_undo(user).startswith("Nothing was brought back · 1 left alone because you changed it")
        redo = await user.see(QPushButton, "redoButton")
        assert redo.text() == "Bring all back", "what clashed can still be brought back"

        user.window.panels.sessions.action_requested.emit("delete", (session.session_id,))
        question = await user.see(QMessageBox, "deleteSessionDialog")
        assert "Its worktree calm stays" in question.informativeText()
        await user.click("deleteSessionButton")
        await user.until_true(lambda: not any("calm" in row and "Bring" not in row for row in rows(user)), "deleted")
        assert (tree / "a.txt").read_text() == WORK
        user.actions.worktrees.trigger()
        row = await user.see(WorktreeRow, "worktreeRow")
        assert [*row.buttons] == ["bring_back", "remove"]

    go([str(repository)], journey)


@pytest.mark.usefixtures("key")
def test_ten_sessions_are_beside_each_other_and_listed_with_what_each_has(go: Go, repository: Path) -> None:
    async def journey(user: Driver) -> None:
        for number in range(10):
            await begin(user, f"tree-{number}")
            tree = Path(user.transcript.session.workspace)
            (tree / "a.txt").write_text(written(line_5=f"five of {number}"))
        user.actions.worktrees.trigger()
        dialog = await user.see(WorktreesDialog, "worktreesDialog")

        def said() -> set[str]:
            return {row.accessibleName() for row in dialog.findChildren(WorktreeRow)}

        wanted = {f"tree-{number}, Not brought back: 1 file" for number in range(10)}
        await user.until_true(lambda: said() == wanted, "each is counted")
        dialog.close()
        assert sum("in the worktree tree-" in row for row in rows(user)) == 10, "with the sessions of the folder"

    go([str(repository)], journey)
