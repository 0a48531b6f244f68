"""How far a batch is: a bar on a terminal, a line for each tenth elsewhere."""

import shutil
from contextlib import suppress

from desktop_agent.cli.console import Console
from desktop_agent.cli.run.progress import ERASE_LINE
from desktop_agent.headless.batch.coordinator import BatchSummary, summary_words

_LONGEST_BAR = 40


class BatchProgress:
    """Shows each summary that it is called with on standard error."""

    def __init__(self, console: Console, term: str) -> None:
        self._console = console
        self._is_terminal = console.err.isatty() and term not in ("", "dumb")
        self._tenth = 0

    def __call__(self, summary: BatchSummary) -> None:
        if self._is_terminal:
            self._draw(summary)
            return
        tenth = 10 * summary.done // summary.tasks
        if tenth > self._tenth:
            self._tenth = tenth
            self._console.say(summary_words(summary))

    def clear(self) -> None:
        """Leave the line to other words."""
        if self._is_terminal:
            self._write(ERASE_LINE)

    def _draw(self, summary: BatchSummary) -> None:
        words = f" {summary_words(summary)}"
        length = min(_LONGEST_BAR, shutil.get_terminal_size().columns - 1 - len(words))
        filled = length * summary.done // summary.tasks
        self._write(f"{ERASE_LINE}{'█' * filled}{'░' * max(0, length - filled)}{words}")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that has gone
            self._console.err.write(text)
            self._console.err.flush()
