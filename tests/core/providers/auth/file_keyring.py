"""A keyring in a file, for several processes, with Windows' limit on the length of an entry."""

import json
from pathlib import Path
from typing import cast

from filelock import FileLock
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError, PasswordSetError

LONGEST = 1_280
"""The limit of an entry in characters: 2,560 bytes of UTF-16."""


class FileKeyring(KeyringBackend):
    """A keyring in a JSON file. keyring never chooses it by itself."""

    priority = -1  # pyright: ignore[reportAssignmentType] - keyring documents a plain class attribute here

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.is_locked = False

    @property
    def entries(self) -> dict[str, str]:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else "{}"
        return cast("dict[str, str]", json.loads(text))

    def get_password(self, service: str, username: str) -> str | None:
        self._require_open()
        with self._lock():
            return self.entries.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self._require_open()
        if len(password) > LONGEST:
            raise PasswordSetError("1783: The stub received bad data")
        with self._lock():
            self._write(self.entries | {username: password})

    def delete_password(self, service: str, username: str) -> None:
        self._require_open()
        with self._lock():
            entries = self.entries
            if entries.pop(username, None) is None:
                raise PasswordDeleteError("No such password!")
            self._write(entries)

    def _write(self, entries: dict[str, str]) -> None:
        self.path.write_text(json.dumps(entries), encoding="utf-8")

    def _lock(self) -> FileLock:
        return FileLock(f"{self.path}.lock")

    def _require_open(self) -> None:
        if self.is_locked:
            raise KeyringLocked("Failed to unlock the collection!")
