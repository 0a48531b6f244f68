"""Tasks work in copies: their changes do not reach the folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.headless.batch.local_workers import copy_of
from tests.git import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n", encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def worktree_of(repository: Path) -> Path:
    git(repository, "worktree", "add", "-q", "-b", "feature", "../tree")
    return repository.parent / "tree"


def submodule_of(repository: Path) -> Path:
    whole = repository.parent / "whole"
    whole.mkdir()
    git(whole, "init", "-q")
    git(whole, "submodule", "add", "-q", str(repository), "part")
    return whole / "part"


@pytest.mark.parametrize("kind", [worktree_of, submodule_of])
def test_a_commit_in_the_copy_of_a_worktree_or_submodule_is_none_in_the_original(
    repository: Path, tmp_path: Path, kind: Callable[[Path], Path]
) -> None:
    folder = kind(repository)
    (folder / "a.txt").write_text("two\n", encoding="utf-8")
    (folder / "staged.txt").write_text("mine\n", encoding="utf-8")
    git(folder, "add", "staged.txt")
    status, log = git(folder, "status", "--porcelain", "--branch"), git(folder, "log", "--all", "--format=%H")
    with copy_of(str(folder), tmp_path / "scratch") as copy:
        assert git(copy, "status", "--porcelain", "--branch") == status
        assert Path(git(copy, "rev-parse", "--show-toplevel").strip()) == copy
        git(copy, "commit", "-qam", "by the agent")
        assert git(copy, "status", "--porcelain") == ""
    assert git(folder, "status", "--porcelain", "--branch") == status
    assert git(folder, "log", "--all", "--format=%H") == log
