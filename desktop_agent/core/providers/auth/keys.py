"""API keys: the environment first, then the system's keyring; never a file of ours, never in a representation.

A keyring call is synchronous and may wait for a user who is asked to unlock it, as long as `keyring_calls` says:
callers on the event loop go through `keyring_calls.beside`, never through an executor, whose threads the end of the
process waits for. `keyring` is imported at the first call (75 ms).
"""

import importlib
import secrets as random_secrets
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, cast

from msgspec import Struct

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.providers.auth.keyring_calls import USE_ENVIRONMENT, KeyringCalls, Limits

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

T = TypeVar("T")

SERVICE = "desktop-agent"
"""The service name of every entry in the keyring; the user name is the account's `entry_of`."""

KeySource = Literal["environment", "keyring", "run"]
"""`run`: given in this run, and kept nowhere else."""


@dataclass(frozen=True, slots=True)
class ResolvedKey:
    """A key and where it was found; both `None` when there is none. Its representation never shows the value."""

    value: str | None = field(repr=False)
    source: KeySource | None


class KeyringReport(Struct, frozen=True, kw_only=True):
    """What `doctor` says about the keyring: which backend answers, and, if it is unusable, why and what to do."""

    backend: str
    is_usable: bool
    problem: str = ""
    hint: str = ""


class _Writable(Protocol):
    """What keyring hides of its own base class: a metaclass wraps this method and loses its signature."""

    def set_password(self, service: str, username: str, password: str, /) -> None: ...


class SystemKeyStore:
    """One key per entry in the operating system's keyring. Every call may block, and raises `CredentialsError`.

    That is Secret Service, KWallet, Windows Credential Locker or macOS Keychain.
    """

    def __init__(
        self,
        backend: "KeyringBackend | None" = None,
        *,
        tell: Callable[[str], None] = lambda _: None,
        over: Callable[[], None] = lambda: None,
        limits: Limits | None = None,
    ) -> None:
        """`tell` hears what is waited for when that takes long, and then `over`, both on the thread of the call."""
        self._chosen = backend
        self._calls = KeyringCalls(tell, over, limits)
        self._for_now: dict[str, str] = {}
        self._changes: Counter[str] = Counter()

    def get(self, entry: str) -> str | None:
        """Return the key of an entry, or `None` when none is kept."""
        with _explained("read"):
            return self._patiently(lambda: self._backend().get_password(SERVICE, entry)) or None

    def set(self, entry: str, key: str) -> None:
        """Keep the key of an entry, replacing an earlier one."""
        key = key.strip()  # pasted keys bring a line break along
        if not key:
            raise CredentialsError("The key is empty.", hint="Paste the whole key.")

        def keep() -> bool:
            backend = self._backend()
            cast("_Writable", backend).set_password(SERVICE, entry, key)
            return backend.get_password(SERVICE, entry) == key

        with _explained("keep", key):
            is_kept = self._patiently(keep)
        self._changes[entry] += 1
        if not is_kept:  # keyring's null backend takes everything and keeps nothing
            backend = self._chosen.name if self._chosen is not None else ""
            raise CredentialsError(
                "The keyring did not keep the key.", hint=USE_ENVIRONMENT, detail=f"keyring backend: {backend}"
            )
        self._for_now.pop(entry, None)

    def delete(self, entry: str) -> None:
        """Forget the key of an entry. No error when there was none."""

        def remove() -> None:
            backend = self._backend()
            # Backends tell "no such entry" and "refused" by one exception, so look first.
            if backend.get_password(SERVICE, entry) is not None:
                backend.delete_password(SERVICE, entry)

        self._for_now.pop(entry, None)
        self._changes[entry] += 1
        with _explained("delete"):
            self._patiently(remove)

    def keep_for_now(self, entry: str, key: str) -> None:
        """Use a key in this run only: it is kept nowhere."""
        self._for_now[entry] = key.strip()
        self._changes[entry] += 1

    def changes(self, entry: str) -> int:
        """Return how often the key of an entry was changed here. Never blocks."""
        return self._changes[entry]

    def kept_for_now(self, entry: str) -> str | None:
        """Return the key that is used in this run only, or `None`. Never blocks."""
        return self._for_now.get(entry)

    def give_up(self) -> None:
        """Wait for nothing any more: the application ends."""
        self._calls.give_up()

    def name(self) -> str:
        """Return what the keyring is called on this machine."""
        with _explained("open"):
            _load_libraries()
            return self._calls.call(lambda: self._backend().name, lambda: False)

    def probe(self) -> KeyringReport:
        """Return whether keys can be kept, found out by keeping and deleting an entry of our own. Never raises."""
        name = "none"
        try:
            name = self.name()
            self.set(_PROBE_ENTRY, random_secrets.token_hex(8))
            self.delete(_PROBE_ENTRY)
        except CredentialsError as error:
            return KeyringReport(backend=name, is_usable=False, problem=error.title, hint=error.hint)
        return KeyringReport(backend=name, is_usable=True)

    def _patiently(self, work: Callable[[], T]) -> T:
        _load_libraries()
        return self._calls.call(work, lambda: may_ask(self._backend()))

    def _backend(self) -> "KeyringBackend":
        if self._chosen is None:
            import keyring

            self._chosen = keyring.get_keyring()
        return self._chosen


def _load_libraries() -> None:
    """Import what calls need before their time runs: on a busy machine that takes seconds, and no keyring is asked."""
    importlib.import_module("keyring")
    with suppress(ImportError):  # another keyring than the Secret Service
        importlib.import_module("secretstorage")


def entry_of(account: Account) -> str:
    """Return the entry of an account's key in the keyring: a changed address is another entry, which has no key.

    The usual account's is the provider's id, wherever the user says that the provider is.
    """
    if account.is_usual:
        return account.provider
    entry = f"{account.provider}:{account.name.casefold()}"
    return f"{entry}@{account.address.rstrip('/')}" if account.address else entry


def resolve_key(account: Account, environ: Mapping[str, str], store: SystemKeyStore) -> ResolvedKey:
    """Return the key of an account; of the usual one from its environment variable if that is set, else from `store`.

    Raises `CredentialsError` when the environment has none and the store cannot be read. Blocks as the store does, but
    asks it nothing about an account without a key.
    """
    if account.kind != "key":
        return ResolvedKey(None, None)
    if account.is_usual and (from_environment := environ.get(vendor_of(account.provider).key_variable, "").strip()):
        return ResolvedKey(from_environment, "environment")
    entry = entry_of(account)
    if for_now := store.kept_for_now(entry):
        return ResolvedKey(for_now, "run")
    if from_store := store.get(entry):
        return ResolvedKey(from_store, "keyring")
    return ResolvedKey(None, None)


def may_ask(backend: "KeyringBackend") -> bool:
    """Whether the next call may ask the user to unlock the keyring, or to create one. Blocks.

    Only the Secret Service can be asked that; of others it is not known.
    """
    if type(backend).__module__ != "keyring.backends.SecretService":
        return True
    import secretstorage

    with suppress(Exception), closing(secretstorage.dbus_init()) as bus:  # then the call itself says what is wrong
        try:
            return secretstorage.get_collection_by_alias(bus, "default").is_locked()
        except secretstorage.ItemNotFoundException:
            return True
    return False


_PROBE_ENTRY = "doctor-probe"


@contextmanager
def _explained(verb: str, *secrets: str) -> Generator[None]:
    """Turn whatever the keyring raises into a `CredentialsError` that says what to do.

    Everything, not only `KeyringError`: a backend lets D-Bus, Windows and import errors through. Without the original
    as its cause: a traceback that is logged must not be a way for the key to get out.
    """
    try:
        yield
    except CredentialsError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again in words for a user
        title, hint = _explain(error, verb)
        raise CredentialsError(title, hint=hint, detail=mask(f"{type(error).__name__}: {error}", secrets)) from None


def _explain(error: Exception, verb: str) -> tuple[str, str]:
    from keyring import errors

    match error:
        case errors.NoKeyringError():
            return (
                "This system has no keyring to keep keys in.",
                f"Install and start one, for example GNOME Keyring or KWallet. {USE_ENVIRONMENT}",
            )
        case errors.KeyringLocked():
            return "The keyring is locked.", f"Unlock it and try again. {USE_ENVIRONMENT}"
        case errors.InitError():
            return (
                "The keyring could not be opened.",
                f"Create a default keyring if you are asked to, and try again. {USE_ENVIRONMENT}",
            )
        case _:
            return f"The keyring could not {verb} the key.", f"The details say why. {USE_ENVIRONMENT}"
