"""Commits from the review: exactly what is ticked is committed, and one click takes it back."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QPlainTextEdit, QPushButton, QTreeWidget, QTreeWidgetItem

from desktop_agent.core.protocol.events import ChangesCommitted
from desktop_agent.core.protocol.ops import SubmitPrompt
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.review.commit_sheet import CommitSheet
from desktop_agent.ui.review.diff.diff_review import DiffReview
from tests.app.conftest import Go, Journey
from tests.core.stubborn import is_alive
from tests.e2e.driver import Driver
from tests.servers import fault
from tests.servers.script import Answer, reply, text, tool_use
from tests.servers.threaded import ThreadedServer, serve

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.usefixtures("key"),
]

LINES = [f"line {number}\n" for number in range(40)]
OURS = {3: "three\n", 18: "eighteen\n", 33: "thirty-three\n"}
CHECKED, UNCHECKED = Qt.CheckState.Checked, Qt.CheckState.Unchecked


def text_with(changed: dict[int, str]) -> str:
    return "".join(changed.get(number, line) for number, line in enumerate(LINES))


def edit() -> tuple[Answer, Answer]:
    write = tool_use("create_file", path="notes.txt", content=text_with(OURS), if_exists="overwrite")
    return reply(write), reply(text("Done."))


class Repo:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *arguments: str) -> str:
        return subprocess.check_output(["git", *arguments], cwd=self.folder, text=True, stderr=subprocess.STDOUT)

    def hook(self, name: str, script: str) -> None:
        place = self.folder / ".git/hooks" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\n{script}\n")
        place.chmod(0o755)

    def content(self) -> str:
        return self.git("cat-file", "blob", "HEAD:notes.txt")

    @property
    def message(self) -> str:
        return self.git("log", "-1", "--format=%B").strip()


@pytest.fixture
def repo(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    repo = Repo(project)
    repo.git("init", "-q")
    (repo.folder / "notes.txt").write_text("".join(LINES))
    repo.git("add", "-A")
    repo.git("commit", "-qm", "notes: begin")
    return repo


class Committer:
    def __init__(self, user: Driver) -> None:
        self.user = user

    async def work(self) -> None:
        """Let the agent change the file, and see the review."""
        await self.user.send("Change it")
        await self.user.allow_with_mouse()
        await self.user.see_turn_end()

    async def open(self) -> None:
        await self.user.click("commitButton")
        await self.user.see(CommitSheet, "commitSheet")
        await self.see_prepared()

    @property
    def message(self) -> str:
        field = self.user.find(QPlainTextEdit, "commitMessageEdit")
        assert field is not None
        return field.toPlainText()

    async def see_prepared(self, words: str = "Ada <ada@example.org>") -> None:
        await self.user.until_true(lambda: words in self.words, f"the sheet says {words!r}")

    @property
    def words(self) -> str:
        sheet = self.user.find(CommitSheet, "commitSheet")
        return " | ".join(label.text() for label in sheet.findChildren(QLabel) if label.isVisible()) if sheet else ""

    @property
    def items(self) -> list[QTreeWidgetItem]:
        tree = self.user.find(QTreeWidget, "commitList")
        assert tree is not None
        found: list[QTreeWidgetItem] = []
        for top in map(tree.topLevelItem, range(tree.topLevelItemCount())):
            assert top is not None
            below = [item for at in range(top.childCount()) if (item := top.child(at)) is not None]
            found += below or [top]
        return found

    @property
    def ticks(self) -> list[bool]:
        return [item.checkState(0) == CHECKED for item in self.items]

    @property
    def committed(self) -> tuple[int, int]:
        """How many of the shown hunks the review calls committed, and how many there are."""
        shown = self.user.window.panels.review.findChild(DiffReview)
        assert shown is not None
        return shown.hunks.counts()[2], len(shown.hunks.keys)

    async def write(self, message: str) -> QPlainTextEdit:
        field = await self.user.see(QPlainTextEdit, "commitMessageEdit")
        field.setPlainText(message)
        return field

    async def commit(self, message: str) -> None:
        number = len(self.user.transcript.changed.commits)
        await self.write(message)
        await self.user.click("commitChangesButton")
        await self.user.until_true(lambda: len(self.user.transcript.changed.commits) > number, "it is committed")
        await self.see_closed()

    async def see_closed(self) -> None:
        await self.user.until_true(lambda: self.user.find(CommitSheet, "commitSheet") is None, "the sheet has closed")

    async def see_output(self, words: str) -> None:
        output = await self.user.see(QPlainTextEdit, "commitOutput")
        await self.user.until_true(lambda: words in output.toPlainText(), f"{words!r} is printed")


class Window:
    def __init__(self, go: Go, folder: Path, server: ThreadedServer) -> None:
        self._go = go
        self._folder = folder
        self.server = server

    def __call__(self, journey: Journey, *answers: Answer, argv: Sequence[str] = ()) -> None:
        self.server.will(*(answers or edit()))
        self._go([str(self._folder), "--base-url", self.server.url, *argv], journey)


@pytest.fixture
def window(go: Go, project: Path) -> Iterator[Window]:
    with serve() as server:
        yield Window(go, project, server)


def test_two_of_three_hunks_are_committed_and_one_key_takes_the_commit_back(repo: Repo, window: Window) -> None:
    (repo.folder / "staged.txt").write_text("mine\n")
    repo.git("add", "staged.txt")
    staged = repo.git("diff", "--cached")

    async def journey(user: Driver) -> None:
        committer = Committer(user)
        await committer.work()
        await committer.open()
        assert committer.ticks == [True, True, True], "nothing is kept yet, so everything is meant"
        assert "3 of 3 changes, in 1 file" in committer.words
        assert "Commit to main" in committer.words
        assert committer.items[0].text(0) == "line 4 · +1 −1 · three"
        committer.items[2].setCheckState(0, UNCHECKED)
        await committer.commit("notes: change two lines\n\nFor the test.")
        assert repo.content() == text_with({3: OURS[3], 18: OURS[18]})
        assert repo.message == "notes: change two lines\n\nFor the test."
        assert (repo.git("diff", "--cached"), (repo.folder / "notes.txt").read_text()) == (staged, text_with(OURS))
        await user.until_true(lambda: committer.committed == (2, 3), "the review says so")

        await committer.open()
        assert len(committer.items) == 1, "only the third is left"
        await user.click("cancelCommitButton")
        await committer.see_closed()

        repo.git("commit", "-qm", "mine", "--allow-empty")
        user.actions.undo_commit.trigger()
        await user.until_true(lambda: bool(user.notices), "it is refused")
        assert (repo.message, user.notices[0].code) == ("mine", "not_committed")
        repo.git("reset", "-q", "--soft", "HEAD^")
        user.actions.undo_commit.trigger()
        await user.until_true(lambda: not user.transcript.changed.commits, "the commit is undone")
        assert repo.message == "notes: begin"
        assert (repo.git("diff", "--cached"), (repo.folder / "notes.txt").read_text()) == (staged, text_with(OURS))
        await committer.open()
        assert committer.message == "notes: change two lines\n\nFor the test."
        assert committer.ticks == [True, True, True]
        await user.click("cancelCommitButton")

    window(journey)


def test_a_hook_that_refuses_leaves_everything_and_the_sheet_with_its_output_and_what_it_changes_is_said(
    repo: Repo, window: Window
) -> None:
    repo.hook("pre-commit", "echo too many threes >&2; test -e ok && echo tidied >> tidy.txt")
    head = repo.git("rev-parse", "HEAD")

    async def journey(user: Driver) -> None:
        committer = Committer(user)
        await committer.work()
        await committer.open()
        await committer.see_prepared("runs pre-commit")
        await committer.write("one")
        await user.click("commitChangesButton")
        await committer.see_output("too many threes")
        await committer.see_prepared("The hook pre-commit refused the commit.")
        assert (repo.git("rev-parse", "HEAD"), repo.git("diff", "--cached")) == (head, "")
        assert not user.transcript.changed.commits
        (repo.folder / "ok").touch()
        await user.click("commitChangesButton")
        await user.until_true(lambda: bool(user.transcript.changed.commits), "it is committed")
        assert repo.message == "one"
        entry = user.transcript.entries[-1]
        assert isinstance(entry, ChangesCommitted)
        assert entry_words.sentence(entry).endswith("Changed by hooks: tidy.txt")

    window(journey)


def test_without_an_author_the_sheet_says_how_to_name_one(
    repo: Repo, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    repo.git("config", "user.useConfigOnly", "true")

    async def journey(user: Driver) -> None:
        committer = Committer(user)
        await committer.work()
        await user.click("commitButton")
        await committer.see_prepared("git does not know who you are")
        await committer.write("one")
        assert user.find(QPushButton, "commitChangesButton") is None, "it is disabled"
        await user.click("cancelCommitButton")

    window(journey)


def test_a_hunk_with_an_edit_of_the_users_is_left_out_with_the_reason(repo: Repo, window: Window) -> None:
    async def journey(user: Driver) -> None:
        committer = Committer(user)
        await committer.work()
        (repo.folder / "notes.txt").write_text(text_with(OURS | {18: "mine\n"}))
        await committer.open()
        await committer.see_prepared("1 change is left out.")
        assert committer.items[1].text(0) == "line 19 · left out: You changed these lines since. Commit them with git."
        await committer.commit("two")
        assert repo.content() == text_with({3: OURS[3], 33: OURS[33]})
        await user.until_true(lambda: committer.committed == (2, 3), "the review says so")

    window(journey)


def test_the_model_drafts_a_message_in_the_repositorys_style(repo: Repo, window: Window) -> None:
    async def journey(user: Driver) -> None:
        committer = Committer(user)
        await committer.work()
        await committer.open()
        for item in committer.items[1:]:
            item.setCheckState(0, UNCHECKED)
        field = await committer.write("my own words")
        before = user.transcript.turns.usage.output_tokens
        await user.click("draftCommitButton")
        await user.until_true(lambda: "notes: say three" in field.toPlainText(), "the message is there")
        asked = str(window.server.messages[-1].fields["messages"])
        assert "notes: begin" in asked
        assert "Change it" in asked
        assert "+three" in asked
        assert "eighteen" not in asked, "it is not committed"
        assert user.transcript.turns.usage.output_tokens > before, "it costs"
        field.undo()
        assert field.toPlainText() == "my own words"
        field.redo()
        await user.see(QCheckBox, "commitTrailerTick")
        await user.click("commitTrailerTick")
        await user.click("commitChangesButton")
        await user.until_true(lambda: bool(user.transcript.changed.commits), "it is committed")
        name = f"claude-sonnet-5-5 (session {user.transcript.session.session_id})"
        assert repo.message == f"notes: say three\n\nIt reads better.\n\nAssisted-by: desktop-agent:{name}"

    draft = reply(text("```\nnotes: say three\nIt reads better.\n```"))
    window(journey, *edit(), draft)


def test_a_stopped_draft_leaves_the_message_and_a_running_turn(repo: Repo, window: Window) -> None:
    async def journey(user: Driver) -> None:
        committer = Committer(user)
        await committer.work()
        await committer.open()
        await committer.write("my own words")
        await user.click("draftCommitButton")
        await user.see_stalled(window.server, 2)
        user.window.panels.session.submit(SubmitPrompt(text="Go on"))
        await user.see_stalled(window.server, 3)
        await user.click("draftCommitButton")
        draft = await user.see(QPushButton, "draftCommitButton")
        await user.until_true(lambda: draft.text() == "Draft", "it has stopped")
        assert (committer.message, user.transcript.turns.is_running) == ("my own words", True)
        await user.click("cancelCommitButton")
        window.server.release()
        await user.see_turn_end()
        assert user.transcript.turn == 2

    stalling = reply(text("notes: say three"), fault.stall_after(events=3))
    window(journey, *edit(), stalling, reply(text("I went on."), fault.stall_after(events=3)))


def test_a_message_that_was_begun_survives_the_window(repo: Repo, window: Window) -> None:
    async def begin(user: Driver) -> None:
        committer = Committer(user)
        await committer.work()
        await committer.open()
        await committer.write("notes: half a")
        await user.click("cancelCommitButton")

    async def go_on(user: Driver) -> None:
        committer = Committer(user)
        await committer.open()
        assert committer.message == "notes: half a"
        await committer.commit("notes: half a message")
        await user.click("commitButton")
        await committer.see_prepared("There is nothing to commit")
        assert committer.message == ""
        await user.click("cancelCommitButton")

    window(begin)
    window(go_on, argv=["--continue"])
    assert repo.message == "notes: half a message"


def test_a_hook_that_takes_long_is_stopped_by_a_key_and_by_closing_the_window_and_nothing_is_committed(
    repo: Repo, window: Window
) -> None:
    repo.hook("pre-commit", "echo waiting >&2; echo $$ > hook.pid; sleep 600")
    before, pid = (repo.git("rev-parse", "HEAD"), repo.git("diff", "--cached")), repo.folder / "hook.pid"

    async def journey(user: Driver) -> None:
        committer = Committer(user)
        await committer.work()
        await committer.open()
        await committer.write("one")
        await user.click("commitChangesButton")
        await committer.see_output("waiting")
        await user.until_true(lambda: pid.exists() and bool(pid.read_text()), "the hook waits")
        await user.press(Qt.Key.Key_Escape)
        await committer.see_prepared("The commit was stopped.")
        assert (repo.git("rev-parse", "HEAD"), repo.git("diff", "--cached")) == before
        assert not is_alive(int(pid.read_text()))
        pid.unlink()
        await user.click("commitChangesButton")
        await user.until_true(lambda: pid.exists() and bool(pid.read_text()), "the hook waits again")

    async def look_again(user: Driver) -> None:
        await Committer(user).open()
        assert Committer(user).message == "one"
        await user.click("cancelCommitButton")

    window(journey)
    assert (repo.git("rev-parse", "HEAD"), repo.git("diff", "--cached")) == before
    assert not (repo.folder / ".git/index.lock").exists()
    assert not is_alive(int(pid.read_text()))
    window(look_again, argv=["--continue"])
