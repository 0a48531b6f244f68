"""The system's keyring for credentials of MCP servers, with the words for it."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.providers.auth.keyring_calls import USE_ENVIRONMENT
from desktop_agent.core.providers.auth.keys import SystemKeyStore


class ServerKeyring:
    """The entries of MCP servers. Every call may block, and raises `CredentialsError`."""

    def __init__(self, keys: SystemKeyStore | None = None, *, tell: Callable[[str], None] = lambda _: None) -> None:
        """Without `keys` the keyring of this machine; `tell` hears what is waited for when that takes long."""
        self._keys = keys or SystemKeyStore(tell=tell)

    def get(self, entry: str) -> str | None:
        """Return the secret of an entry, or `None`."""
        with _in_our_words():
            return self._keys.get(entry)

    def set(self, entry: str, secret: str) -> None:
        """Keep the secret of an entry, in place of an earlier one."""
        with _in_our_words():
            self._keys.set(entry, secret)

    def delete(self, entry: str) -> None:
        """Forget the secret of an entry. No error when there is none."""
        with _in_our_words():
            self._keys.delete(entry)

    def require(self) -> None:
        """Raise unless secrets can be kept."""
        report = self._keys.probe()
        if not report.is_usable:
            raise CredentialsError(report.problem, hint=_hint(report.hint))


@contextmanager
def _in_our_words() -> Generator[None]:
    """Leave out the way round that only keys of models have: an environment variable."""
    try:
        yield
    except CredentialsError as error:
        raise CredentialsError(error.title, hint=_hint(error.hint), detail=error.detail) from None


def _hint(hint: str) -> str:
    return hint.replace(USE_ENVIRONMENT, "").strip()
