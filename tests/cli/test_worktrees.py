"""`desktop-agent worktrees`: what a worktree has is merged into the repository's folder, and no edit is lost."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.protocol import ops
from desktop_agent.core.worktrees.worktrees import NewWorktree, Worktree
from tests.command_line import CommandLine, Ran

TEXT = "".join(f"line {number}\n" for number in range(60))


def edited(text: str, lines: dict[int, str]) -> str:
    for number, line in lines.items():
        text = text.replace(f"line {number}\n", f"{line}\n")
    return text


class Scene:
    """A repository with a worktree `calm` of a session that has ended."""

    def __init__(self, folder: Path, run: CommandLine) -> None:
        self.folder = folder
        self.run = run
        folder.mkdir()
        self.git("init", "-q")
        self.write({"a.txt": TEXT, "gone.txt": "gone\n", "tool.sh": "#!/bin/sh\n", ".gitignore": "*.log\n"})
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        self.bench = Workbench.from_environment()
        self.tree = asyncio.run(self._made())  # noqa: TID251 - no loop runs yet
        self.path = Path(self.tree.path)

    async def _made(self) -> Worktree:
        tree = NewWorktree(name="calm")
        session = await self.bench.create_session(self.folder, sink=lambda _: None, worktree=tree)
        session.submit(ops.Shutdown())
        await session.run()
        return (await self.bench.worktrees.find("calm")).worktree

    def __call__(self, *words: str) -> Ran:
        return self.run("worktrees", *words, "--json")

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        argv = ["git", *arguments]
        return subprocess.check_output(argv, cwd=folder or self.folder, stderr=subprocess.PIPE, text=True).rstrip("\n")

    def write(self, files: dict[str, str], folder: Path | None = None) -> None:
        for path, text in files.items():
            place = (folder or self.folder) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)

    def work(self, files: dict[str, str]) -> None:
        self.write(files, self.path)

    def read(self, path: str) -> str:
        return (self.folder / path).read_text()

    def changes(self, *words: str) -> Ran:
        return self.run("changes", *words, "--json")


@pytest.fixture
def scene(tmp_path: Path, run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Scene:
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return Scene(tmp_path / "app", run)


def test_what_a_worktree_has_is_merged_with_the_users_edits_as_changes_of_the_agent(scene: Scene) -> None:
    scene.work({"a.txt": edited(TEXT, {5: "five"}), "new/n.txt": "new\n", "x.log": "ignored\n"})
    scene.git("commit", "-qam", "partly committed", folder=scene.path)
    scene.work({"a.txt": edited(TEXT, {5: "five", 50: "fifty"})})
    (scene.path / "gone.txt").unlink()
    (scene.path / "tool.sh").chmod(0o755)
    scene.write({"a.txt": edited(TEXT, {30: "mine"}), "own.txt": "mine\n"})
    (listed,) = scene("list").json["worktrees"]
    assert (listed["name"], listed["state"], listed["unmerged"]) == ("calm", "made", {"files": 4, "commits": 1})
    assert listed["session_id"] == scene.tree.session_id
    before = scene.git("status", "--porcelain")
    dry = scene("bring-back", "calm", "--dry-run")
    assert (dry.code, scene.git("status", "--porcelain")) == (0, before)
    done = scene("bring-back", "calm")
    assert done.code == 0, done.err
    assert sorted(done.json["files"]) == sorted(dry.json["files"]) == ["a.txt", "gone.txt", "new/n.txt", "tool.sh"]
    assert scene.read("a.txt") == edited(TEXT, {5: "five", 30: "mine", 50: "fifty"})
    assert (scene.folder / "tool.sh").stat().st_mode & 0o100
    assert not (scene.folder / "gone.txt").exists()
    assert not (scene.folder / "x.log").exists()
    assert scene("list").json["worktrees"][0]["unmerged"] == {"files": 0, "commits": 1}
    session = done.json["session_id"]
    assert scene.changes("undo", session, "--file", "a.txt").code == 0
    assert scene.read("a.txt") == edited(TEXT, {30: "mine"})
    assert scene.changes("redo", session).code == 0
    committed = scene.changes("commit", session, "--message", "From the worktree")
    assert sorted(committed.json["files"]) == sorted(done.json["files"])
    assert scene.git("show", "HEAD:a.txt") == edited(TEXT, {5: "five", 50: "fifty"}).rstrip("\n")
    assert scene.git("status", "--porcelain").split() == ["M", "a.txt", "??", "own.txt"]
    assert scene("bring-back", "calm").json["files"] == []
    assert scene("list").json["worktrees"][0]["unmerged"]["files"] == 0


def test_a_clash_is_left_out_and_the_rest_of_the_file_is_brought(scene: Scene) -> None:
    scene.work(
        {"a.txt": edited(TEXT, {5: "five", 30: "thirty", 50: "fifty"}), "gone.txt": "other\n", "b.txt": "theirs\n"}
    )
    mine = {"a.txt": edited(TEXT, {30: "MINE"}), "gone.txt": "MINE\n", "b.txt": "MINE\n"}
    scene.write(mine)
    ran = scene("bring-back", "calm")
    assert (ran.code, ran.json["files"]) == (1, ["a.txt"])
    assert scene.read("a.txt") == edited(TEXT, {5: "five", 30: "MINE", 50: "fifty"})
    assert (scene.read("gone.txt"), scene.read("b.txt")) == ("MINE\n", "MINE\n")
    left = {(one["path"], one["hunk"] is not None): one["reason"] for one in ran.json["left_out"]}
    assert left[("a.txt", True)] == "You changed the same lines since."
    assert {path for path, _ in left} == {"a.txt", "b.txt", "gone.txt"}
    hunks = scene.changes("list", ran.json["session_id"], "--file", "a.txt", "--hunks").json["files"][0]["hunks"]
    assert [hunk["state"] for hunk in hunks] == ["standing", "undone", "standing"]
    again = scene("bring-back", "calm")
    assert (again.json["files"], again.json["session_id"]) == ([], ran.json["session_id"])
    assert scene.read("a.txt") == edited(TEXT, {5: "five", 30: "MINE", 50: "fifty"})


def test_hunks_are_brought_alone_and_later_only_what_is_new(scene: Scene) -> None:
    scene.work({"a.txt": edited(TEXT, {5: "five", 30: "thirty", 50: "fifty"}), "n.txt": "new\n"})
    ran = scene("bring-back", "calm", "--file", "a.txt", "--hunk", "1", "--hunk", "3")
    assert (ran.code, ran.json["files"]) == (0, ["a.txt"])
    assert scene.read("a.txt") == edited(TEXT, {5: "five", 50: "fifty"})
    assert not (scene.folder / "n.txt").exists()
    assert scene.changes("undo", ran.json["session_id"], "--file", "a.txt", "--hunk", "3").code == 0
    scene.work({"a.txt": edited(TEXT, {5: "five", 30: "thirty", 50: "fifty", 55: "later"})})
    assert scene.run("sessions", "delete", scene.tree.session_id, "--yes").code == 0
    second = scene("bring-back", "calm")
    assert sorted(second.json["files"]) == ["a.txt", "n.txt"]
    assert scene.read("a.txt") == edited(TEXT, {5: "five", 30: "thirty", 55: "later"})


def test_a_worktree_goes_to_the_trash_and_back_with_every_byte(scene: Scene) -> None:
    scene.work({"a.txt": "changed\n", "new.txt": "new\n", "x.log": "ignored\n"})
    scene.git("add", "new.txt", folder=scene.path)
    before = scene.git("status", "--porcelain", "--ignored", folder=scene.path)
    assert scene("remove", "calm").json["state"] == "trashed"
    assert not scene.path.exists()
    assert scene.git("worktree", "list", "--porcelain").count("worktree ") == 2
    (listed,) = scene("list").json["worktrees"]
    assert (listed["state"], listed["unmerged"]["files"]) == ("trashed", 2)
    assert scene("remove", "calm").code == 2
    assert sorted(scene("bring-back", "calm").json["files"]) == ["a.txt", "new.txt"]
    assert scene("restore", "calm").json["path"] == str(scene.path)
    assert scene.git("status", "--porcelain", "--ignored", folder=scene.path) == before
    assert scene("restore", "calm").code == 2
    assert scene("restore", "nothing").code == 2
