"""The process that compares big files: `python -m desktop_agent.core.diff.comparison_process`.

Matching the lines of big files holds the interpreter lock for tens of milliseconds, and for seconds where hardly a line
is like another; in a thread of the window's process every frame would wait for it. Requests come one after the other:
a pickled head and two contents.
"""

import gc
import traceback
from typing import IO, Final, NamedTuple, cast

from msgspec.structs import replace

from desktop_agent.core.diff.diff import TOO_DIFFERENT_NOTE, count_lines, diff_change, find_middle
from desktop_agent.core.diff.outline import DiffOutline, outline_of
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.system.processes.worker_process import (
    WorkerDiedError,
    WorkerProcess,
    read_content,
    read_message,
    serve,
    write_message,
)

_MODULE: Final = "desktop_agent.core.diff.comparison_process"


class Comparison(NamedTuple):
    """What is asked for: what `change` did, from its two contents.

    `is_coarse`: everything between the first and the last difference is one edit. That never takes long.
    """

    change: FileChange
    before: bytes | None
    after: bytes | None
    is_coarse: bool = False


class ComparisonFailure(NamedTuple):
    """The comparison raised an exception; its traceback."""

    text: str


class LineCounts(NamedTuple):
    added: int
    removed: int


_Head = tuple[FileChange | None, bool]
"""The change and whether to be coarse about it; without a change, lines are to be counted."""
_Answer = DiffOutline | ComparisonFailure | LineCounts


class ComparisonProcess:
    """The process, seen from the one that asks. The methods block: they are for one thread at a time."""

    def __init__(self) -> None:
        """Start it; it answers after about 0.1 s. Raises `OSError` when there can be no more processes."""
        self.worker = WorkerProcess(_MODULE)

    def ask(self, comparison: Comparison) -> DiffOutline | ComparisonFailure:
        """Return the answer. Raises `WorkerDiedError`; the process is of no use then."""
        answer = self._ask((comparison.change, comparison.is_coarse), comparison.before, comparison.after)
        if isinstance(answer, DiffOutline | ComparisonFailure):
            return answer
        raise WorkerDiedError(answer)

    def count(self, before: bytes, after: bytes, *, time_limit_s: float) -> tuple[int, int]:
        """Return what `count_lines` does. Raises `WorkerDiedError`, also when it takes longer."""
        with self.worker.limited(time_limit_s):
            answer = self._ask((None, False), before, after)
        if isinstance(answer, LineCounts):
            return answer
        raise WorkerDiedError(answer)

    def _ask(self, head: "_Head", before: bytes | None, after: bytes | None) -> object:
        self.worker.send(head, before, after)
        return self.worker.receive()


def main() -> None:
    gc.disable()  # a comparison leaves no cycles, and its hundred thousand edits would be looked through for them
    serve(_answer)


def _answer(requests: IO[bytes], answers: IO[bytes]) -> None:
    head = cast("_Head", read_message(requests))
    write_message(answers, _compare(head, read_content(requests), read_content(requests)))


def _compare(head: _Head, before: bytes | None, after: bytes | None) -> _Answer:
    change, is_coarse = head
    try:
        if change is None:
            return LineCounts(*count_lines(before, after))
        return _outline(Comparison(change, before, after, is_coarse))
    except Exception:  # noqa: BLE001 - raised again where it was asked for
        return ComparisonFailure(traceback.format_exc())


def _outline(comparison: Comparison) -> DiffOutline:
    change, before, after, is_coarse = comparison
    if not is_coarse:
        return outline_of(diff_change(change, before, after), before or b"", after or b"")
    diff = diff_change(change, before, after, match=find_middle)
    return outline_of(replace(diff, notes=(TOO_DIFFERENT_NOTE, *diff.notes)), before or b"", after or b"")


if __name__ == "__main__":
    # By its name: what this module itself defines could not be unpickled as something of `__main__`.
    from desktop_agent.core.diff import comparison_process  # noqa: PLW0406 - that is the point

    comparison_process.main()
