"""Where the application keeps its files: configuration, data, cache and logs.

`DESKTOP_AGENT_HOME` puts all four under one folder (tests, portable installs); otherwise the platform's own folders
are used. Nothing here creates a folder: the first writer does.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.base.package import PACKAGE_FOLDER

APP_NAME = "desktop-agent"


class AppPaths(Struct, frozen=True):
    """The four roots, all absolute."""

    config: Path
    data: Path
    cache: Path
    logs: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "AppPaths":
        """Return the folders for this environment."""
        if home := environ.get("DESKTOP_AGENT_HOME"):
            root = Path(home).expanduser().absolute()
            return cls(config=root / "config", data=root / "data", cache=root / "cache", logs=root / "logs")
        # Imported here: only the platform case needs it, and the window counts milliseconds before its first paint.
        from platformdirs import PlatformDirs

        dirs = PlatformDirs(APP_NAME, appauthor=False)
        return cls(dirs.user_config_path, dirs.user_data_path, dirs.user_cache_path, dirs.user_log_path)

    @property
    def roots(self) -> tuple[Path, ...]:
        """All four: what is in them is for their owner only."""
        return (self.config, self.data, self.cache, self.logs)

    @property
    def sessions(self) -> Path:
        """One folder per session, named by its id."""
        return self.data / "sessions"

    @property
    def blobs(self) -> Path:
        """Content-addressed payloads, shared by all sessions."""
        return self.data / "blobs"

    @property
    def project_answers(self) -> Path:
        """What the user answered about the settings of projects, one file a project."""
        return self.config / "projects"

    @property
    def tool_trust(self) -> Path:
        """The definitions of MCP servers' tools as the user allowed them, one file a server."""
        return self.config / "tools"

    def settings_file(self, environ: Mapping[str, str] = os.environ) -> Path:
        """The settings file: `DESKTOP_AGENT_CONFIG`, else `config.toml` in the configuration folder."""
        named = environ.get("DESKTOP_AGENT_CONFIG")
        return Path(named).expanduser().absolute() if named else self.config / "config.toml"


def resource_path(*parts: str) -> Path:
    """Return a shipped resource: inside the package when installed from a wheel, beside it in a checkout."""
    package = PACKAGE_FOLDER
    inside = package / "resources"
    return (inside if inside.is_dir() else package.parent / "resources").joinpath(*parts)
