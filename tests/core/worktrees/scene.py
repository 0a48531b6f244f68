"""A repository with worktrees."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from desktop_agent.core.base.clock import Clock, SystemClock
from desktop_agent.core.worktrees.worktrees import NewWorktree, Worktree, Worktrees

CONFIG = "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"


class Repo:
    """A repository with a commit, an ignored file, and what a worktree must leave alone."""

    def __init__(self, top: Path, clock: Clock | None = None, data: Path | None = None) -> None:
        top.mkdir(parents=True, exist_ok=True)
        (top / "gitconfig").write_text(CONFIG)
        os.environ.update(GIT_CONFIG_GLOBAL=str(top / "gitconfig"), GIT_CONFIG_NOSYSTEM="1")
        self.folder, self.data = top / "app", data or top / "data"
        self.worktrees = Worktrees(self.data / "worktrees", self.data / "sessions", clock or SystemClock())

    def prepare(self, files: Mapping[str, str] | None = None) -> None:
        self.folder.mkdir()
        self.git("init", "-q")
        self.write(files or {"a.txt": "one\ntwo\nthree\n", "d/b.txt": "b\n", ".gitignore": ".env\nbuild/\n"})
        self.git("add", "-A")
        self.git("commit", "-qm", "first")

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        argv = ["git", *arguments]
        return subprocess.check_output(argv, cwd=folder or self.folder, stderr=subprocess.PIPE, text=True).rstrip("\n")

    def write(self, files: Mapping[str, str], folder: Path | None = None) -> None:
        for path, text in files.items():
            place = (folder or self.folder) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)

    async def made(self, name: str = "one", base: str = "HEAD") -> Worktree:
        return (await self.worktrees.make(self.folder, NewWorktree(name=name, base=base)))[0]

    async def states(self) -> dict[str, str]:
        return {seen.worktree.name: seen.state for seen in await self.worktrees.all()}

    def entries(self) -> list[str]:
        lines = self.git("worktree", "list", "--porcelain").splitlines()
        return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]

    def of_git(self) -> set[str]:
        """Everything in `.git` but objects and logs."""
        top = self.folder / ".git"
        names = {path.relative_to(top) for path in top.rglob("*")}
        return {str(name) for name in names if name.parts[0] not in ("objects", "logs")}

    def check(self) -> None:
        self.git("fsck", "--strict", "--no-dangling")


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file of a checkout, without git's own."""
    paths = ((path, path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return {str(name): path.read_bytes() for path, name in paths if name.parts[0] != ".git"}


WORK = {"a.txt": "changed\n", "new/untracked.txt": "untracked\n", "staged.txt": "staged\n", ".env": "ignored\n"}


def work_in(repo: Repo, folder: Path) -> dict[str, bytes]:
    """Leave work of every kind in a worktree: committed, staged, changed, new and ignored. Return its files."""
    repo.write({"committed.txt": "committed\n"}, folder)
    repo.git("add", "-A", folder=folder)
    repo.git("commit", "-qm", "in the worktree", folder=folder)
    repo.write(WORK, folder)
    repo.git("add", "staged.txt", folder=folder)
    return files_in(folder)
