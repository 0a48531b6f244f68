"""The prompts that wait for a turn: taken back, sent to the turn that runs, or started when it is over.

Each leaves the queue once: the first to take it, the user or the turn, has it, also while that is being written.
"""

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import PromptId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import Attachment
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.transcript.entries import QueuedPrompt


class PromptQueue:
    """What the journal says that waits, and the ways out of it."""

    def __init__(self, log: EventLog, transcript: Transcript) -> None:
        self._log = log
        self._transcript = transcript
        self._gone: set[PromptId] = set()
        """Those that left, also while that is being written."""

    @property
    def waiting(self) -> list[QueuedPrompt]:
        """Those that wait, in the order in which they start."""
        return [prompt for prompt in self._transcript.turns.queued if prompt.prompt_id not in self._gone]

    def find(self, prompt_id: PromptId) -> QueuedPrompt | None:
        """Return one of them, if it still waits."""
        return next((prompt for prompt in self.waiting if prompt.prompt_id == prompt_id), None)

    async def add(
        self, prompt_id: PromptId, text: str, attachments: tuple[Attachment, ...], *, is_steering: bool
    ) -> None:
        """Let a prompt wait, for the next request of the running turn if it steers."""
        await self._log.record(
            ev.Queued(prompt_id=prompt_id, text=text, attachments=attachments, is_steering=is_steering)
        )

    async def remove(self, prompt_id: PromptId) -> None:
        """Take a prompt out, if it still waits."""
        if (prompt := self.find(prompt_id)) is not None:
            await self._let_go(prompt, ev.Unqueued(prompt_id=prompt_id))

    async def steer(self, prompt_id: PromptId) -> None:
        """Let a prompt that waits for the end of the running turn wait for its next request, in place of that."""
        prompt = self.find(prompt_id)
        if prompt is not None and not prompt.is_steering:
            await self.add(prompt_id, prompt.text, prompt.attachments, is_steering=True)

    async def move(self, prompt_id: PromptId, before: PromptId) -> None:
        """Let a prompt come before another one, or after all of them; nothing is done if one of the two is gone."""
        prompt = self.find(prompt_id)
        if prompt is None or prompt_id == before or (before and self.find(before) is None):
            return
        await self._log.record(
            ev.Queued(
                prompt_id=prompt_id,
                text=prompt.text,
                attachments=prompt.attachments,
                is_steering=prompt.is_steering,
                before=before,
            )
        )

    @property
    def has_steering(self) -> bool:
        """Whether one waits for the next request of the running turn."""
        return any(prompt.is_steering for prompt in self.waiting)

    async def take_steering(self, turn: int) -> None:
        """Put those that steer into the conversation of `turn`.

        Only between two requests, when every call of the last answer has its result. Raises `StorageError`.
        """
        for prompt in [prompt for prompt in self.waiting if prompt.is_steering]:
            steered = ev.Steered(
                turn=turn, prompt_id=prompt.prompt_id, text=prompt.text, attachments=prompt.attachments
            )
            await self._let_go(prompt, steered)

    async def _let_go(self, prompt: QueuedPrompt, event: ev.Unqueued | ev.Steered) -> None:
        if prompt.prompt_id in self._gone:
            return
        self._gone.add(prompt.prompt_id)
        try:
            await self._log.record(event)  # which a stop does not keep from being written
        except StorageError:
            self._gone.discard(prompt.prompt_id)
            raise
