"""API keys: from the environment first, then from the system's keyring, never from a file.

A keyring call can hang for ever. It runs in a daemon thread, which does not keep the process from exiting.
"""

import asyncio
import importlib
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import Discreet, Keyring, mask
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import vendor_of

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

T = TypeVar("T")

USE_ENVIRONMENT = "You can also set the key as an environment variable, for example ANTHROPIC_API_KEY."

_QUIET_S = 2.0
_ANSWER_S = 5.0
"""How many seconds to wait for a keyring that does not prompt the user."""
_USER_S = 60.0
"""How many seconds to wait for a keyring that prompts the user, or might."""


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Return the result of the blocking `work`. Cancelling does not stop it; no loop or process waits for its end."""
    return await asyncio.wrap_future(_started(work, "key"))


_LOOK_EVERY_S = 0.1


def _started(work: Callable[[], T], name: str) -> Future[T]:
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # it cannot be cancelled any more

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def _no_answer() -> CredentialsError:
    hint = f"Unlock or restart it and try again. {USE_ENVIRONMENT}"
    return CredentialsError("The keyring does not answer.", hint=hint)


SERVICE = "desktop-agent"

KeySource = Literal["environment", "keyring", "run"]


class ResolvedKey(Discreet, frozen=True):
    """A key and its source; both `None` if there is no key. The `repr` never shows the value."""

    SHOWN = ("source",)

    value: str | None
    source: KeySource | None


class KeyringReport(Struct, frozen=True, kw_only=True):
    backend: str
    is_usable: bool
    problem: str = ""
    hint: str = ""


class _Writable(Protocol):
    def set_password(self, service: str, username: str, password: str, /) -> None: ...


class SystemKeyStore:
    """The system's keyring, with one key for each entry. Every call can block, and raises `CredentialsError`."""

    def __init__(
        self,
        backend: "KeyringBackend | None" = None,
        *,
        tell: Callable[[str], None] = lambda _: None,
        over: Callable[[], None] = lambda: None,
    ) -> None:
        """`tell` is called with the reason when a call waits long, and `over` afterwards, both on the call's thread."""
        self._chosen = backend
        self._tell = tell
        self._over = over
        self._has_given_up = threading.Event()
        self._stuck: Future[Any] | None = None
        self._for_now: dict[str, str] = {}
        self._changes: Counter[str] = Counter()

    def get(self, entry: str) -> str | None:
        with _explained("read"):
            return self._patiently(lambda: self._read(entry)) or None

    def set(self, entry: str, key: str) -> None:
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
        def remove() -> None:
            # Backends tell "no such entry" and "refused" by one exception, so look first.
            if self._read(entry) is not None:
                self._backend().delete_password(SERVICE, entry)

        self._for_now.pop(entry, None)
        self._changes[entry] += 1
        with _explained("delete"):
            self._patiently(remove)

    def keep_for_now(self, entry: str, key: str) -> None:
        self._for_now[entry] = key.strip()
        self._changes[entry] += 1

    def changes(self, entry: str) -> int:
        """Return how often this process changed the key of an entry. Never blocks."""
        return self._changes[entry]

    def kept_for_now(self, entry: str) -> str | None:
        """Return the key that is used in this run only, or `None`. Never blocks."""
        return self._for_now.get(entry)

    def give_up(self) -> None:
        self._has_given_up.set()

    def name(self) -> str:
        with _explained("open"):
            return self._patiently(lambda: self._backend().name, may_ask_user=False)

    def is_missing(self) -> bool:
        """Whether the system has no keyring at all. Blocks."""
        with _explained("open"):
            kind = self._patiently(lambda: type(self._backend()), may_ask_user=False)
        return kind.__module__ in ("keyring.backends.fail", "keyring.backends.null")

    def probe(self) -> KeyringReport:
        name = "none"
        try:
            name = self.name()
            if self._patiently(lambda: _default_keyring(self._backend()), may_ask_user=False) == "missing":
                return KeyringReport(backend=name, is_usable=True)  # the user creates it with the first key
            self.set(_PROBE_ENTRY, secrets.token_hex(8))
            self.delete(_PROBE_ENTRY)
        except CredentialsError as error:
            return KeyringReport(backend=name, is_usable=False, problem=error.title, hint=error.hint)
        return KeyringReport(backend=name, is_usable=True)

    def _read(self, entry: str) -> str | None:
        backend = self._backend()
        if (
            _default_keyring(backend) == "missing"
        ):  # reading would ask the user to create it, only to find nothing in it
            return None
        return backend.get_password(SERVICE, entry)

    def _patiently(self, work: Callable[[], T], *, may_ask_user: bool = True) -> T:
        """Return the result of `work`. The time limit depends on whether the keyring may prompt the user.

        Blocks. Raises `CredentialsError` when the limit is reached, and at once while an earlier call still hangs.
        """
        importlib.import_module("keyring")
        with suppress(ImportError):  # another keyring than the Secret Service
            importlib.import_module("secretstorage")
        if self._stuck is not None and not self._stuck.done():
            raise _no_answer()
        is_asking = threading.Event()

        def carry_out() -> T:
            if may_ask_user and _default_keyring(self._backend()) != "open":
                is_asking.set()
            return work()

        call = _started(carry_out, "keyring")
        if not self._wait(call, is_asking):
            self._stuck = call
            if not is_asking.is_set():
                raise _no_answer()
            raise CredentialsError(
                f"The keyring was not unlocked within {_USER_S:.0f} seconds.",
                hint=f"Unlock it and try again. {USE_ENVIRONMENT}",
            )
        return call.result()

    def _wait(self, call: Future[T], is_asking: threading.Event) -> bool:
        begun = time.monotonic()
        has_said = False
        with ExitStack() as end:
            while not call.done() and not self._has_given_up.is_set():
                waited = time.monotonic() - begun
                if waited >= (_USER_S if is_asking.is_set() else _ANSWER_S):
                    break
                if not has_said and waited >= _QUIET_S:
                    has_said = True
                    self._tell(self._words(is_asking=is_asking.is_set()))
                    end.callback(self._over)
                wait((call,), _LOOK_EVERY_S)
            return call.done()

    def _words(self, *, is_asking: bool) -> str:
        if is_asking:
            return f"Waiting for the keyring: it may ask you to unlock it. At most {_USER_S:.0f} seconds."
        return f"Waiting for the keyring to answer. At most {_ANSWER_S:.0f} seconds."

    def _backend(self) -> "KeyringBackend":
        if self._chosen is None:
            import keyring

            self._chosen = keyring.get_keyring()
        return self._chosen


def entry_of(account: Account) -> str:
    """Return the name of a key's entry. The name has the address, so that the key is sent to no other address."""
    if account.is_usual:
        return account.provider
    entry = f"{account.provider}:{account.name.casefold()}"
    return f"{entry}@{account.address.rstrip('/')}" if account.address else entry


def resolve_key(account: Account, environ: Mapping[str, str], store: SystemKeyStore) -> ResolvedKey:
    """Return an account's key. For the usual account, the environment comes before `store`.

    Blocks. Raises `CredentialsError`. For an account without a key, `store` is not used.
    """
    vendor = vendor_of(account.provider)
    takes_key = account.kind == "key" or (account.kind == "profile" and vendor.cloud is not None)
    if takes_key and account.is_usual and (from_environment := environ.get(vendor.key_variable, "").strip()):
        return ResolvedKey(from_environment, "environment")
    if account.kind != "key":
        return ResolvedKey(None, None)
    entry = entry_of(account)
    if for_now := store.kept_for_now(entry):
        return ResolvedKey(for_now, "run")
    if from_store := store.get(entry):
        return ResolvedKey(from_store, "keyring")
    return ResolvedKey(None, None)


def _default_keyring(backend: "KeyringBackend") -> Literal["open", "locked", "missing", "unknown"]:
    """Return the state of the default keyring. Unless it is open, the next call could prompt the user. Blocks."""
    if type(backend).__module__ != "keyring.backends.SecretService":
        return "unknown"
    import secretstorage

    with suppress(Exception), closing(secretstorage.dbus_init()) as bus:  # then the call itself says what is wrong
        try:
            return "locked" if secretstorage.get_collection_by_alias(bus, "default").is_locked() else "open"
        except secretstorage.ItemNotFoundException:
            return "missing"
    return "open"


_PROBE_ENTRY = "doctor-probe"


@contextmanager
def _explained(verb: str, *hidden: str) -> Generator[None]:
    """Turn any error of a backend into a `CredentialsError` with advice.

    The original error is not kept as the cause, so that no traceback in a log reveals the key.
    """
    try:
        yield
    except CredentialsError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again in words for a user
        title, hint = _explain(error, verb)
        raise CredentialsError(title, hint=hint, detail=mask(f"{type(error).__name__}: {error}", hidden)) from None


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


# Secrets that are too long for one entry of a keyring are kept in several. Windows takes 2,560 bytes an entry, in
# UTF-16: 1,280 characters, and access tokens are longer. Each piece names the write it belongs to and the number of its
# pieces, so pieces of two writes are never put together. All of it blocks, and raises `CredentialsError`.

PIECE_CHARS = 1_000

_PIECE = regex(r"(?P<writing>[0-9a-f]{8})/(?P<count>[1-9][0-9]?):(?P<text>.*)", re.DOTALL)


def read_long(keyring: Keyring, name: str) -> str | None:
    first = _piece(keyring.get(name))
    if first is None:
        return None
    texts = [first["text"]]
    for entry in _further(name, int(first["count"])):
        piece = _piece(keyring.get(entry))
        if piece is None or piece["writing"] != first["writing"]:
            return None
        texts.append(piece["text"])
    return "".join(texts)


def write_long(keyring: Keyring, name: str, secret: str) -> None:
    """Store the secret, which must not contain white space, instead of an earlier one."""
    earlier = _piece(keyring.get(name))
    texts = [secret[start : start + PIECE_CHARS] for start in range(0, len(secret), PIECE_CHARS)]
    writing = secrets.token_hex(4)
    for entry, text in zip((name, *_further(name, len(texts))), texts, strict=True):
        keyring.set(entry, f"{writing}/{len(texts)}:{text}")
    if earlier is not None:
        for entry in _further(name, int(earlier["count"]), have=len(texts)):
            keyring.delete(entry)


def delete_long(keyring: Keyring, name: str) -> None:
    first = _piece(keyring.get(name))
    for entry in _further(name, int(first["count"]) if first is not None else 1):
        keyring.delete(entry)
    keyring.delete(name)  # last: it says how many there are


def _further(name: str, count: int, *, have: int = 1) -> Iterator[str]:
    return (f"{name}/{number}" for number in range(have + 1, count + 1))


def _piece(kept: str | None) -> re.Match[str] | None:
    return _PIECE.fullmatch(kept) if kept is not None else None


def read_record(keyring: Keyring, name: str, kind: type[T]) -> T | None:
    """Return the record that `write_record` stored; `None` if there is none, or it has another version."""
    kept = read_long(keyring, name)
    try:
        return msgspec.json.decode(kept, type=learned(kind)) if kept is not None else None
    except msgspec.DecodeError:
        return None


def write_record(keyring: Keyring, name: str, record: object) -> None:
    write_long(keyring, name, msgspec.json.encode(record).decode())
