"""Prompts on their way into a session: what they mention is fetched first, and the session goes on meanwhile."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.mentions.prompts import PromptMentions
from desktop_agent.core.protocol.model import Attachment

logger = logging.getLogger(__name__)


class ArrivedPrompt(Struct, frozen=True, kw_only=True):
    """A prompt with what it mentions, or why that could not be fetched; both are empty where it was stopped."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    is_steering: bool = False
    error: AgentError | None = None
    is_stopped: bool = False


class _Waiting(Struct, frozen=True):
    """A prompt that is not complete yet."""

    text: str
    typed: str
    include: tuple[str, ...]
    is_steering: bool


class ArrivingPrompts:
    """The prompts that wait for what they mention, or for one before them: they arrive in their order."""

    def __init__(self, mentions: PromptMentions, arrived: Callable[[ArrivedPrompt], None]) -> None:
        """`arrived` is called on the event loop's thread, with each that could not be taken at once."""
        self._mentions = mentions
        self._arrived = arrived
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a prompt is still to arrive."""
        return bool(self._waiting)

    def keeps(self, text: str, typed: str, include: tuple[str, ...] = (), *, is_steering: bool = False) -> bool:
        """Keep a prompt until it is complete; whether there was something to wait for.

        Only mentions in `typed`, which the user wrote, count: not those in the file of a command. The files to
        `include` come before them.
        """
        if self._task is None and not include and not self._mentions.found_in(typed):
            return False
        self._waiting.append(_Waiting(text, typed, include, is_steering))
        if self._task is None:
            self._begin()
        return True

    def stop(self) -> None:
        """Fetch nothing more: all that wait are given back."""
        if self._task is not None:
            self._task.cancel()

    async def aclose(self) -> None:
        """Stop, and return when all have been given back."""
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.wait({task})

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._work(), name="what prompts mention")
        self._task.add_done_callback(self._over)

    async def _work(self) -> None:
        while self._waiting:
            arrived = await self._completed(self._waiting[0])
            self._waiting.popleft()
            self._arrived(arrived)

    def _over(self, task: asyncio.Task[None]) -> None:
        """Give back what still waits, or go on with what has come since the task found nothing more.

        A task that is cancelled before it begins runs none of its own code.
        """
        self._task = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("What prompts mention could not be fetched", exc_info=error)
        elif self._waiting and not task.cancelled():
            self._begin()
            return
        while self._waiting:
            self._arrived(ArrivedPrompt(text=self._waiting.popleft().text, is_stopped=True))

    async def _completed(self, prompt: _Waiting) -> ArrivedPrompt:
        try:
            attached = await self._mentions.fetched(self._mentions.found_in(prompt.typed), prompt.include)
            return ArrivedPrompt(text=prompt.text, attachments=attached, is_steering=prompt.is_steering)
        except AgentError as error:
            return ArrivedPrompt(text=prompt.text, error=error)
