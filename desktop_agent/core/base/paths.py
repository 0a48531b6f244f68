"""The application's folders: configuration, data, cache, logs. `DESKTOP_AGENT_HOME` puts all under one folder."""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.package import PACKAGE_FOLDER

APP_NAME = "desktop-agent"
_LEAST_FREE_BYTES = 4 * 2**20


def real_path(path: Path) -> Path:
    """Follow all symbolic links. A link that leads to itself is kept; `Path.resolve` would raise `RuntimeError`."""
    return Path(os.path.realpath(path))


class AppPaths(Struct, frozen=True):
    config: Path
    data: Path
    cache: Path
    logs: Path
    cache_problem: str = ""
    """Why `cache` is in the system's folder for temporary files; empty if it is in its usual place."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "AppPaths":
        paths = cls._usual(environ)
        problem = problem_with_cache(paths.cache)
        spare = spare_cache(paths.cache) if problem else None
        return replace(paths, cache=spare, cache_problem=f"{paths.cache}: {problem}") if spare is not None else paths

    @classmethod
    def _usual(cls, environ: Mapping[str, str]) -> "AppPaths":
        if home := environ.get("DESKTOP_AGENT_HOME"):
            root = Path(home).expanduser().absolute()
            return cls(config=root / "config", data=root / "data", cache=root / "cache", logs=root / "logs")
        # Imported here: only the platform case needs it, and the window counts milliseconds before its first paint.
        from platformdirs import PlatformDirs

        dirs = PlatformDirs(APP_NAME, appauthor=False)
        return cls(dirs.user_config_path, dirs.user_data_path, dirs.user_cache_path, dirs.user_log_path)

    @property
    def roots(self) -> tuple[Path, ...]:
        return (self.config, self.data, self.cache, self.logs)

    @property
    def sessions(self) -> Path:
        """The folder of the sessions: one folder per session, named by its id."""
        return self.data / "sessions"

    @property
    def blobs(self) -> Path:
        return self.data / "blobs"

    @property
    def worktrees(self) -> Path:
        """The git worktrees of sessions, one folder and one record per worktree."""
        return self.data / "worktrees"

    @property
    def variants(self) -> Path:
        """What ties the variants of a prompt together, one folder each time."""
        return self.data / "variants"

    @property
    def plugins(self) -> Path:
        """The plugins that the user added, one folder per plugin."""
        return self.data / "plugins"

    @property
    def project_answers(self) -> Path:
        """The user's answers about projects, one file per project."""
        return self.config / "projects"

    @property
    def tool_trust(self) -> Path:
        """MCP tool definitions that the user allowed, one file per server."""
        return self.config / "tools"

    def settings_file(self, environ: Mapping[str, str] = os.environ) -> Path:
        named = environ.get("DESKTOP_AGENT_CONFIG")
        return Path(named).expanduser().absolute() if named else self.config / "config.toml"


def problem_with_cache(folder: Path) -> str:
    """Return why `folder`, which need not exist, cannot be used; empty if it can. Writes nothing."""
    nearest = os.fspath(folder)
    try:
        while not os.path.lexists(nearest) and (above := os.path.dirname(nearest)) != nearest:  # noqa: PTH120 -- at each start
            nearest = above
        if not stat.S_ISDIR(os.stat(nearest).st_mode):  # noqa: PTH116
            return "It is not a folder."
        if not os.access(nearest, os.W_OK | os.X_OK):
            return "It cannot be written."
        return "Its disk is full." if shutil.disk_usage(nearest).free < _LEAST_FREE_BYTES else ""
    except OSError as error:
        return f"{error.strerror or error}."


def spare_cache(folder: Path) -> Path | None:
    """Create and return a private folder that replaces the cache `folder`; None if that is impossible."""
    try:
        spare = place_of_spare_cache(folder)
        if not os.path.lexists(spare):
            spare.mkdir(mode=0o700)
        status = spare.lstat()
        is_own = sys.platform == "win32" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
        is_usable = stat.S_ISDIR(status.st_mode) and is_own and not problem_with_cache(spare)
    except OSError:
        return None
    return spare if is_usable else None


def place_of_spare_cache(folder: Path) -> Path:
    """The folder need not exist. Raises `OSError` without a temporary folder."""
    user = os.geteuid() if sys.platform != "win32" else 0
    name = f"{APP_NAME}-{user}-{blake2b(os.fsencode(folder), digest_size=6).hexdigest()}"
    return Path(tempfile.gettempdir()) / name


def resource_path(*parts: str) -> Path:
    """Return the path of a shipped resource: in the package if that is from a wheel, next to it in a checkout."""
    package = PACKAGE_FOLDER
    inside = package / "resources"
    return (inside if inside.is_dir() else package.parent / "resources").joinpath(*parts)


@cache
def prompt_text(name: str) -> str:
    """Return a shipped prompt, such as `system.md`. The first time, this blocks briefly."""
    return resource_path("prompts", name).read_text(encoding="utf-8").strip()
