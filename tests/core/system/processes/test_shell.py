"""Programs that we run ourselves are never taken from a workspace."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.system.git.git_process import query_status
from desktop_agent.core.system.processes.shell import find_program, joined_words, search_path, split_words


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho ran >> {path.parent}/trace\n")
    path.chmod(0o755)
    return path


def test_a_program_is_found_where_path_says(tmp_path: Path) -> None:
    found = program(tmp_path / "bin" / "tool")
    assert find_program("tool", {"PATH": f"/nowhere:{found.parent}"}) == str(found)
    assert find_program("tool", {"PATH": "/nowhere"}) is None


@pytest.mark.parametrize("path", [".", "", "bin", "../ws/bin", ".:bin:"])
def test_a_program_that_a_workspace_brings_along_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    for folder in ("ws", "ws/bin"):
        program(tmp_path / folder / "tool")
    monkeypatch.chdir(tmp_path / "ws")
    assert find_program("tool", {"PATH": path}) is None
    assert search_path({"PATH": f"{path}:/usr/bin"}) == "/usr/bin"


@pytest.mark.parametrize("name", ["./tool", "bin/tool", "../ws/tool"])
def test_a_name_with_a_relative_folder_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for folder in ("ws", "ws/bin"):
        program(tmp_path / folder / "tool")
    monkeypatch.chdir(tmp_path / "ws")
    assert find_program(name, {"PATH": "/usr/bin"}) is None


def test_a_folder_of_path_in_the_workspace_is_passed_over(tmp_path: Path) -> None:
    inside, outside = program(tmp_path / "ws" / ".venv" / "tool"), program(tmp_path / "bin" / "tool")
    path = {"PATH": f"{inside.parent}:{tmp_path}/ws/../ws/.venv:{outside.parent}"}
    assert find_program("tool", path) == str(inside)
    assert find_program("tool", path, tmp_path / "ws") == str(outside)
    assert find_program(str(inside), path, tmp_path / "ws") is None
    assert search_path(path, tmp_path / "ws") == str(outside.parent)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_into_the_workspace_is_passed_over(tmp_path: Path) -> None:
    inside = program(tmp_path / "ws" / ".venv" / "tool")
    (tmp_path / "link").symlink_to(tmp_path / "ws")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to(inside)
    path = {"PATH": f"{tmp_path}/link/.venv"}
    assert search_path(path, tmp_path / "ws") == ""
    assert search_path({"PATH": str(inside.parent)}, tmp_path / "link") == ""
    assert find_program("tool", {"PATH": f"{tmp_path}/bin"}, tmp_path / "ws") is None


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that contains a program called git."""
    subprocess.check_call([shutil.which("git") or "", "init", "-q"], cwd=tmp_path)
    program(tmp_path / "git")
    return tmp_path


@pytest.mark.parametrize("path", [".", ".:{0}", "{1}:{0}"])
async def test_a_git_that_a_workspace_brings_along_is_not_run(
    repository: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("PATH", path.format(os.environ["PATH"], repository))
    await query_status(repository)
    assert not (repository / "trace").exists()


@given(st.lists(st.text("ab \t\"\\'", max_size=6)))
def test_a_command_line_of_windows_is_split_by_its_rules(words: list[str]) -> None:
    assert split_words(subprocess.list2cmdline(words), is_windows=True) == words


@given(st.lists(st.text(max_size=6)))
def test_a_command_line_is_split_as_the_shell_does(words: list[str]) -> None:
    assert split_words(joined_words(words)) == words
