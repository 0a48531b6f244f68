"""What a session does with git for the user: commits with hooks that are heard and can be stopped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call
from tests.harness import Ground

WRITE = Call("edit_file", {"path": "a.txt", "old_str": "old\n", "new_str": "new\n"})
COMMIT = ops.CommitChanges(selections=(ChangeSelection(),), message="Ours")


class Repo:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *arguments: str) -> str:
        return subprocess.check_output(["git", *arguments], cwd=self.folder, text=True, stderr=subprocess.PIPE).strip()

    def hook(self, name: str, script: str) -> None:
        place = self.folder / ".git/hooks" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\n{script}\n")
        place.chmod(0o755)

    def untouched(self) -> tuple[str, str, bool, bytes]:
        index = self.folder / ".git/index"
        return self.git("show-ref"), self.git("diff", "--cached"), Path(f"{index}.lock").exists(), index.read_bytes()


def running_in(folder: Path) -> set[str]:
    """The ids of the processes with this working directory."""
    return {cwd.parent.name for cwd in Path("/proc").glob("[0-9]*/cwd") if cwd.exists() and cwd.readlink() == folder}


@pytest.fixture
def repo(ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    ground.write("a.txt", "old\n")
    repo = Repo(ground.workspace)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        repo.git(*arguments)
    return repo


async def test_the_output_of_a_hook_is_told_while_the_hook_runs(ground: Ground, repo: Repo, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    repo.hook("pre-commit", f"echo checking a.txt; read answer < '{go}'; echo $answer")
    async with ground.after([WRITE]) as s:
        heard = await s.carry_out(COMMIT, ev.GitOutputDelta)
        assert (heard.step, heard.text) == ("pre-commit", "checking a.txt\n")
        go.write_text("fine\n")
        assert (await s.rx.expect(ev.GitOutputDelta)).text == "fine\n"
        done = await s.rx.expect(ev.ChangesCommitted)
        assert done.hooks_output == "pre-commit: checking a.txt\nfine"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which processes there are")
async def test_stopping_a_commit_ends_its_hook_and_leaves_all_as_it_was(ground: Ground, repo: Repo) -> None:
    repo.hook("pre-commit", "git add -A; setsid sleep 1000 & sleep 1000 & echo $! $$; wait")
    async with ground.after([WRITE]) as s:
        before = repo.untouched()
        heard = await s.carry_out(COMMIT, ev.GitOutputDelta)
        pids = running_in(ground.workspace)
        assert pids.issuperset(heard.text.split())
        notice = await s.carry_out(ops.Interrupt(), ev.Notice)
        assert (notice.code, notice.title, notice.hint) == (
            "not_committed", "The commit was stopped.", "Nothing was committed."
        )  # fmt: skip
        assert pids.isdisjoint(running_in(ground.workspace))
        assert repo.untouched() == before
        repo.hook("pre-commit", "true")
        assert (await s.carry_out(COMMIT, ev.ChangesCommitted)).paths == ("a.txt",)


async def test_a_commit_that_can_no_longer_be_stopped_is_recorded(ground: Ground, repo: Repo) -> None:
    repo.hook("post-commit", "echo made; sleep 1000")
    async with ground.after([WRITE]) as s:
        await s.carry_out(COMMIT, ev.GitOutputDelta)
        done = await s.carry_out(ops.Interrupt(), (ev.ChangesCommitted, ev.Notice))
        assert isinstance(done, ev.ChangesCommitted)
        assert done.commit == repo.git("rev-parse", "HEAD")


async def test_a_hook_that_refuses_says_which_files_it_changed(ground: Ground, repo: Repo) -> None:
    repo.hook("pre-commit", "echo formatted > a.txt; echo run it again; exit 1")
    async with ground.after([WRITE]) as s:
        before = repo.untouched()
        notice = await s.carry_out(COMMIT, ev.Notice)
        assert notice.title == "The hook pre-commit refused the commit."
        assert notice.detail == "run it again\nA hook changed these files: a.txt"
        assert repo.untouched() == before
