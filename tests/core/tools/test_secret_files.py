"""All secret files of a workspace are found, however large it is."""

import os
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.tools.secret_files import secret_files


def test_secrets_beyond_thousands_of_entries_are_found(tmp_path: Path) -> None:
    for number in range(3_500):
        os.close(os.open(tmp_path / f"{number}.txt", os.O_CREAT | os.O_WRONLY))
    deep = tmp_path / "z" / "y" / "x"
    deep.mkdir(parents=True)
    (deep / ".env").write_text("PASSWORD=1")
    assert secret_files(tmp_path) == (deep / ".env",)


def test_a_folder_that_is_too_large_is_refused_and_not_half_looked_at(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(ToolError, match="more than 10 files"):
        secret_files(tmp_path, most=10)
