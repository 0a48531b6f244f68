"""The process that compares big files: `python -m desktop_agent.core.diff.comparison_process`."""

import gc
import traceback
from typing import Final, NamedTuple, cast

from msgspec.structs import replace

from desktop_agent.core.diff.diff import TOO_DIFFERENT_NOTE, count_lines, diff_change, find_middle
from desktop_agent.core.diff.outline import DiffOutline, outline_of
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.system.processes.worker_process import (
    WorkerDiedError,
    WorkerProcess,
    read_message,
    serve,
    write_message,
)

_MODULE: Final = "desktop_agent.core.diff.comparison_process"


class Comparison(NamedTuple):
    """A request to compare. If `change` is None, only count lines. `is_coarse`: the differing middle is one edit."""

    change: FileChange | None
    before: bytes | None
    after: bytes | None
    is_coarse: bool = False


class ComparisonFailure(NamedTuple):
    text: str


class LineCounts(NamedTuple):
    added: int
    removed: int


Answer = DiffOutline | LineCounts | ComparisonFailure


class ComparisonProcess(WorkerProcess):
    """The parent's side of the process. The methods block, and are for one thread at a time."""

    def __init__(self) -> None:
        """The process answers after about 0.1 s. Raises `OSError` if none can be started."""
        super().__init__(_MODULE)

    def ask(self, comparison: Comparison) -> Answer:
        """Compare two versions. Raises `WorkerDiedError`; the process is then unusable."""
        self.send(comparison)
        answer = self.receive()
        if isinstance(answer, Answer):
            return answer
        raise WorkerDiedError(answer)


def main() -> None:
    gc.disable()  # a comparison leaves no cycles, and searching its many edits for them takes long
    serve(lambda requests, answers: write_message(answers, _answer(cast("Comparison", read_message(requests)))))


def _answer(comparison: Comparison) -> Answer:
    change, before, after, is_coarse = comparison
    try:
        if change is None:
            return LineCounts(*count_lines(before, after))
        diff = diff_change(change, before, after, match=find_middle if is_coarse else None)
        if is_coarse:
            diff = replace(diff, notes=(TOO_DIFFERENT_NOTE, *diff.notes))
        return outline_of(diff, before or b"", after or b"")
    except Exception:  # noqa: BLE001 - raised again where it was asked for
        return ComparisonFailure(traceback.format_exc())


if __name__ == "__main__":
    # By its name: classes that `__main__` defines could not be unpickled elsewhere.
    from desktop_agent.core.diff import comparison_process  # noqa: PLW0406 - that is the point

    comparison_process.main()
