"""Which profiles there are, and what each says of itself. The tokens are in another file.

`<folder>/configs/<name>.json` has the address, the workspace and the client id. The SDK's rules are kept: a name is no
path, the environment fills in what the file leaves out, and a file that others can write is not believed.
"""

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.web_address import has_userinfo, is_readable_on_the_way

DEFAULT_BASE_URL = "https://api.anthropic.com"

_LARGEST_BYTES = 256 * 2**10
_OTHERS_WRITE = 0o022


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One profile. None of it is a secret."""

    name: str
    base_url: str
    workspace_id: str
    """Empty when requests go to the default workspace."""
    client_id: str
    """Empty when another program renews the tokens."""
    credentials_path: Path


class _Authentication(msgspec.Struct, frozen=True):
    type: str
    client_id: str | None = None
    credentials_path: str | None = None


class _Config(msgspec.Struct, frozen=True):
    authentication: _Authentication
    base_url: str | None = None
    workspace_id: str | None = None


def config_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the profiles are: `ANTHROPIC_CONFIG_DIR`, else the folder of the platform."""
    if named := environ.get("ANTHROPIC_CONFIG_DIR"):
        return Path(named)
    if sys.platform == "win32":
        roaming = environ.get("APPDATA")
        return (Path(roaming) if roaming else Path.home() / "AppData" / "Roaming") / "Anthropic"
    return Path.home() / ".config" / "anthropic"


def active_name(environ: Mapping[str, str] = os.environ) -> str:
    """Return which profile the SDK would use: `ANTHROPIC_PROFILE`, the one that was chosen, or `default`. Blocks."""
    if named := environ.get("ANTHROPIC_PROFILE"):
        return named
    try:
        chosen = (config_folder(environ) / "active_config").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        chosen = ""
    return chosen or "default"


def profiles(environ: Mapping[str, str] = os.environ) -> tuple[Profile, ...]:
    """Return the profiles that a user signed in for, the active one first. What cannot be used is left out. Blocks."""
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
    """Return the profile of this name. Blocks. Raises `CredentialsError` when it is none that a user signed in for."""
    if not _is_plain(name):
        raise _unusable(name, "its name is no name of a file")
    folder = config_folder(environ)
    config = _read_config(name, folder / "configs" / f"{name}.json")
    if config.authentication.type != "user_oauth":
        raise _unusable(name, "it has no sign-in of a user; it is of another kind")
    base_url = (config.base_url or environ.get("ANTHROPIC_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")
    if not base_url.startswith(("https://", "http://")) or is_readable_on_the_way(base_url) or has_userinfo(base_url):
        raise _unusable(name, "its base_url is no https:// address")
    kept_at = config.authentication.credentials_path
    return Profile(
        name=name,
        base_url=base_url,
        workspace_id=config.workspace_id or environ.get("ANTHROPIC_WORKSPACE_ID") or "",
        client_id=config.authentication.client_id or "",
        credentials_path=Path(kept_at).expanduser() if kept_at else folder / "credentials" / f"{name}.json",
    )


def _is_plain(name: str) -> bool:
    return bool(name) and name == name.strip() and not name.startswith(".") and not set(name) & set("/\\\0")


def _read_config(name: str, path: Path) -> _Config:
    try:
        with path.open("rb") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _OTHERS_WRITE:
                raise _unusable(name, f"others can write {path}: chmod go-w")
            return msgspec.json.decode(file.read(_LARGEST_BYTES), type=learned(_Config))
    except OSError as error:
        raise _unusable(name, f"{path} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise _unusable(name, f"{path}: {error}") from None


def _unusable(name: str, why: str) -> CredentialsError:
    return CredentialsError(
        f"The Anthropic profile {name!r} cannot be used.", hint="Make it anew: `ant auth login`.", detail=why
    )
