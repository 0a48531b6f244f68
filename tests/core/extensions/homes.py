"""The user's folders of a test."""

from pathlib import Path

from desktop_agent.core.extensions.instructions import UserFolders


def homes_in(home: Path, config: Path) -> UserFolders:
    return UserFolders(home=home, config=config, codex=home / ".codex", claude=home / ".claude")
