"""How long a call to a keyring is waited for: seconds to be answered at all, a minute while the user is asked.

Such a call may never return: the service is silent, or its prompt is out of sight. It runs in a daemon thread, for
which the process does not wait when it exits; its connection closes then, and the prompt with it. A process of its own
was rejected: each call would cost the start of an interpreter, and the key would travel through a pipe.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import ExitStack
from typing import Any, TypeVar

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


class KeyringCalls:
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
        self._stuck: Future[Any] | None = None

    def call(self, work: Callable[[], T], may_ask: Callable[[], bool]) -> T:
        """Return what `work` returns, and raise what it raises. Blocks, never longer than the limits.

        `may_ask` says before whether it may ask the user something. Raises `CredentialsError` when it takes too long,
        and at once while an earlier call still does.
        """
        if self._stuck is not None and not self._stuck.done():
            raise _no_answer()
        is_asking = threading.Event()

        def carry_out() -> T:
            if may_ask():
                is_asking.set()
            return work()

        call = _started(carry_out, "keyring")
        if not self._wait(call, is_asking):
            self._stuck = call
            raise _not_unlocked(self._limits.user_s) if is_asking.is_set() else _no_answer()
        return call.result()

    def give_up(self) -> None:
        """Wait for nothing any more: the application ends."""
        self._has_given_up.set()

    def _wait(self, call: Future[T], is_asking: threading.Event) -> bool:
        """Wait for the end of a call, and return whether it has come."""
        begun = time.monotonic()
        has_said = False
        with ExitStack() as end:
            while not call.done() and not self._has_given_up.is_set():
                waited = time.monotonic() - begun
                if waited >= (self._limits.user_s if is_asking.is_set() else self._limits.answer_s):
                    break
                if not has_said and waited >= self._limits.quiet_s:
                    has_said = True
                    self._tell(self._words(is_asking=is_asking.is_set()))
                    end.callback(self._over)
                wait((call,), _LOOK_EVERY_S)
            return call.done()

    def _words(self, *, is_asking: bool) -> str:
        if is_asking:
            return f"Waiting for the keyring: it may ask you to unlock it. At most {self._limits.user_s:.0f} seconds."
        return f"Waiting for the keyring to answer. At most {self._limits.answer_s:.0f} seconds."


async def beside(work: Callable[[], T]) -> T:
    """Return what blocking `work` returns. Being cancelled leaves it alone; no loop or process waits for its end."""
    return await asyncio.wrap_future(_started(work, "key"))


_LOOK_EVERY_S = 0.1


def _started(work: Callable[[], T], name: str) -> Future[T]:
    """Begin `work` in a daemon thread of this name, and return what it comes to."""
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


def _not_unlocked(limit_s: float) -> CredentialsError:
    return CredentialsError(
        f"The keyring was not unlocked within {limit_s:.0f} seconds.",
        hint=f"Unlock it and try again. {USE_ENVIRONMENT}",
    )
