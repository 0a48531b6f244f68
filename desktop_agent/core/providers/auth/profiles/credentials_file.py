"""The tokens of a profile, in the file that the SDK reads and writes as well: `credentials/<name>.json`.

Read anew each time, as others renew it too. As in the SDK, a link or a file that others can read is refused, and what
is not ours in it stays when it is written.
"""

import asyncio
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import msgspec

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.providers.auth.profiles.profile import Profile
from desktop_agent.core.providers.auth.tokens.granted import Tokens
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder

_LARGEST_BYTES = 256 * 2**10
_OTHERS = 0o077
_VERSION = "1.0"
_TYPE = "oauth_token"


class CredentialsFile:
    """The tokens of one profile. Every method goes through a thread, and raises `CredentialsError`."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._path = profile.credentials_path

    async def load(self) -> Tokens | None:
        """Return the tokens in the file, or `None` when there is no file."""
        return await asyncio.to_thread(self._load)

    async def keep(self, tokens: Tokens) -> None:
        """Put the tokens into the file, at once or not at all."""
        await asyncio.to_thread(self._keep, tokens)

    async def drop(self) -> None:
        """Leave the file alone: signing out of it is the user's, with the tool that made it."""

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
                self._require_private(os.lstat(self._path))
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

    def _require_private(self, status: os.stat_result) -> None:
        if stat.S_ISLNK(status.st_mode):
            raise self._unusable("it is a link")
        if stat.S_IMODE(status.st_mode) & _OTHERS:
            raise self._unusable("others can read it: chmod 600")

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
