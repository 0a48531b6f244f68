"""One line on the terminal that says how far a run is, while no result is there yet."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TextIO

from desktop_agent.core.base.plain_text import cost_text, number_of, on_one_line
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Usage

ERASE_LINE = "\r\x1b[K"
_EVERY_S = 1.0


class ProgressLine:
    """Follows the events of a run. Shows nothing where standard error is no terminal, or one without control codes."""

    def __init__(self, terminal: TextIO, term: str, now: Callable[[], float]) -> None:
        """`term` is the variable TERM, empty for none; `now` a clock that only moves forward, in seconds."""
        self._terminal = terminal
        self._is_shown = terminal.isatty() and term not in ("", "dumb")
        self._now = now
        self._begun = now()
        self._what = "Starting"
        self._requests = 0
        self._usage = Usage()

    @asynccontextmanager
    async def shown(self) -> AsyncGenerator[None]:
        """Show it while the body runs; the line is gone afterwards."""
        if not self._is_shown:
            yield
            return
        ticking = asyncio.create_task(self._tick(), name="progress")
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.wait([ticking])
            self.clear()

    def clear(self) -> None:
        """Leave the line to other words; the next event brings it back."""
        if self._is_shown:
            self._write("")

    def note(self, event: ev.Event) -> None:
        """Take in what happened."""
        match event:
            case ev.TurnStarted():
                self._what = "Asking the model"
            case ev.TextDelta():
                self._what = "Answering"
            case ev.ThinkingDelta():
                self._what = "Thinking"
            case ev.ToolCallStarted(call=call, title=title):
                self._what = call.name if title in ("", call.name) else f"{call.name} {title}"
            case ev.ToolCallFinished():
                self._what = "Asking the model"
            case ev.ApprovalRequested(request=request):
                self._what = f"Waiting for an answer: {request.title or request.tool}"
            case ev.UsageReported(usage=usage):
                self._requests += 1
                self._usage += usage
            case _:
                return
        if not isinstance(event, ev.TextDelta | ev.ThinkingDelta):  # of those come hundreds a second
            self._draw()

    async def _tick(self) -> None:
        while True:
            self._draw()
            await asyncio.sleep(_EVERY_S)

    def _draw(self) -> None:
        if not self._is_shown:
            return
        seconds = int(self._now() - self._begun)
        cost = cost_text(self._usage.cost_usd, is_partial=self._usage.is_cost_partial)
        facts = [f"{seconds // 60}:{seconds % 60:02}", number_of(self._requests, "request"), *([cost] if cost else [])]
        tail = f" · {' · '.join(facts)}"
        room = shutil.get_terminal_size().columns - 1 - len(tail)
        what = on_one_line(self._what)
        self._write(f"{what if len(what) <= room else what[: max(0, room - 1)] + '…'}{tail}")

    def _write(self, line: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that has gone
            self._terminal.write(ERASE_LINE + line)
            self._terminal.flush()
