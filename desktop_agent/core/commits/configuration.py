"""What is configured for git: settings, attributes and hooks.

Settings and attributes are read without git where git would find nothing else. Elsewhere, git is asked.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Final

from desktop_agent.core.base.file_names import all_folders_above
from desktop_agent.core.system.git.git_process import UsersGit
from desktop_agent.core.system.git.repository import Repository, common_folder, read_plain_settings

HOOKS: Final = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
WATCHING: Final = ("reference-transaction", "post-index-change")
"""Hooks that git runs when it writes refs or the index."""
_SYSTEMS_GIT: Final = "/usr/bin/git"
_SYSTEM: Final = Path("/etc")
"""Where the git of a Linux system looks for the system's files. One that is installed elsewhere has another place."""
_LEADING_ON: Final = ("include.", "includeif.", "extensions.")
"""Settings that have git read other files."""
_CONVERTING: Final = ("text", "crlf", "eol", "ident", "filter", "working-tree-encoding")


async def settings_of(git: UsersGit) -> dict[str, str]:
    """Return what `git config --list` prints; of several values of a setting, the last."""
    listed = await asyncio.to_thread(_listed, git)
    if listed is None:
        listed = await git.ask("config", "--list", "-z")
    records = (record.partition("\n") for record in listed.split("\0")[:-1])
    return {name: value if is_set else "true" for name, is_set, value in records}


def _listed(git: UsersGit) -> str | None:
    """Return None if only git can tell."""
    if not _has_known_places(git):
        return None
    listed = ""
    for file in _config_files(git):
        settings = read_plain_settings(file) if os.path.lexists(file) else b""
        if settings is None:
            return None
        listed += os.fsdecode(settings)
    return None if any(record.startswith(_LEADING_ON) for record in listed.split("\0")) else listed


def _has_known_places(git: UsersGit) -> bool:
    is_systems = sys.platform == "linux" and shutil.which("git", path=git.environ["PATH"]) == _SYSTEMS_GIT
    return is_systems and "HOME" in git.environ and git.environ.get("GIT_CONFIG_NOSYSTEM", "0") in ("0", "1")


def _config_files(git: UsersGit) -> Iterator[Path]:
    environ, root = git.environ, git.repository.root
    if environ.get("GIT_CONFIG_NOSYSTEM") != "1":
        yield root / environ.get("GIT_CONFIG_SYSTEM", _SYSTEM / "gitconfig")
    if (users := environ.get("GIT_CONFIG_GLOBAL")) is not None:
        yield root / users
    else:
        yield _in_home(git, "config")
        yield root / environ["HOME"] / ".gitconfig"
    yield common_folder(git.repository.git_dir) / "config"


def _in_home(git: UsersGit, name: str) -> Path:
    folder = git.environ.get("XDG_CONFIG_HOME") or f"{git.environ['HOME']}/.config"
    return git.repository.root / folder / "git" / name


async def has_converting_attributes(
    git: UsersGit, settings: Mapping[str, str], paths: set[str], index: Container[str]
) -> bool:
    """Whether git may convert one of these files. `index` has the paths of the user's index."""
    if not await asyncio.to_thread(_may_have_attributes, git, settings, paths, index):
        return False
    listed = await git.ask("check-attr", "-z", "--stdin", *_CONVERTING, stdin="\0".join([*paths, ""]))
    return not set(listed.split("\0")[2::3]) <= {"unspecified"}


def _may_have_attributes(git: UsersGit, settings: Mapping[str, str], paths: set[str], index: Container[str]) -> bool:
    if not _has_known_places(git) or not settings.keys().isdisjoint(("core.attributesfile", "attr.tree")):
        return True
    common, root = common_folder(git.repository.git_dir), git.repository.root
    folders = {"", *(f"{folder}/" for folder in all_folders_above(paths))}
    inside = [f"{folder}.gitattributes" for folder in folders]
    files = (
        _SYSTEM / "gitattributes",
        _in_home(git, "attributes"),
        common / "info/attributes",
        *map(root.joinpath, inside),
    )
    return any(map(os.path.lexists, files)) or any(name in index for name in inside)


def hooks_in(repository: Repository, settings: Mapping[str, str]) -> set[str]:
    """Return the hooks that git finds, of those that concern a commit."""
    named = settings.get("core.hookspath", "")
    folder = repository.root / Path(named).expanduser() if named else common_folder(repository.git_dir) / "hooks"
    return {name for name in (*HOOKS, *WATCHING) if os.access(folder / name, os.X_OK)}
