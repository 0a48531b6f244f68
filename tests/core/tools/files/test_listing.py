"""Listing: git and ripgrep give the same answer."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.file_names import legible_name, real_name
from desktop_agent.core.base.globs import Glob
from desktop_agent.core.tools.builtin.apply_patch import ApplyPatch
from desktop_agent.core.tools.builtin.codebase_search import CodebaseSearch
from desktop_agent.core.tools.builtin.create_file import CreateFile
from desktop_agent.core.tools.builtin.delete_file import DeleteFile
from desktop_agent.core.tools.builtin.edit_file import EditFile
from desktop_agent.core.tools.builtin.glob_file_search import GlobFileSearch
from desktop_agent.core.tools.builtin.grep import Grep
from desktop_agent.core.tools.builtin.list_files import ListFiles
from desktop_agent.core.tools.builtin.read_file import ReadFile
from desktop_agent.core.tools.builtin.rename_file import RenameFile
from desktop_agent.core.tools.files import listing
from desktop_agent.core.tools.files.listing import FileListing, by_name, largest, list_by, list_paths, newest
from tests.core.tools.conftest import Workspace
from tests.git import git
from tests.odd_names import ODD_NAMES

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


@pytest.fixture
def repository(work: Workspace) -> Workspace:
    git(work.root, "init", "-q")
    for path in ("README.md", "src/main.py", "src/deep/x.py", "gone.py", "forced.log", "ä ö.txt", ".hidden/a"):
        work.write(path, path)
    for path in ("node_modules/a/index.js", "src/__pycache__/main.pyc"):
        work.write(path, "x")
    work.write(".gitignore", "*.log\nbuild/\n")
    git(work.root, "add", ".")
    git(work.root, "add", "--force", "forced.log")
    git(work.root, "commit", "-q", "-m", "begin")
    (work.root / "gone.py").unlink()
    work.write("untracked.py", "new")
    work.write("trace.log", "ignored")
    work.write("build/out.o", "ignored")
    return work


ALL = [".gitignore", ".hidden/a", "README.md", "forced.log", "src/deep/x.py", "src/main.py", "untracked.py", "ä ö.txt"]


async def listed(work: Workspace) -> list[str]:
    return (await list_paths(work.root, ".", work.context)).paths


async def measured(work: Workspace) -> list[str]:
    return (await list_by(by_name, work.root, ".", work.context, select=list)).paths


async def test_git_knows_what_is_tracked_untracked_deleted_and_ignored(repository: Workspace) -> None:
    """Z-113, T-29: a tracked file counts even if ignored; a deleted one does not."""
    assert await listed(repository) == ALL
    assert await measured(repository) == ALL


@pytest.mark.parametrize("rules", ["/*\n!/*/\n", "*.py\n", "src/\n", "*\n!*.md\n"])
@pytest.mark.parametrize("folder", [".", "src", "src/deep"])
async def test_all_tools_agree_on_which_files_there_are(repository: Workspace, rules: str, folder: str) -> None:
    """A tracked file counts for each tool, whatever the rules say."""
    repository.write(".gitignore", rules)
    git(repository.root, "add", "--force", "src", "README.md", "forced.log")
    repository.write("src/ignored.py", "src")
    (repository.root / "src/linked.py").symlink_to("main.py")
    git(repository.root, "add", "--force", "src/linked.py")
    expected = {
        ".": {"README.md", "forced.log", "src/deep/x.py", "src/main.py"},
        "src": {"deep/x.py", "main.py"},
        "src/deep": {"x.py"},
    }[folder]
    search = {"pattern": ".", "path": folder, "output_mode": "files_with_matches"}
    found = [path.removeprefix(f"{folder}/") for path in await repository.answer(Grep(), **search)]
    globbed = await repository.answer(GlobFileSearch(), glob_pattern="*", target_directory=folder)
    walked = (await repository.answer(ListFiles(), path=folder, recursive=True, include_dirs=False))["entries"]
    flat = await repository.answer(ListFiles(), path=folder, include_dirs=False)
    assert set(found) >= expected
    assert len(found) == len(set(found))
    for names in (globbed, walked):  # which have hidden files and links, too
        assert {path for path in names if not path.startswith(".") and "linked" not in path} == set(found)
    assert {path for path in expected if "/" not in path} <= set(flat["entries"])


async def test_a_conflicted_file_is_listed_once(repository: Workspace) -> None:
    git(repository.root, "checkout", "-q", "-b", "other")
    repository.write("README.md", "other")
    git(repository.root, "commit", "-qam", "other")
    git(repository.root, "checkout", "-q", "-")
    repository.write("README.md", "mine")
    git(repository.root, "commit", "-qam", "mine")
    with pytest.raises(subprocess.CalledProcessError):
        git(repository.root, "merge", "-q", "other")
    assert (await listed(repository)).count("README.md") == 1
    assert await listed(repository) == await measured(repository)


async def test_a_repository_inside_is_looked_into(repository: Workspace) -> None:
    repository.write("inner/.git/HEAD", "ref: refs/heads/main\n")
    (repository.root / "inner/.git/objects").mkdir()
    (repository.root / "inner/.git/refs").mkdir()
    repository.write("inner/code.py", "x")
    assert "inner/code.py" in await listed(repository)
    assert "inner/code.py" in await measured(repository)


async def test_a_sparse_checkout_lists_what_is_there(repository: Workspace) -> None:
    git(repository.root, "update-index", "--skip-worktree", "src/main.py", "src/deep/x.py")
    (repository.root / "src/deep/x.py").unlink()
    for paths in (await listed(repository), await measured(repository)):
        assert "src/main.py" in paths
        assert "src/deep/x.py" not in paths


async def test_what_is_absent_takes_the_place_of_nothing_in_a_partial_list(
    repository: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        repository.write(f"a{number}", "x")
    git(repository.root, "add", ".")
    for number in range(10):
        (repository.root / f"a{number}").unlink()
    monkeypatch.setattr(listing, "MOST_COLLECTED", 12)
    assert {*ALL} - {"forced.log"} <= {*await listed(repository)}  # an ignored file only git lists


@pytest.mark.parametrize("is_tracked", [True, False])
async def test_a_file_whose_name_is_no_unicode_is_listed(repository: Workspace, *, is_tracked: bool) -> None:
    (repository.root / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    if is_tracked:
        git(repository.root, "add", ".")
    assert "caf\udce9.txt" in await listed(repository)


async def test_a_broken_repository_is_listed_without_git(repository: Workspace) -> None:
    (repository.root / ".git/HEAD").write_text("nonsense")
    assert "src/main.py" in await listed(repository)
    assert "src/main.py" in await measured(repository)


async def test_a_repositorys_own_commands_are_never_run(repository: Workspace) -> None:
    hook = repository.write("evil.sh", "#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    git(repository.root, "config", "core.fsmonitor", str(hook))
    await listed(repository)
    await measured(repository)
    assert not (repository.root / "ran").exists()


async def test_another_repository_named_in_the_environment_is_not_meant(repository: Workspace) -> None:
    assert isinstance(repository.context.environ, dict)
    repository.context.environ["GIT_DIR"] = "/nowhere"
    assert await listed(repository) == ALL


async def test_order_is_by_measure_and_then_by_name(repository: Workspace) -> None:
    for path in ALL:
        os.utime(repository.root / path, (5, 5))
    os.utime(repository.root / "untracked.py", (9, 9))
    os.utime(repository.root / "src/main.py", (7, 7))
    found = await list_by(newest, repository.root, ".", repository.context, select=Glob("*.py").filter)
    assert found == FileListing(["untracked.py", "src/main.py", "src/deep/x.py"])
    found = await list_by(largest, repository.root, ".", repository.context, select=Glob("src/**").filter)
    assert found.paths == ["src/deep/x.py", "src/main.py"]


@given(
    st.text(alphabet="ab*?/.{,}[]\\", min_size=1, max_size=8),
    st.lists(st.text(alphabet="ab./", min_size=1, max_size=8).filter(lambda path: not path.startswith("/"))),
)
def test_filtering_many_paths_is_matching_each(pattern: str, paths: list[str]) -> None:
    try:
        glob = Glob(pattern)
    except ValueError:
        return
    assert glob.filter(paths) == [path for path in paths if glob.matches(path)]


@pytest.mark.parametrize("is_tracked", [True, False])
async def test_a_name_that_is_not_utf8_has_one_spelling_which_every_tool_gives_and_takes(
    repository: Workspace, *, is_tracked: bool
) -> None:
    folder = repository.root / os.fsdecode(b"d\xf0")
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text("needle\n")
    if is_tracked:
        git(repository.root, "add", ".")
    spelled = r'"d\360/caf\351.txt"'
    assert spelled in await repository.answer(GlobFileSearch(), glob_pattern="*.txt")
    assert spelled in (await repository.answer(ListFiles(), recursive=True, include_dirs=False))["entries"]
    assert await repository.answer(Grep(), pattern="needle") == [f"{spelled}:1:needle"]
    assert await repository.answer(Grep(), pattern="needle", output_mode="count") == {spelled: 1}
    assert await repository.answer(Grep(), pattern="needle", path=r'"d\360"', output_mode="files_with_matches") == [
        spelled
    ]
    assert (await repository.call(ReadFile(), path=spelled)).content == "needle\n"
    assert repository.apply(EditFile(), path=spelled, old_str="needle", new_str="pin")["path"] == spelled
    repository.apply(ApplyPatch(), patch=f"*** Update File: {spelled}\n-pin\n+nail\n")
    repository.apply(
        ApplyPatch(), patch='--- "a/d\\360/caf\\351.txt"\n+++ "b/d\\360/caf\\351.txt"\n@@ -1 +1 @@\n-nail\n+pin\n'
    )
    assert (folder / os.fsdecode(b"caf\xe9.txt")).read_text() == "pin\n"
    assert spelled in str(repository.refused(EditFile(), path=r'"d\360/caf\352.txt"', old_str="a", new_str="b"))
    repository.apply(CreateFile(), path=r'"d\360/n\374.txt"', content="new")
    repository.apply(RenameFile(), source_path=r'"d\360/n\374.txt"', dest_path=r'"d\360/m\374.txt"')
    assert (folder / os.fsdecode(b"m\xfc.txt")).read_text() == "new"
    repository.apply(DeleteFile(), path=r'"d\360/m\374.txt"')
    assert not (folder / os.fsdecode(b"m\xfc.txt")).exists()


async def test_every_odd_name_that_a_tool_lists_can_be_given_to_every_tool(repository: Workspace) -> None:
    for number, name in enumerate(ODD_NAMES):
        repository.write(name, f"needle {number}\n")
    spelled = {
        "glob": await repository.answer(GlobFileSearch(), glob_pattern="*"),
        "list": (await repository.answer(ListFiles(), recursive=True, include_dirs=False))["entries"],
        "grep": await repository.answer(Grep(), pattern="needle", output_mode="files_with_matches"),
        "count": list(await repository.answer(Grep(), pattern="needle", output_mode="count")),
    }
    for tool, names in spelled.items():
        assert set(ODD_NAMES) <= set(map(real_name, names)), tool
    for number, name in enumerate(ODD_NAMES):
        path = legible_name(name)
        assert (await repository.call(ReadFile(), path=path)).content == f"needle {number}\n"
        assert repository.apply(EditFile(), path=path, old_str="needle", new_str="pin")["path"] == path
        assert repository.bytes_of(name) == f"pin {number}\n".encode()
        lines = await repository.answer(Grep(), pattern="pin", path=path)
        assert lines == [f"{path}:1:pin {number}"]


async def test_the_search_in_words_finds_files_of_odd_names(repository: Workspace, tmp_path: Path) -> None:
    for number, name in enumerate(ODD_NAMES):
        repository.write(name, f"the resumption of word{number}end\n")
    search = CodebaseSearch(tmp_path / "cache")
    try:
        for number, name in enumerate(ODD_NAMES):
            (found, *_) = await repository.answer(search, query=f"word{number}end")
            assert real_name(found["path"]) == name
        (found, *_) = await repository.answer(search, query="resumption", target_directory=r'"d\360"')
        assert found["path"] == r'"d\360/caf\351.txt"'
    finally:
        await search.aclose()
