"""`desktop-agent worktrees`: what a worktree has is merged into the repository's folder, and no edit is lost."""

import asyncio
import json
import os
import subprocess
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from desktop_agent import Agent, Call, Say, ScriptedProvider, in_order
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import WorktreeOrigin
from desktop_agent.core.store.session_upkeep import SessionStorage
from desktop_agent.core.worktrees.worktrees import NewWorktree, Worktree
from tests.command_line import CommandLine, Ran
from tests.core.stubborn import survivors
from tests.core.worktrees.scene import CONFIG, Repo

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
def git_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gitconfig").write_text(CONFIG)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def scene(tmp_path: Path, run: CommandLine, git_settings: None) -> Scene:
    del git_settings
    return Scene(tmp_path / "app", run)


@pytest.fixture
def scene_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_settings: None) -> Path:
    del git_settings
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    repo = Repo(tmp_path)
    repo.prepare()
    return repo.folder


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


def test_the_changes_of_a_package_are_brought_into_its_folder_unless_others_are_among_them(scene: Scene) -> None:
    scene.write({"pkg/a.txt": TEXT})
    scene.git("add", "-A")
    scene.git("commit", "-qm", "a package")
    session = demo(scene, "--worktree", "inner", folder=scene.folder / "pkg").json["session_id"]
    inner = Path(events_of(scene, session)[0]["workspace"])
    scene.write({"a.txt": edited(TEXT, {5: "five", 30: "thirty"}), "b.txt": "new\n"}, inner)
    ran = scene("bring-back", "inner", "--file", "a.txt", "--hunk", "1")
    assert (ran.code, ran.json["files"], scene.read("pkg/a.txt")) == (0, ["a.txt"], edited(TEXT, {5: "five"}))
    assert events_of(scene, ran.json["session_id"])[0]["workspace"] == str(scene.folder / "pkg")
    (listed,) = (one for one in scene("list").json["worktrees"] if one["name"] == "inner")
    assert listed["unmerged"]["files"] == 2
    scene.write({"outside.txt": "new\n"}, inner.parent)
    ran = scene("bring-back", "inner")
    assert sorted(ran.json["files"]) == ["outside.txt", "pkg/a.txt", "pkg/b.txt"]
    assert scene.read("pkg/a.txt") == edited(TEXT, {5: "five", 30: "thirty"})
    assert events_of(scene, ran.json["session_id"])[0]["workspace"] == str(scene.folder)
    assert scene("bring-back", "inner").json["files"] == []


def test_what_cannot_be_compared_is_left_out_with_the_reason(scene: Scene) -> None:
    for branch, line in (("desktop-agent/calm", "ours"), ("other", "theirs")):
        scene.git("checkout", "-qB", branch, scene.tree.base, folder=scene.path)
        scene.work({"a.txt": edited(TEXT, {5: line})})
        scene.git("commit", "-qam", branch, folder=scene.path)
    with pytest.raises(subprocess.CalledProcessError):
        scene.git("merge", "-q", "desktop-agent/calm", folder=scene.path)
    with (scene.path / "large.bin").open("wb") as file:
        file.truncate(51 * 2**20)
    (scene.path / "fifo").mkdir()
    os.mkfifo(scene.path / "fifo/f")
    scene.git("init", "-q", str(scene.path / "inner"))
    scene.work({"inner/x.txt": "x\n", "good\nname.txt": "good\n", "empty.txt": ""})
    ran = scene("bring-back", "calm")
    assert (ran.code, sorted(ran.json["files"])) == (1, ["empty.txt", "good\nname.txt"])
    reasons = {one["path"]: one["reason"] for one in ran.json["left_out"]}
    assert reasons.keys() == {"a.txt", "large.bin", "inner"}
    assert "conflicts" in reasons["a.txt"]
    assert "larger than 50 MiB" in reasons["large.bin"]
    assert "another repository" in reasons["inner"]
    assert scene.read("a.txt") == TEXT
    assert scene("bring-back", "calm", "--file", "none.txt").code == 2


def test_another_repository_in_its_place_is_not_asked(scene: Scene) -> None:
    (scene.path / ".git").unlink()
    scene.git("init", "-q", str(scene.path))
    scene.git("config", "core.fsmonitor", "touch evil; false", folder=scene.path)
    ran = scene("bring-back", "calm")
    assert (ran.code, "another repository" in ran.err) == (1, True)
    assert scene("list").json["worktrees"][0]["unmerged"] is None
    assert not (scene.path / "evil").exists()


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


# --- sessions in a worktree -----------------------------------------------------------------------------------------


def demo(scene: Scene, *words: str, folder: Path | None = None) -> Ran:
    where = ("--workspace", folder or scene.folder)
    return scene.run("run", "--provider", "demo", "--prompt", "hello", *where, *words, "--json")


def events_of(scene: Scene, session: str) -> list[dict[str, Any]]:
    return scene.run("sessions", "show", session, "--json").json["events"]


def test_a_run_in_a_worktree_says_where_and_so_do_the_lists(scene: Scene) -> None:
    ran = demo(scene, "--worktree", "--worktree-base", "main")
    name, session = ran.json["worktree"], ran.json["session_id"]
    summaries = scene.run("sessions", "list", "--json").json["sessions"]
    assert {one["id"]: one["worktree"] for one in summaries}[session] == name
    assert f"worktree {name}" in scene.run("sessions", "list").out
    (opened, notice, *_) = events_of(scene, session)
    head = scene.git("rev-parse", "HEAD")
    assert opened["worktree"] == {
        "name": name,
        "main": str(scene.folder),
        "branch": f"desktop-agent/{name}",
        "base": head,
    }
    assert opened["workspace"] == {one["name"]: one["path"] for one in scene("list").json["worktrees"]}[name]
    assert (notice["code"], notice["level"]) == ("worktree", "info")
    exported = scene.run("sessions", "export", session, "--format", "jsonl").out
    opening = next(line for line in map(json.loads, exported.splitlines()) if line.get("type") == "session_opened")
    assert opening["worktree"]["name"] == name
    assert scene.run("run", "--resume", session, "--prompt", "more", "--json").json["worktree"] == name
    for words in (("--worktree-base", "main"), ("--worktree", "calm"), ("--worktree", "x", "--continue")):
        assert demo(scene, *words).code == 2


def test_the_set_up_command_of_a_trusted_project_runs_in_each_worktree(scene: Scene) -> None:
    command = "echo made > made.txt; echo set up; pwd; exit $(cat code 2>/dev/null || echo 0)"
    scene.write({".desktop-agent/config.toml": f'[execution]\nworktree_setup = "{command}"\n'})
    scene.git("add", "-A")
    scene.git("commit", "-qm", "settings")
    first = demo(scene, "--worktree", "untrusted")
    assert "set up" not in events_of(scene, first.json["session_id"])[1]["detail"]
    assert scene.run("config", "trust", str(scene.folder)).code == 0
    second = events_of(scene, demo(scene, "--worktree", "trusted").json["session_id"])
    path = Path(second[0]["workspace"])
    assert (path / "made.txt").read_text() == "made\n"
    assert second[1]["detail"].splitlines()[1:] == ["set up", str(path)]
    assert second[1]["level"] == "info"
    scene.write({"code": "3\n"})
    scene.git("add", "-A")
    scene.git("commit", "-qm", "it fails")
    ran = demo(scene, "--worktree", "failing")
    assert "failed with code 3" in ran.err
    assert events_of(scene, ran.json["session_id"])[1]["level"] == "warning"


def test_a_session_whose_worktree_is_gone_is_read_and_says_what_to_do(scene: Scene) -> None:
    session = demo(scene, "--worktree", "lost").json["session_id"]
    assert scene("remove", "lost").code == 0
    assert scene.run("sessions", "show", session).code == 0
    ran = scene.run("run", "--resume", session, "--prompt", "more", "--json")
    assert (ran.code, ran.json["stopped_reason"]) == (1, "workspace_error")
    assert "desktop-agent worktrees restore lost" in ran.err
    assert scene("restore", "lost").code == 0
    assert scene.run("run", "--resume", session, "--prompt", "more", "--json").json["stopped_reason"] == "completed"


async def test_the_library_works_in_a_worktree(scene_folder: Path, tmp_path: Path) -> None:
    call = Call("create_file", {"path": "new.txt", "content": "new\n"})
    provider = ScriptedProvider(in_order([[call], [Say("Done.")]]))
    wanted, home = NewWorktree(name="mine"), tmp_path / "home"
    async with Agent(scene_folder, worktree=wanted, provider=provider, home=home, approval="never") as agent:
        await agent.run("Make a file")
        where = agent.transcript.session.worktree
        (seen,) = await agent.workbench.worktrees.all()
    assert where == WorktreeOrigin(
        name="mine", main=str(scene_folder), branch="desktop-agent/mine", base=seen.worktree.base
    )
    assert (seen.path / "new.txt").read_text() == "new\n"
    assert not (scene_folder / "new.txt").exists()


@pytest.mark.nightly
async def test_ten_agents_with_background_commands_stay_in_their_worktrees(scene_folder: Path, tmp_path: Path) -> None:
    async def work(agent: Agent) -> None:
        await agent.run("Begin")
        (job,) = agent.transcript.session.jobs
        assert job.state == "running"

    mark = f"stays-{tmp_path.name}"
    command = f"echo $PPID > job.txt; exec -a {mark} sleep 600"
    async with AsyncExitStack() as open_agents:
        agents: list[Agent] = []
        for number in range(10):
            begin = Call("run_terminal_cmd", {"command": command, "is_background": True})
            write = Call("create_file", {"path": "own.txt", "content": f"{number}\n"})
            agent = Agent(
                scene_folder,
                worktree=NewWorktree(name=f"tree-{number}"),
                provider=ScriptedProvider(in_order([[begin], [write], [Say("It runs.")]])),
                home=tmp_path / "home",
                approval="never",
            )
            agents.append(await open_agents.enter_async_context(agent))
        await asyncio.gather(*map(work, agents))
        assert len(survivors(mark)) >= 10, "all of them run at once"
        trees = [Path(agent.transcript.session.workspace) for agent in agents]
        assert [(tree / "own.txt").read_text() for tree in trees] == [f"{number}\n" for number in range(10)]
        changed = [{record.change.path for record in agent.transcript.changes.values()} for agent in agents]
        assert all({"own.txt"} <= paths <= {"own.txt", "job.txt"} for paths in changed)
    assert survivors(mark) == []
    git = partial(subprocess.check_output, cwd=scene_folder, text=True)
    assert git(["git", "status", "--porcelain"]) == ""
    assert len(git(["git", "worktree", "list"]).splitlines()) == 11
    states = [git(["git", "-C", str(tree), "status", "--porcelain"]).splitlines() for tree in trees]
    assert states == [["?? job.txt", "?? own.txt"]] * 10
    git(["git", "fsck", "--strict", "--no-dangling"])


async def test_a_session_that_cannot_be_opened_leaves_no_worktree(
    scene_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SessionStorage, "create", _refuse)
    agent = Agent(scene_folder, home=tmp_path / "home", model="demo", worktree=NewWorktree())
    with pytest.raises(StorageError):
        await agent.__aenter__()
    assert await agent.workbench.worktrees.all() == []
    assert not await asyncio.to_thread((scene_folder / ".git/worktrees").exists)


def _refuse(*_: object) -> SessionStorage:
    raise StorageError("The disk is full.")
