"""How many lines a change added and removed, counted without keeping the window waiting."""

from desktop_agent.core.diff.comparing import TIME_LIMIT_S, is_big
from desktop_agent.core.diff.comparison_process import ComparisonProcess
from desktop_agent.core.diff.diff import count_lines, find_middle
from desktop_agent.core.diff.text import is_binary
from desktop_agent.core.system.processes.worker_process import WorkerDiedError


class LineCounter:
    """Counts what `diff_change` would show; big files in a process of its own, until `close`.

    To match 100,000 lines holds the interpreter lock for 30 to 90 ms, in whichever thread. The process takes 0.2 s to
    start: the call waits for that, and the window does not. It is not kept for the next call, which hardly ever has a
    big file, too.
    """

    def __init__(self, *, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._time_limit_s = time_limit_s
        self._process: ComparisonProcess | None = None

    def count(self, before: bytes | None, after: bytes | None) -> tuple[int, int]:
        """Return how many lines were added and removed. Blocks.

        What takes too long to match counts as one edit, which is how it will be shown.
        """
        if not (before and after) or before == after or not is_big(before, after):
            return count_lines(before, after)
        if is_binary(before) or is_binary(after):
            return 0, 0
        try:
            if self._process is None:
                self._process = ComparisonProcess()
        except OSError:  # there can be no more processes: rather a window that waits than wrong figures
            return count_lines(before, after)
        return self._counted(self._process, before, after)

    def _counted(self, process: ComparisonProcess, before: bytes, after: bytes) -> tuple[int, int]:
        try:
            return process.count(before, after, time_limit_s=self._time_limit_s)
        except WorkerDiedError:
            self.close()
            return count_lines(before, after, match=find_middle)

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process:
            process.worker.end()
