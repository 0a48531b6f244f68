import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Git = Callable[..., str]
"""Runs git with these arguments in the repository, or `at` another place, and returns what it printed."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "repo"
    path.mkdir()
    return path


@pytest.fixture
def git(folder: Path) -> Git:
    def run(*arguments: str, at: Path = folder) -> str:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
        return subprocess.check_output(["git", *identity, *arguments], cwd=at, text=True, stderr=subprocess.DEVNULL)

    run("init", "-q", "-b", "main")
    return run
