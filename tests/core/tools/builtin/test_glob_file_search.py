"""`glob_file_search`: every parameter, every error, the newest first."""

import json
import os
from typing import Any

import pytest

from desktop_agent.core.tools.builtin import glob_file_search as module
from desktop_agent.core.tools.builtin.glob_file_search import GlobFileSearch
from desktop_agent.core.tools.files import listing
from tests.core.tools.conftest import Workspace

TOOL = GlobFileSearch()


@pytest.fixture
def project(work: Workspace) -> Workspace:
    files = ("a.py", "src/b.py", "src/deep/c.py", "src/deep/test_d.ts", ".github/ci.yml", "notes[1].md")
    for age, path in enumerate(files):
        work.write(path)
        os.utime(work.root / path, (2_000_000_000 - age, 2_000_000_000 - age))
    for path in (".git/x.py", "node_modules/y.py", "src/__pycache__/z.py", "build/o.py"):
        work.write(path)
    work.write(".gitignore", "build/\n")
    return work


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"glob_pattern": "*.py"}, ["a.py", "src/b.py", "src/deep/c.py"]),
        ({"glob_pattern": "**/*.py"}, ["a.py", "src/b.py", "src/deep/c.py"]),
        ({"glob_pattern": "deep/*"}, ["src/deep/c.py", "src/deep/test_d.ts"]),
        ({"glob_pattern": "src/**/*.{ts,tsx}"}, ["src/deep/test_d.ts"]),
        ({"glob_pattern": "test_*"}, ["src/deep/test_d.ts"]),
        ({"glob_pattern": "deep/"}, ["src/deep/c.py", "src/deep/test_d.ts"]),
        ({"glob_pattern": "*.yml"}, [".github/ci.yml"]),
        ({"glob_pattern": "notes\\[1\\].md"}, ["notes[1].md"]),
        ({"glob_pattern": "*.rs"}, []),
        ({"glob_pattern": "*.py", "target_directory": "src"}, ["b.py", "deep/c.py"]),
        ({"glob_pattern": "*.py", "target_directory": "build"}, ["o.py"]),
    ],
)
async def test_every_parameter_counts(project: Workspace, arguments: dict[str, Any], expected: list[str]) -> None:
    """T-33, T-29, Z-60: `**/` is put before the pattern, the newest come first, the answer is an array of paths."""
    assert await project.answer(TOOL, **arguments) == expected


async def test_paths_for_the_window_are_relative_to_the_workspace(project: Workspace) -> None:
    result = await project.call(TOOL, glob_pattern="*.ts", target_directory=str(project.root / "src"))
    assert json.loads(result.content) == ["deep/test_d.ts"]
    assert result.metadata == {
        "path": "src",
        "files": 1,
        "truncated": False,
        "matches": [{"path": "src/deep/test_d.ts", "line": None, "text": ""}],
    }


async def test_an_answer_has_a_limit_in_bytes(work: Workspace) -> None:
    for number in range(600):
        work.write(f"{'long-name-' * 20}{number:04}.txt")
    result = await work.call(TOOL, glob_pattern="*", limit=2000)
    assert len(result.content.encode()) <= 102_400
    *paths, note = json.loads(result.content)
    assert "of 600 files" in note
    matches: Any = result.metadata["matches"]
    assert len(matches) == len(paths), "what the window shows is what the model reads"


async def test_a_workspace_with_too_many_files_is_searched_in_part(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_COLLECTED", 1)
    monkeypatch.setattr(module, "MOST_COLLECTED", 1)
    answer = await project.answer(TOOL, glob_pattern="*")
    assert answer[-1].startswith("[Only the first 1 files")
