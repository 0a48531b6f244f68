"""Runs a module of ours in another process: a thread would share the interpreter lock with the window."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Final

if sys.platform == "win32":
    import psutil

_LOOK_EVERY_S: Final = 0.05
_GREETING: Final = b"\0desktop-agent answers\0"
"""Precedes the first answer. Anything before it is output of a user's `sitecustomize` while Python starts."""
_MOST_NOISE_BYTES: Final = 2**20

NO_WINDOW: Final[int] = subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0


class WorkerDiedError(Exception): ...


class WorkerProcess:
    """The caller's side of the process. Use `send` in one thread and `receive` in one; `kill` and `end` in any."""

    def __init__(self, module: str, given: Mapping[str, str] | None = None, *, starts_others: bool = False) -> None:
        """Start `module`, which calls `serve`. Raises `OSError` when no process can be started.

        The process gets our environment without credentials, and the variables in `given`. If it `starts_others`,
        `kill` ends these too.
        """
        self._starts_others = starts_others
        from desktop_agent.core.system.environment import child_environment

        self._process = subprocess.Popen(  # noqa: S603 - our own module
            module_command(module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(os.environ) | dict(given or {}),
            creationflags=NO_WINDOW,
            process_group=0 if starts_others and os.name == "posix" else None,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._has_greeted = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: object) -> None:
        """Send a request. Raises `WorkerDiedError`."""
        try:
            write_message(self._requests, message)
        except (OSError, ValueError) as error:  # ValueError: the pipe was closed by `end`
            raise WorkerDiedError from error

    def receive(self) -> object:
        """Return the next message of an answer. Raises `WorkerDiedError`."""
        try:
            if not self._has_greeted:
                _skip_to_greeting(self._answers)
                self._has_greeted = True
            return read_message(self._answers)
        except Exception as error:  # the process may have sent anything
            raise WorkerDiedError from error

    @contextmanager
    def limited(self, time_limit_s: float, stop: threading.Event | None = None) -> Generator[None]:
        """Kill the process when this block exceeds `time_limit_s`, or soon after `stop` is set."""
        done = threading.Event()
        watcher = threading.Thread(
            target=self._watch, args=(done, time_limit_s, stop), name="worker limit", daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def kill(self) -> None:
        if self._starts_others and self._process.poll() is None:
            if sys.platform == "win32":
                with suppress(psutil.Error):
                    for child in psutil.Process(self.pid).children(recursive=True):
                        child.kill()
            else:
                with suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()

    def end(self) -> None:
        self.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with suppress(OSError):  # unsent data is no loss
                pipe.close()

    def _watch(self, done: threading.Event, time_limit_s: float, stop: threading.Event | None) -> None:
        until = time.monotonic() + time_limit_s
        while not done.wait(_LOOK_EVERY_S):
            if time.monotonic() > until or (stop is not None and stop.is_set()):
                self.kill()
                return


def module_command(module: str, *arguments: str) -> list[str]:
    # -P: nothing is imported from the current folder, which may be the user's workspace.
    return [sys.executable, "-P", "-m", module, *arguments]


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def serve(answer: Callable[[IO[bytes], IO[bytes]], None]) -> None:
    """Run in the worker process: call `answer` for each request, until the input ends."""
    ignore_interrupts()
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # prints go to standard error, not into an answer
    with suppress(EOFError, BrokenPipeError):
        answers.write(_GREETING)
        answers.flush()
        while True:
            answer(requests, answers)


def _skip_to_greeting(answers: IO[bytes]) -> None:
    read = b""
    while not read.endswith(_GREETING):
        byte = answers.read(1)
        if not byte or len(read) > _MOST_NOISE_BYTES:
            raise EOFError
        read += byte


def write_message(file: IO[bytes], message: object) -> None:
    pickle.dump(message, file)
    file.flush()


def read_message(file: IO[bytes]) -> object:
    """Return the next message. Raises `EOFError` when the other end has closed."""
    try:
        return pickle.load(file)  # noqa: S301 - from our own process
    except pickle.UnpicklingError as error:  # cut off
        raise EOFError from error
