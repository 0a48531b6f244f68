"""How long a call to a keyring is waited for: seconds to be answered at all, a minute while the user is asked.

Such a call may never return: the service is silent, or its prompt is out of sight. It runs in a daemon thread, for
which the process does not wait when it exits; its connection closes then, and the prompt with it. A process of its own
was rejected: each call would cost the start of an interpreter, and the key would travel through a pipe.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from msgspec import Struct

from desktop_agent.core.base.errors import CredentialsError

T = TypeVar("T")

USE_ENVIRONMENT = "You can also set the key as an environment variable, for example ANTHROPIC_API_KEY."


class Limits(Struct, frozen=True, kw_only=True):
    """How long is waited, in seconds."""

    quiet_s: float = 2.0
    """Until it is said what is waited for."""
    answer_s: float = 5.0
    """For a keyring that does not ask the user anything."""
    user_s: float = 60.0
    """For one that asks the user, or may do so."""


@dataclass(slots=True)
class _Call(Generic[T]):
    """One call, seen from both threads."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    is_asking: bool = False
    is_done: bool = False
    result: "list[T]" = field(default_factory=list)
    error: Exception | None = None


class Patience:
    """Carries out calls of one keyring, one thread each. For any thread."""

    def __init__(
        self,
        tell: Callable[[str], None] = lambda _: None,
        over: Callable[[], None] = lambda: None,
        limits: Limits | None = None,
    ) -> None:
        """`tell` hears what is waited for, and then `over` that it is no more, both on the thread that waits."""
        self._tell = tell
        self._over = over
        self._limits = limits or Limits()
        self._has_given_up = threading.Event()
        self._stuck: threading.Thread | None = None

    def call(self, work: Callable[[], T], may_ask: Callable[[], bool]) -> T:
        """Return what `work` returns, and raise what it raises. Blocks, never longer than the limits.

        `may_ask` says before whether it may ask the user something. Raises `CredentialsError` when it takes too long,
        and at once while an earlier call still does.
        """
        if self._stuck is not None and self._stuck.is_alive():
            raise _no_answer()
        call: _Call[T] = _Call()
        thread = threading.Thread(target=_carry_out, args=(call, work, may_ask), name="keyring", daemon=True)
        thread.start()
        if not self._wait(call):
            self._stuck = thread
            raise _not_unlocked(self._limits.user_s) if call.is_asking else _no_answer()
        if call.error is not None:
            raise call.error
        return call.result[0]

    def give_up(self) -> None:
        """Wait for nothing any more: the application ends."""
        self._has_given_up.set()

    def _wait(self, call: _Call[T]) -> bool:
        """Wait for the end of a call, and return whether it has come."""
        begun = time.monotonic()
        is_told = False
        with ExitStack() as end, call.changed:
            while not call.is_done and not self._has_given_up.is_set():
                waited = time.monotonic() - begun
                if waited >= (self._limits.user_s if call.is_asking else self._limits.answer_s):
                    break
                if not is_told and waited >= self._limits.quiet_s:
                    is_told = True
                    self._tell(self._words(is_asking=call.is_asking))
                    end.callback(self._over)
                call.changed.wait(_LOOK_EVERY_S)
            return call.is_done

    def _words(self, *, is_asking: bool) -> str:
        if is_asking:
            return f"Waiting for the keyring: it may ask you to unlock it. At most {self._limits.user_s:.0f} seconds."
        return f"Waiting for the keyring to answer. At most {self._limits.answer_s:.0f} seconds."


async def beside(work: Callable[[], T]) -> T:
    """Return what blocking `work` returns. Being cancelled leaves it alone; no loop or process waits for its end."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: "list[T]", error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result[0])

    def run() -> None:
        result: list[T] = []
        failure: Exception | None = None
        try:
            result.append(work())
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            failure = error
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="key", daemon=True).start()
    return await future


_LOOK_EVERY_S = 0.1


def _carry_out(call: _Call[T], work: Callable[[], T], may_ask: Callable[[], bool]) -> None:
    error: Exception | None = None
    try:
        is_asking = may_ask()
        with call.changed:
            call.is_asking = is_asking
        call.result.append(work())
    except Exception as raised:  # noqa: BLE001 - raised where it is waited for
        error = raised
    with call.changed:
        call.error, call.is_done = error, True
        call.changed.notify_all()


def _no_answer() -> CredentialsError:
    hint = f"Unlock or restart it and try again. {USE_ENVIRONMENT}"
    return CredentialsError("The keyring does not answer.", hint=hint)


def _not_unlocked(limit_s: float) -> CredentialsError:
    return CredentialsError(
        f"The keyring was not unlocked within {limit_s:.0f} seconds.",
        hint=f"Unlock it and try again. {USE_ENVIRONMENT}",
    )
