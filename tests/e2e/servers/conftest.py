"""Sessions with third-party servers from PyPI and npm, started through the settings."""

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.core.tools.servers.conftest import ground as ground


def pypi_server(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def defined(name: str, command_line: Sequence[str], more: str = "") -> str:
    command, *arguments = command_line
    return f"name = {name!r}\ncommand = {command!r}\nargs = {arguments!r}\n{more}"
