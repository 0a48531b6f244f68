"""Branches are switched, made and pushed as git allows, to a bare repository on disk."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.system.git.branches import list_branches, plan_push, push, switch_branch


class Repo:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        argv = ["git", *arguments]
        return subprocess.check_output(argv, cwd=folder or self.folder, text=True, stderr=subprocess.PIPE).strip()

    def commit(self, path: str, content: str, message: str) -> None:
        (self.folder / path).write_text(content)
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def hook(self, name: str, script: str) -> None:
        place = self.folder / ".git/hooks" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\n{script}\n")
        place.chmod(0o755)

    async def switch(self, name: str, *, is_new: bool = False) -> None:
        await switch_branch(self.folder, name, lambda _: None, is_new=is_new)

    async def push(self) -> str:
        heard: list[str] = []
        await push(self.folder, await plan_push(self.folder), heard.append)
        return "".join(heard)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    folder = tmp_path / "work"
    folder.mkdir()
    repo = Repo(folder)
    repo.git("init", "-q", "--bare", str(tmp_path / "there"))
    repo.git("init", "-q")
    repo.git("remote", "add", "origin", str(tmp_path / "there"))
    repo.commit("a.txt", "one\n", "First")
    return repo


async def test_a_new_branch_is_made_where_the_user_is_and_switched_back(repo: Repo) -> None:
    (repo.folder / "b.txt").write_text("not committed\n")
    await repo.switch("feature/x", is_new=True)
    assert repo.git("branch", "--show-current") == "feature/x"
    await repo.switch("main")
    assert set(await list_branches(repo.folder)) == {"main", "feature/x"}
    assert (repo.folder / "b.txt").read_text() == "not committed\n"


async def test_a_switch_that_would_lose_something_is_refused_in_gits_words(repo: Repo) -> None:
    await repo.switch("other", is_new=True)
    repo.commit("a.txt", "two\n", "Second")
    (repo.folder / "a.txt").write_text("mine\n")
    with pytest.raises(AgentError, match="Switching to the branch main failed") as refused:
        await repo.switch("main")
    assert refused.value.hint == "Nothing was changed. Commit or stash what would be lost, and switch then."
    assert "a.txt" in refused.value.detail
    assert (repo.git("branch", "--show-current"), (repo.folder / "a.txt").read_text()) == ("other", "mine\n")


@pytest.mark.parametrize("name", ["-f", "two words", "a..b", "main", "@{-1}"])
async def test_a_name_that_git_refuses_makes_no_branch(repo: Repo, name: str) -> None:
    before = repo.git("show-ref"), repo.git("branch", "--show-current")
    with pytest.raises(AgentError, match="was not made"):
        await repo.switch(name, is_new=True)
    assert (repo.git("show-ref"), repo.git("branch", "--show-current")) == before


async def test_a_hook_that_fails_after_the_switch_does_not_undo_it(repo: Repo) -> None:
    repo.hook("post-checkout", "exit 3")
    await repo.switch("x", is_new=True)
    assert repo.git("branch", "--show-current") == "x"


async def test_a_push_sends_exactly_what_was_asked_about(repo: Repo, tmp_path: Path) -> None:
    planned = await plan_push(repo.folder)
    assert (planned.remote, planned.branch, planned.count, planned.subjects) == ("origin", "main", 1, ("First",))
    assert (planned.is_new, planned.has_upstream) == (True, False)
    repo.commit("a.txt", "two\n", "Later")
    heard: list[str] = []
    await push(repo.folder, planned, heard.append)
    assert "main" in "".join(heard)
    assert repo.git("log", "--format=%s", "main", folder=tmp_path / "there") == "First"
    assert repo.git("rev-parse", "--abbrev-ref", "main@{upstream}") == "origin/main"
    planned = await plan_push(repo.folder)
    assert (planned.subjects, planned.is_new, planned.has_upstream) == (("Later",), False, True)
    await repo.push()
    with pytest.raises(AgentError, match="origin has all commits of main"):
        await plan_push(repo.folder)


async def test_branches_that_only_the_remote_has_can_be_switched_to(repo: Repo, tmp_path: Path) -> None:
    await repo.push()
    repo.git("branch", "theirs", folder=tmp_path / "there")
    repo.git("fetch", "-q")
    assert await list_branches(repo.folder) == ("main", "theirs")
    await repo.switch("theirs")
    assert repo.git("rev-parse", "--abbrev-ref", "theirs@{upstream}") == "origin/theirs"


async def test_what_a_remote_refuses_is_said(repo: Repo, tmp_path: Path) -> None:
    await repo.push()
    repo.git("clone", "-q", str(tmp_path / "there"), str(tmp_path / "elsewhere"))
    elsewhere = Repo(tmp_path / "elsewhere")
    elsewhere.commit("b.txt", "theirs\n", "Theirs")
    elsewhere.git("push", "-q")
    repo.commit("a.txt", "two\n", "Mine")
    with pytest.raises(AgentError, match="origin has commits that you do not have, so nothing was pushed"):
        await repo.push()
    (tmp_path / "there/hooks/pre-receive").write_text("#!/bin/sh\necho not today; exit 1\n")
    (tmp_path / "there/hooks/pre-receive").chmod(0o755)
    repo.git("pull", "-q", "--rebase")
    with pytest.raises(AgentError, match="Pushing to origin failed") as refused:
        await repo.push()
    assert "not today" in refused.value.detail


async def test_a_remote_that_asks_for_a_password_is_refused_at_once(repo: Repo, tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(
        '#!/bin/sh\necho "$SSH_ASKPASS_REQUIRE" >&2; echo "ada@there: Permission denied (publickey)." >&2; exit 255\n'
    )
    ssh.chmod(0o755)
    repo.git("config", "core.sshCommand", str(ssh))
    repo.git("remote", "set-url", "origin", "ada@there:project")
    with pytest.raises(AgentError, match="origin did not let git in, so nothing was pushed") as refused:
        await repo.push()
    assert refused.value.detail.startswith("never\n")


async def test_where_nothing_can_be_pushed_the_reason_is_said(repo: Repo, tmp_path: Path) -> None:
    repo.git("remote", "remove", "origin")
    with pytest.raises(AgentError, match="It is not known which remote"):
        await plan_push(repo.folder)
    repo.git("checkout", "-q", "--detach")
    with pytest.raises(AgentError, match="No branch is checked out"):
        await plan_push(repo.folder)
    repo.git("checkout", "-q", "--orphan", "empty")
    with pytest.raises(AgentError, match="no commit yet"):
        await plan_push(repo.folder)
    with pytest.raises(AgentError, match="not in a git repository"):
        await plan_push(tmp_path)


async def test_a_stopped_push_ends_its_hook(repo: Repo, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    repo.hook("pre-push", f"echo checking; read answer < '{go}'")
    heard = asyncio.Event()
    task = asyncio.create_task(push(repo.folder, await plan_push(repo.folder), lambda _: heard.set()))
    await heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(OSError, match="No such device"):  # no process waits for it
        os.open(go, os.O_WRONLY | os.O_NONBLOCK)
    assert repo.git("for-each-ref", folder=tmp_path / "there") == ""
