"""Prompts on their way to a turn: their mentions are fetched, then they wait for a turn or steer the running one.

Each prompt leaves the queue only once, even if the user and the turn take it at the same time.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError, StorageError
from desktop_agent.core.base.ids import PromptId
from desktop_agent.core.mentions.prompts import PromptMentions
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import Attachment
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.transcript.entries import QueuedPrompt

logger = logging.getLogger(__name__)

MaySay = Callable[[int, str], Awaitable[bool]]
"""Whether the hooks allow this message in the turn."""


class ArrivedPrompt(Struct, frozen=True, kw_only=True):
    """A prompt with its fetched mentions, or with the reason why fetching failed; neither if it was stopped."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    is_steering: bool = False
    error: AgentError | None = None
    is_stopped: bool = False


class _Waiting(Struct, frozen=True):
    text: str
    typed: str
    include: tuple[str, ...]
    is_steering: bool


class ArrivingPrompts:
    """Holds prompts until their mentions are fetched, and lets them arrive in the order in which they were added."""

    def __init__(self, mentions: PromptMentions, arrived: Callable[[ArrivedPrompt], None]) -> None:
        """`arrived` is called on the event loop's thread for each prompt once it is fetched, failed or stopped."""
        self._mentions = mentions
        self._arrived = arrived
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    @property
    def is_busy(self) -> bool:
        return self._task is not None

    def add(self, text: str, typed: str, include: tuple[str, ...] = (), *, is_steering: bool = False) -> None:
        """Hold a prompt until the mentions in `typed`, which the user wrote, and the files to `include` are fetched."""
        self._waiting.append(_Waiting(text, typed, include, is_steering))
        if self._task is None:
            self._begin()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def aclose(self) -> None:
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.wait({task})

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._work(), name="what prompts mention")
        self._task.add_done_callback(self._over)

    async def _work(self) -> None:
        while self._waiting:
            prompt = self._waiting[0]
            try:
                attached = await self._mentions.fetched(self._mentions.found_in(prompt.typed), prompt.include)
                arrived = ArrivedPrompt(text=prompt.text, attachments=attached, is_steering=prompt.is_steering)
            except AgentError as error:
                arrived = ArrivedPrompt(text=prompt.text, error=error)
            self._waiting.popleft()
            self._arrived(arrived)

    def _over(self, task: asyncio.Task[None]) -> None:
        """Called when the fetching task ends, even if it was cancelled before it began.

        After a cancellation or a failure, all waiting prompts are passed to `arrived` as stopped.
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


class PromptQueue:
    def __init__(self, log: EventLog, transcript: Transcript, on_added: Callable[[], None]) -> None:
        """`on_added` is called when a prompt has begun to wait, was moved, or begins to steer."""
        self._log = log
        self._transcript = transcript
        self._on_added = on_added
        self._gone: set[PromptId] = set()
        """The prompts that left the queue, including those whose leaving is still being recorded."""
        self.on_steering: Callable[[], None] = lambda: None
        """Called when a prompt begins to steer."""

    @property
    def waiting(self) -> list[QueuedPrompt]:
        return [prompt for prompt in self._transcript.turns.queued if prompt.prompt_id not in self._gone]

    def find(self, prompt_id: PromptId) -> QueuedPrompt | None:
        return next((prompt for prompt in self.waiting if prompt.prompt_id == prompt_id), None)

    async def add(
        self,
        prompt_id: PromptId,
        text: str,
        attachments: tuple[Attachment, ...],
        *,
        is_steering: bool,
        before: PromptId = "",
    ) -> None:
        await self._log.record(
            ev.Queued(prompt_id=prompt_id, text=text, attachments=attachments, is_steering=is_steering, before=before)
        )
        self._on_added()
        if is_steering:
            self.on_steering()

    async def remove(self, prompt_id: PromptId) -> None:
        if (prompt := self.find(prompt_id)) is not None:
            await self._let_go(prompt, ev.Unqueued(prompt_id=prompt_id))

    async def steer(self, prompt_id: PromptId) -> None:
        prompt = self.find(prompt_id)
        if prompt is not None and not prompt.is_steering:
            await self.add(prompt_id, prompt.text, prompt.attachments, is_steering=True)

    async def move(self, prompt_id: PromptId, before: PromptId) -> None:
        """Move a prompt before another one, or to the end. Do nothing if either has left the queue."""
        prompt = self.find(prompt_id)
        if prompt is None or prompt_id == before or (before and self.find(before) is None):
            return
        await self.add(prompt_id, prompt.text, prompt.attachments, is_steering=prompt.is_steering, before=before)

    @property
    def steering(self) -> list[QueuedPrompt]:
        return [prompt for prompt in self.waiting if prompt.is_steering]

    async def take_steering(self, turn: int, may_say: MaySay | None = None) -> None:
        """Take the steering prompts into the conversation; called between two requests. Raises `StorageError`.

        Those that `may_say` refuses go back to the user.
        """
        for prompt in self.steering:
            await self._take_if(may_say, prompt, turn)

    async def take_all(self, turn: int, may_say: MaySay) -> bool:
        """Take the waiting prompts like steering ones. Return whether at least one was not refused."""
        return any([await self._take_if(may_say, prompt, turn) for prompt in self.waiting])

    async def _take_if(self, may_say: MaySay | None, prompt: QueuedPrompt, turn: int) -> bool:
        is_heard = may_say is None or await may_say(turn, prompt.text)
        if is_heard:
            await self.take(prompt, turn)
        else:
            await self.remove(prompt.prompt_id)
            self._log.emit(ev.PromptRejected(text=prompt.text))
        return is_heard

    async def take(self, prompt: QueuedPrompt, turn: int) -> None:
        steered = ev.Steered(turn=turn, prompt_id=prompt.prompt_id, text=prompt.text, attachments=prompt.attachments)
        await self._let_go(prompt, steered)

    async def postpone(self, prompt: QueuedPrompt) -> None:
        """Make a steering prompt wait for the end of the turn, ahead of the others."""
        if self.find(prompt.prompt_id) is not None:
            first = next((one.prompt_id for one in self.waiting if not one.is_steering), "")
            await self.add(prompt.prompt_id, prompt.text, prompt.attachments, is_steering=False, before=first)

    async def _let_go(self, prompt: QueuedPrompt, event: ev.Unqueued | ev.Steered) -> None:
        if prompt.prompt_id in self._gone:
            return
        self._gone.add(prompt.prompt_id)
        try:
            await self._log.record(event)  # which a stop does not keep from being written
        except StorageError:
            self._gone.discard(prompt.prompt_id)
            raise
