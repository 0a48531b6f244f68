"""A worktree is made, moved to the trash and back, and no way to lose one loses a byte."""

import subprocess
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.worktrees.worktrees import NewWorktree, Worktree, Worktrees


class Repo:
    """A repository with two commits, an ignored file, and everything that a worktree must leave alone."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        config = top / "gitconfig"
        config.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        self.folder = top / "app"
        self.folder.mkdir()
        self.git("init", "-q")
        self.write({"a.txt": "one\ntwo\nthree\n", "d/b.txt": "b\n", ".gitignore": ".env\nbuild/\n"})
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        self.worktrees = Worktrees(top / "data/worktrees", top / "data/sessions", SystemClock())

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        argv = ["git", *arguments]
        return subprocess.check_output(argv, cwd=folder or self.folder, stderr=subprocess.PIPE, text=True).strip()

    def write(self, files: dict[str, str], folder: Path | None = None) -> None:
        for path, text in files.items():
            place = (folder or self.folder) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)

    def entries(self) -> list[str]:
        return [
            line.split(" ", 1)[1]
            for line in self.git("worktree", "list", "--porcelain").splitlines()
            if line[:9] == "worktree "
        ]

    def of_git(self) -> set[str]:
        """Every file and folder in `.git`, without the objects, the logs and what git rewrites."""
        top = self.folder / ".git"
        return {
            str(path.relative_to(top))
            for path in top.rglob("*")
            if path.relative_to(top).parts[0] not in ("objects", "logs")
        }

    async def made(self, name: str = "one", base: str = "HEAD") -> Worktree:
        return (await self.worktrees.make(self.folder, NewWorktree(name=name, base=base)))[0]

    async def states(self) -> dict[str, str]:
        return {seen.worktree.name: seen.state for seen in await self.worktrees.all()}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    return Repo(tmp_path, monkeypatch)


def files_in(folder: Path) -> dict[str, bytes]:
    paths = ((path, path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return {str(name): path.read_bytes() for path, name in paths if name.parts[0] != ".git"}


async def test_a_worktree_has_a_branch_of_its_own_and_leaves_one_entry(repo: Repo) -> None:
    before = repo.of_git()
    one = await repo.made()
    assert one.path.endswith("/data/worktrees/one/app")
    assert repo.entries() == [str(repo.folder), one.path]
    new = {path.split("/")[0] + "/" + "/".join(path.split("/")[1:3]) for path in repo.of_git() - before}
    assert {path for path in new if not path.startswith("worktrees/")} == {"refs/heads/desktop-agent"}
    assert {path.split("/")[1] for path in new if path.startswith("worktrees/")} <= {"", "desktop-agent-one"}
    assert repo.git("rev-parse", "desktop-agent/one") == one.base == repo.git("rev-parse", "HEAD")
    assert files_in(Path(one.path)) == files_in(repo.folder)
    assert await repo.states() == {"one": "made"}
    repo.write({"new.txt": "new\n"}, Path(one.path))
    repo.git("add", "-A", folder=Path(one.path))
    repo.git("commit", "-qm", "in the worktree", folder=Path(one.path))
    assert repo.git("status", "--porcelain") == ""
    repo.git("fsck", "--strict")
