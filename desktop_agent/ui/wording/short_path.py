"""Folders as people write them."""

from pathlib import Path

from desktop_agent.core.base.plain_text import named


def short_path(folder: str) -> str:
    """Return a folder with `~` for the home folder, and names for characters that cannot be seen."""
    path, home = Path(folder), Path.home()
    short = f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) and path != home else folder
    return named(short)
