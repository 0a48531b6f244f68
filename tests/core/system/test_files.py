"""What is no file is not read as one."""

import os
from pathlib import Path

import pytest

from desktop_agent.core.system.files import read_state


def test_a_folder_and_a_pipe_are_not_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        read_state(tmp_path)
    with pytest.raises(OSError, match="neither a file"):
        read_state(tmp_path / "pipe")
