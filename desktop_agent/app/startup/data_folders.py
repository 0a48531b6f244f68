"""Keeps the data folders of the application from other users of the machine."""

from contextlib import suppress

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.system.private_files import close_to_others, make_private_file, make_private_folder


def close_data_folders(paths: AppPaths, layout_name: str) -> None:
    """Let nobody else read what is in them, nor the file of this name that Qt is about to write. Blocks."""
    close_to_others(paths.roots)
    with suppress(OSError):  # Qt keeps the mode of a file that it finds; all users may read one that it makes
        make_private_folder(paths.config)
        make_private_file(paths.config / layout_name)
