"""Where the programs are that we run ourselves: never a relative folder of `PATH`, and never in the workspace."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def find_program(name: str, environ: Mapping[str, str], workspace: Path | None = None) -> str | None:
    """Return the absolute path of a program on the `search_path`, or `None`. Blocks."""
    found = shutil.which(name, path=search_path(environ, workspace))
    return found if found and _is_trusted(Path(found), workspace) else None


def search_path(environ: Mapping[str, str], workspace: Path | None = None) -> str:
    """Return `PATH` without relative folders and those in `workspace`, also by way of a link. Blocks.

    What is there may be written by a model or come with a cloned repository; we would run it unasked and unconfined.
    """
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if _is_trusted(Path(folder), workspace))


def _is_trusted(path: Path, workspace: Path | None) -> bool:
    if not path.is_absolute():
        return False
    if workspace is None:
        return True
    named = Path(os.path.normpath(path)).is_relative_to(workspace)
    return not named and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(workspace))
