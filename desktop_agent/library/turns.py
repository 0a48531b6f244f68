"""One turn as a program waits for it: from its prompt to its recorded end."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.ids import PromptId, SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.library.results import FAILURES, Result, ResultFold, RunFailedError, error_of

T = TypeVar("T")

BUSY_TITLE = "A turn is running."
BUSY_HINT = "Wait for its end, or stop it with `interrupt()`."


class RunningTurn:
    """Hears the events of a session since a prompt was submitted, and knows when its turn is over."""

    def __init__(self, session_id: SessionId, prompt: str, submit: Callable[[ops.Op], None]) -> None:
        self._prompt = prompt
        self._submit = submit
        self._fold = ResultFold(session_id)
        self._queue: asyncio.Queue[ev.Event | None] = asyncio.Queue()
        self._queued: PromptId | None = None
        """The prompt, when it came behind another turn. It is taken back, unless that turn is over before."""
        self._notice: ev.Notice | None = None
        self._is_rejected = False
        self._failure: Exception | None = None
        self.is_left = False
        """Whether who waited for it has gone, and it is being stopped."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.over.done()

    def hear(self, event: ev.Event) -> None:
        """Take in an event."""
        if self.is_over:
            return
        self._fold.apply(event)
        match event:
            case ev.PromptSubmitted(text=text, turn=turn) if text == self._prompt and not self._fold.turn:
                self._fold.turn = turn
            case ev.Queued(text=text, prompt_id=prompt_id) if text == self._prompt and not self._fold.turn:
                self._queued = prompt_id
                self._submit(ops.Unqueue(prompt_id=prompt_id))
            case ev.Unqueued(prompt_id=prompt_id) if prompt_id == self._queued:
                self.fail(UsageError(BUSY_TITLE, hint=BUSY_HINT))
            case ev.PromptRejected(text=text) if text == self._prompt:
                self._is_rejected = True
                self._fail_if_rejected()
            case ev.Notice(level="error"):
                self._notice = event
                self._fail_if_rejected()
            case _:
                pass
        if self._fold.turn:
            self._queue.put_nowait(event)
        if self._fold.ended is not None:
            self._end()

    def fail(self, error: Exception) -> None:
        """End the waiting with an error; one that was there before counts."""
        self._failure = self._failure or error
        self._end()

    def note_failure(self, error: Exception | None) -> None:
        """Have `raise_failure` raise this, too."""
        self._failure = self._failure or error

    async def events(self) -> AsyncGenerator[ev.Event]:
        """Yield the events of the turn, from its prompt to its end."""
        while (event := await self._queue.get()) is not None:
            yield event

    def result(self) -> Result:
        """What it came to."""
        return self._fold.result()

    def raise_failure(self) -> None:
        """Raise what kept the turn from being an outcome."""
        if self._failure is not None:
            raise self._failure
        result = self.result()
        if result.reason in FAILURES:
            raise RunFailedError(result)

    def _fail_if_rejected(self) -> None:
        """The session gives the reason before it gives the prompt back, or after it."""
        if self._is_rejected and self._notice is not None:
            self.fail(error_of(self._notice))

    def _end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)
            self._queue.put_nowait(None)


def closed_error() -> AgentError:
    """The error of asking an agent that is not open."""
    hint = "Use it inside `async with Agent(…) as agent:`; `resume` goes on with an earlier session."
    return UsageError("The agent is not open.", hint=hint)


async def to_its_end(future: "asyncio.Future[T]") -> T:
    """Wait until `future` is done, also where this is cancelled meanwhile, and then be cancelled."""
    is_cancelled = False
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError
    return future.result()
