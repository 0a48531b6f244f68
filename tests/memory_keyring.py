"""Keyrings for tests: real backends of `keyring`, working, failing and blocking."""

import threading

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

from tests.command_line import OTHER


class MemoryKeyring(KeyringBackend):
    """A working keyring in memory. keyring never chooses it by itself."""

    priority = -1  # pyright: ignore[reportAssignmentType] - keyring documents a plain class attribute here

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError("No such password!")


class BrokenKeyring(MemoryKeyring):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def get_password(self, service: str, username: str) -> str | None:
        raise self.error

    def set_password(self, service: str, username: str, password: str) -> None:
        raise self.error


class HeldKeyring(MemoryKeyring):
    """A keyring that answers only once released, like one that waits for the user."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.let_go.wait()
        return super().get_password(service, username)


def use_keyring(monkeypatch: pytest.MonkeyPatch, backend: KeyringBackend) -> None:
    if OTHER:
        pytest.skip("the keyring is in this process")
    monkeypatch.setattr(keyring.core, "_keyring_backend", backend)
