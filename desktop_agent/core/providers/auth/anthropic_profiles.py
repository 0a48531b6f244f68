"""Finds the profiles of Anthropic's own tools, whose SDK reads and renews the tokens.

Claude Code's sign-in is not read.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.learned import learned

_LARGEST_BYTES = 256 * 2**10


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    base_url: str
    """Empty for Anthropic's own address."""


class _Authentication(msgspec.Struct, frozen=True):
    type: Literal["user_oauth", "oidc_federation"]


class _Config(msgspec.Struct, frozen=True):
    authentication: _Authentication
    base_url: str | None = None


def config_folder(environ: Mapping[str, str] = os.environ) -> Path:
    if named := environ.get("ANTHROPIC_CONFIG_DIR"):
        return Path(named)
    if sys.platform == "win32":
        roaming = environ.get("APPDATA")
        return (Path(roaming) if roaming else Path.home() / "AppData" / "Roaming") / "Anthropic"
    return Path.home() / ".config" / "anthropic"


def active_name(environ: Mapping[str, str] = os.environ) -> str:
    """Return the profile that the SDK would use: `ANTHROPIC_PROFILE`, the chosen one, or `default`. Blocks."""
    if named := environ.get("ANTHROPIC_PROFILE"):
        return named
    try:
        chosen = (config_folder(environ) / "active_config").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        chosen = ""
    return chosen or "default"


def profiles(environ: Mapping[str, str] = os.environ) -> tuple[Profile, ...]:
    """Return the profiles that can be read, the active one first. Blocks."""
    try:
        names = sorted(file.stem for file in (config_folder(environ) / "configs").glob("*.json"))
    except OSError:
        return ()
    active = active_name(environ)
    found: list[Profile] = []
    for name in sorted(names, key=lambda name: name != active):
        try:
            found.append(read_profile(name, environ))
        except CredentialsError:
            continue
    return tuple(found)


def read_profile(name: str, environ: Mapping[str, str] = os.environ) -> Profile:
    """Return the profile with this name. Blocks. Raises `CredentialsError` if there is none."""
    if not name or name != name.strip() or name.startswith(".") or set(name) & set("/\\\0"):
        raise _unusable(name, "its name is no name of a file")
    path = config_folder(environ) / "configs" / f"{name}.json"
    try:
        with path.open("rb") as file:
            config = msgspec.json.decode(file.read(_LARGEST_BYTES), type=learned(_Config))
    except OSError as error:
        raise _unusable(name, f"{path} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise _unusable(name, f"{path}: {error}") from None
    return Profile(name=name, base_url=(config.base_url or "").rstrip("/"))


def _unusable(name: str, why: str) -> CredentialsError:
    return CredentialsError(
        f"The Anthropic profile {name!r} cannot be used.", hint="Create it again: `ant auth login`.", detail=why
    )
