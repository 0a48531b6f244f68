"""Folders as people write them."""

from pathlib import Path


def short_path(folder: str) -> str:
    """Return a folder with `~` for the home folder."""
    path, home = Path(folder), Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) and path != home else folder
