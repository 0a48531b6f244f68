"""Where programs are that we run ourselves: never in the workspace, whatever `PATH` says."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the absolute path of a program on the `search_path`, or `None`. Blocks."""
    return shutil.which(name, path=search_path(environ))


def search_path(environ: Mapping[str, str]) -> str:
    """Return `PATH` without relative folders: what we run ourselves must not be what a workspace brings along."""
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
