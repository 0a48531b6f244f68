"""The results of a batch: a file that gets one line for each task, and is what a batch that was cut goes on from."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.headless.batch.outcome import TaskOutcome


class Results:
    """Results that another program reads from a stream; none are there before."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """`write` gets each line without its end."""
        self._write = write
        self.done: dict[str, TaskOutcome] = {}
        """What there is, by the ids of the tasks."""

    def add(self, outcome: TaskOutcome) -> None:
        """Write a result down; it counts when this returns. Blocks. Raises `AgentError` when it cannot be written."""
        self._write(outcome.line())
        self.done[outcome.id] = outcome


class ResultsFile(Results):
    """Results in a file, which one batch at a time may write."""

    def __init__(self, path: Path) -> None:
        super().__init__(self._append)
        self._path = path
        self._lock = FileLock(path.with_name(f"{path.name}.lock"), thread_local=False)

    def __enter__(self) -> Self:
        """Lock the file and read what is there. Blocks. A last line that a kill has cut is removed: it was no result.

        Raises `UsageError` when another batch writes the file, or it has something else in it.
        """
        if self._path.exists() and not self._path.is_file():  # a device or pipe may have no end to read to
            raise UsageError(f"The results {self._path} cannot be read: it is no regular file.")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise UsageError(
                f"Another batch writes {self._path}.", hint="Wait for its end, or name another file."
            ) from error
        except OSError as error:
            raise UsageError(f"The results {self._path} cannot be written: {error.strerror}.") from error
        try:
            self._read()
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _read(self) -> None:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            content = b""
        except OSError as error:
            raise UsageError(f"The results {self._path} cannot be read: {error.strerror}.") from error
        *lines, rest = content.split(b"\n")
        for number, line in enumerate(lines, 1):
            try:
                outcome = TaskOutcome.read(line)
            except (ValueError, RecursionError) as error:
                hint = "Name another file with --output."
                raise UsageError(f"{self._path}, line {number} is no result.", hint=hint, detail=str(error)) from error
            self.done[outcome.id] = outcome
        if rest:
            with self._path.open("r+b") as file:
                file.truncate(len(content) - len(rest))

    def _append(self, line: str) -> None:
        try:
            with self._path.open("ab") as file:
                file.write(line.encode(errors="backslashreplace") + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StorageError(
                f"The results {self._path} could not be written, so the batch was stopped.",
                hint="Free some disk space, and run the same command again: it goes on where it was.",
                detail=str(error),
            ) from error
