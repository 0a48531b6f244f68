"""Profiles of Anthropic's own tools (the SDK's `lib/credentials`). Claude Code's sign-in is not read."""

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import msgspec

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.web_address import has_userinfo, is_readable_on_the_way
from desktop_agent.core.providers.auth.token_renewal import RefreshGrant, RenewingSource, TokenSource
from desktop_agent.core.providers.auth.tokens import TokenEndpoint, Tokens
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder

DEFAULT_BASE_URL = "https://api.anthropic.com"

_LARGEST_BYTES = 256 * 2**10
_OTHERS_WRITE = 0o022


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    base_url: str
    workspace_id: str
    client_id: str
    """The client that renews the tokens; empty if another program renews them."""
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
    """Return the usable profiles that the user signed in for, the active one first. Blocks."""
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
    """Return the profile with this name. Blocks. Raises `CredentialsError` if there is no sign-in for it."""
    if not name or name != name.strip() or name.startswith(".") or set(name) & set("/\\\0"):
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
        f"The Anthropic profile {name!r} cannot be used.", hint="Create it again: `ant auth login`.", detail=why
    )


_OTHERS = 0o077
_VERSION = "1.0"
_TYPE = "oauth_token"


class CredentialsFile:
    """The tokens of one profile. Every method uses a thread, and raises `CredentialsError`."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._path = profile.credentials_path

    async def load(self) -> Tokens | None:
        return await asyncio.to_thread(self._load)

    async def keep(self, tokens: Tokens) -> None:
        await asyncio.to_thread(self._keep, tokens)

    async def drop(self) -> None:
        """Do nothing: the user signs out with the tool that made the file."""

    def _load(self) -> Tokens | None:
        fields = self._read()
        if fields is None:
            return None
        access, refresh = fields.get("access_token"), fields.get("refresh_token")
        if not isinstance(access, str) or not access:
            raise self._unusable("it has no access_token")
        return Tokens(
            access=access,
            refresh=refresh if isinstance(refresh, str) and self._profile.client_id else None,
            expires_at=self._end(fields.get("expires_at")),
        )

    def _end(self, seconds: object) -> datetime | None:
        if seconds is None:
            return None
        try:
            return datetime.fromtimestamp(int(cast("str", seconds)), UTC)
        except (TypeError, ValueError, OverflowError, OSError):
            raise self._unusable("its expires_at is no number of seconds") from None

    def _read(self) -> dict[str, object] | None:
        try:
            if os.name == "posix":
                mode = os.lstat(self._path).st_mode
                if stat.S_ISLNK(mode):
                    raise self._unusable("it is a link")
                if stat.S_IMODE(mode) & _OTHERS:
                    raise self._unusable("others can read it: chmod 600")
            with self._path.open("rb") as file:
                fields = msgspec.json.decode(file.read(_LARGEST_BYTES), type=learned(dict[str, object]))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(f"it cannot be read: {error.strerror}") from None
        except msgspec.DecodeError:
            raise self._unusable("it is no JSON object") from None
        if fields.get("type", _TYPE) != _TYPE:
            raise self._unusable("it is of another kind")
        return fields

    def _keep(self, tokens: Tokens) -> None:
        fields = self._read() or {}
        fields |= {"version": _VERSION, "type": _TYPE, "access_token": tokens.access}
        fields |= {"refresh_token": tokens.refresh} if tokens.refresh is not None else {}
        fields["expires_at"] = int(tokens.expires_at.timestamp()) if tokens.expires_at is not None else None
        text = msgspec.json.format(msgspec.json.encode(fields), indent=2)
        try:
            make_private_folder(self._path.parent)
            write_atomically(self._path, text, mode=PRIVATE_FILE)
        except OSError as error:
            raise self._unusable(f"it cannot be written: {error.strerror}") from None

    def _unusable(self, why: str) -> CredentialsError:
        return CredentialsError(
            f"The tokens of the Anthropic profile {self._profile.name!r} cannot be used.",
            hint="Sign in again: `ant auth login`.",
            detail=f"{Path(self._path)}: {why}",
        )


OAUTH_BETA = "oauth-2025-04-20"
"""The `anthropic-beta` value without which the API accepts no access token."""

_TOKEN_PATH = "/v1/oauth/token"  # noqa: S105 - a path
_LIFE_S = 3600

_NAME = "Anthropic"


def request_headers(profile: Profile) -> Mapping[str, str]:
    workspace = {"anthropic-workspace-id": profile.workspace_id} if profile.workspace_id else {}
    return {"anthropic-beta": OAUTH_BETA, **workspace}


def token_source(
    profile: Profile, *, lock: Callable[[], AbstractAsyncContextManager[None]], clock: Clock
) -> TokenSource:
    """Return the source of the profile's tokens. `lock` excludes only this application: the SDK takes no lock."""
    file = CredentialsFile(profile)
    if not profile.client_id:
        return RereadSource(profile, file)
    # As the SDK does.
    endpoint = TokenEndpoint(_NAME, profile.base_url + _TOKEN_PATH, headers={"anthropic-beta": OAUTH_BETA})
    renewal = RefreshGrant(
        endpoint,
        {"client_id": profile.client_id},
        how_to_sign_in="Sign in again: `ant auth login`.",
        clock=clock,
        sends_json=True,
        life_s=_LIFE_S,
    )
    return RenewingSource(file, renewal, clock=clock, lock=lock)


class RereadSource:
    """The tokens of a profile that another program renews, read from its file at every use."""

    def __init__(self, profile: Profile, file: CredentialsFile) -> None:
        self._profile = profile
        self._file = file

    async def access_token(self) -> str:
        tokens = await self._file.load()
        if tokens is None:
            raise self._not_renewed("there is no file with tokens")
        return tokens.access

    async def refused(self, token: str) -> str:
        again = await self.access_token()
        if again == token:
            raise self._not_renewed("the token in the file was refused")
        return again

    def _not_renewed(self, detail: str) -> CredentialsError:
        return CredentialsError(
            f"Anthropic does not take the token of the profile {self._profile.name!r}.",
            hint="Let the program that renews it run, or sign in again: `ant auth login`.",
            detail=f"{self._profile.credentials_path}: {detail}",
        )
