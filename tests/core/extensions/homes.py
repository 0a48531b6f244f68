"""The user's folders of a test."""

from pathlib import Path

from desktop_agent.core.extensions.instructions import Homes


def homes_in(home: Path, config: Path) -> Homes:
    return Homes(home=home, config=config, codex=home / ".codex", claude=home / ".claude")
