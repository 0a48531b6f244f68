"""Differences from git are reviewed like the agent's, and only the reviewed version is restored."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.app.git_review import GitReview
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.diff.comparing import Comparer
from desktop_agent.core.diff.hunks import all_keys
from desktop_agent.core.protocol.model import FileChange

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

LINES = "".join(f"{number}\n" for number in range(40))

Git = Callable[..., str]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    return folder


@pytest.fixture
def empty_git(repo: Path) -> Git:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}

    def run(*arguments: str) -> str:
        return subprocess.check_output(["git", *arguments], cwd=repo, env=os.environ | who, text=True).strip()

    run("init", "-q", "-b", "main")
    return run


@pytest.fixture
def git(repo: Path, empty_git: Git) -> Git:
    (repo / "src").mkdir()
    (repo / "src/a.py").write_text(LINES)
    (repo / "gone.txt").write_text("gone\n")
    (repo / "old name.txt").write_text(LINES + "same\n")
    (repo / ".gitignore").write_text("*.log\n")
    empty_git("add", "-A")
    empty_git("commit", "-qm", "first")
    return empty_git


async def changes(repo: Path, branch: str = "") -> dict[str, FileChange]:
    return {change.path: change for change in await GitReview(Comparer()).changes(str(repo), branch)}


def edit(repo: Path) -> None:
    (repo / "src/a.py").write_text(LINES.replace("3\n", "three\n", 1).replace("\n30\n", "\nthirty\n"))
    (repo / "gone.txt").unlink()
    (repo / "old name.txt").rename(repo / "new näme.txt")
    (repo / "new.bin").write_bytes(b"\0\1")
    (repo / "new.txt").write_text("one\ntwo")
    (repo / "x.log").write_text("noise\n")


async def test_it_tells_the_branches_or_why_there_are_none(repo: Path, tmp_path: Path, git: Git) -> None:
    git("branch", "other")
    state = await GitReview(Comparer()).look(str(repo))
    assert state == ("", "main", ("other",))
    plain = tmp_path / "plain"
    plain.mkdir()
    assert (await GitReview(Comparer()).look(str(plain))).obstacle == "not_a_repository"


async def test_what_is_not_committed_is_listed_with_its_counts(repo: Path, git: Git) -> None:
    assert await changes(repo) == {}
    edit(repo)
    git("add", "-A", "--intent-to-add", "new näme.txt")
    found = {path: (c.kind, c.added, c.removed, c.is_binary) for path, c in (await changes(repo)).items()}
    assert found == {
        "src/a.py": ("modified", 2, 2, False),
        "gone.txt": ("deleted", 0, 1, False),
        "new näme.txt": ("renamed", 0, 0, False),
        "new.bin": ("created", 0, 0, True),
        "new.txt": ("created", 2, 0, False),
    }
    assert (await changes(repo))["new näme.txt"].moved_from == "old name.txt"


async def test_a_folder_inside_the_repository_sees_only_itself(repo: Path, git: Git) -> None:
    edit(repo)
    assert list(await changes(repo / "src")) == ["a.py"]
    diff = await GitReview(Comparer()).diff(str(repo / "src"), (await changes(repo / "src"))["a.py"])
    assert (diff.added, diff.removed, diff.old_lines[3]) == (2, 2, "3\n")


async def test_a_branch_is_compared_with_where_it_parted(repo: Path, git: Git) -> None:
    git("checkout", "-qb", "feature")
    (repo / "feature.txt").write_text("x\n")
    git("add", "-A")
    git("commit", "-qm", "feature")
    git("checkout", "-q", "main")
    (repo / "later.txt").write_text("later\n")
    git("add", "-A")
    git("commit", "-qm", "later on main")
    git("checkout", "-q", "feature")
    (repo / "src/a.py").write_text("short\n")
    assert list(await changes(repo, "main")) == ["feature.txt", "src/a.py"]
    assert list(await changes(repo)) == ["src/a.py"]


async def test_before_the_first_commit_everything_is_new(repo: Path, empty_git: Git) -> None:
    (repo / "a.txt").write_text("a\n")
    empty_git("add", "a.txt")
    assert {path: change.kind for path, change in (await changes(repo)).items()} == {"a.txt": "created"}


async def test_each_file_is_told_as_it_was_committed_and_as_it_was_seen(repo: Path, git: Git) -> None:
    edit(repo)
    git("add", "-A", "--intent-to-add", "new näme.txt")
    files = [await GitReview(Comparer()).committed(str(repo), change) for change in (await changes(repo)).values()]
    assert {file.path: (file.content, file.moved_from, file.seen is None) for file in files} == {
        "src/a.py": (LINES.encode(), "", False),
        "gone.txt": (b"gone\n", "", True),
        "new näme.txt": ((LINES + "same\n").encode(), "old name.txt", False),
        "new.bin": (None, "", False),
        "new.txt": (None, "", False),
    }


async def test_line_endings_come_back_as_a_checkout_writes_them(repo: Path, git: Git) -> None:
    (repo / ".gitattributes").write_text("*.bat text eol=crlf\n")
    (repo / "run.bat").write_bytes(b"one\r\ntwo\r\n")
    git("add", "-A")
    git("commit", "-qm", "crlf")
    (repo / "run.bat").write_bytes(b"ONE\r\ntwo\r\n")
    change = (await changes(repo))["run.bat"]
    diff = await GitReview(Comparer()).diff(str(repo), change)
    assert (diff.added, diff.removed, diff.notes) == (1, 1, ())
    file = await GitReview(Comparer()).committed(str(repo), change)
    assert file.content == b"one\r\ntwo\r\n"


async def test_what_git_keeps_in_another_form_is_left_to_git(repo: Path, git: Git) -> None:
    (repo / ".gitattributes").write_text("*.dat filter=lfs\n")
    (repo / "big.dat").write_text("pointer\n")
    git("add", "-A")
    git("commit", "-qm", "filtered")
    (repo / "big.dat").write_text("content\n")
    with pytest.raises(AgentError, match="another form"):
        await GitReview(Comparer()).committed(str(repo), (await changes(repo))["big.dat"])


@pytest.mark.skipif(os.name == "nt", reason="the bit means nothing on Windows")
async def test_a_mode_and_a_link_are_told_like_any_other_file(repo: Path, git: Git) -> None:
    (repo / "src/a.py").chmod(0o755)
    (repo / "link").symlink_to("src/a.py")
    found = await changes(repo)
    modes = found["src/a.py"].before, found["src/a.py"].after
    assert [image.mode for image in modes if image] == [0o644, 0o755]
    assert found["link"].after
    assert found["link"].after.kind == "symlink"
    git("add", "-A")
    git("commit", "-qm", "both")
    (repo / "src/a.py").chmod(0o644)
    (repo / "link").unlink()
    files = [await GitReview(Comparer()).committed(str(repo), change) for change in (await changes(repo)).values()]
    assert {file.path: (file.kind, file.is_executable) for file in files} == {
        "link": ("symlink", False),
        "src/a.py": ("file", True),
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
async def test_a_file_that_cannot_be_read_hides_no_other(repo: Path, git: Git) -> None:
    edit(repo)
    expected = await changes(repo)
    for name in ("*.txt", ":(top) a", "b"):
        (repo / name).write_text("was a file\n")
    git("--literal-pathspecs", "add", "*.txt", ":(top) a", "b")
    git("commit", "-qm", "second")
    for name in ("*.txt", ":(top) a"):
        (repo / name).unlink()
        os.mkfifo(repo / name)
    (repo / "b").unlink()
    (repo / "b").write_text("unreadable, unless for root\n")
    (repo / "b").chmod(0)
    found = await changes(repo)
    pipes = {path: found.pop(path) for path in ("*.txt", ":(top) a")}
    assert found.pop("b").kind == "modified"
    assert found == expected
    for pipe in pipes.values():
        assert (pipe.kind, pipe.added, pipe.removed) == ("modified", 0, 0)
        with pytest.raises(AgentError, match="not a file that can be read"):
            await GitReview(Comparer()).versions(str(repo), pipe)
        with pytest.raises(AgentError, match="not a file that can be read"):
            await GitReview(Comparer()).committed(str(repo), pipe)


async def test_a_big_file_is_compared_in_a_process_of_its_own(repo: Path, git: Git) -> None:
    lines = [f"{number}\n" for number in range(15_000)]
    (repo / "big.txt").write_text("".join(lines))
    git("add", "-A")
    git("commit", "-qm", "big")
    lines[100], lines[14_000] = "first\n", "second\n"
    (repo / "big.txt").write_text("".join(lines))
    comparer = Comparer()
    review = GitReview(comparer)
    change = (await changes(repo))["big.txt"]
    diff = await review.diff(str(repo), change)
    assert comparer.pid is not None
    first, second = all_keys(diff)
    assert first != second
    await comparer.aclose()
