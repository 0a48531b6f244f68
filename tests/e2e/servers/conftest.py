"""Sessions with servers that nobody here wrote: from PyPI and npm, started as a user's settings would start them."""

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.core.tools.servers.conftest import ground as ground


def pypi_server(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def defined(name: str, command_line: Sequence[str], more: str = "") -> str:
    """Return the settings of a server."""
    command, *arguments = command_line
    return f"name = {name!r}\ncommand = {command!r}\nargs = {arguments!r}\n{more}"
