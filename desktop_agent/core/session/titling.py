"""Titles that the model makes up after the first turn: one small request beside the conversation, which never waits.

A title that the user gave is never replaced. What fails is logged and nothing else: the beginning of the first prompt
is a title, too.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import ModelRequest, TextBlock, UserMessage
from desktop_agent.core.providers.provider import ProviderSource, reported_answer
from desktop_agent.core.transcript import TextEntry, Transcript

logger = logging.getLogger(__name__)

UNTITLED_PROVIDERS = frozenset({"demo", "scripted"})
"""They say what their script says, and to ask them beside it would take a reply out of it."""

MAX_TOKENS = 200
MAX_TITLE_CHARS = 80
_MAX_QUOTED_CHARS = 2_000
_PATIENCE_S = 30.0
_CANCEL_AGAIN_S = 1.0
_LAST_TURN = 3
"""Later than after this turn the session needs no title: the user knows the conversation by its first words."""


@dataclass(slots=True)
class Titling:
    """Makes the title of one session, at most once in its life here."""

    transcript: Transcript
    log: EventLog
    provider_source: ProviderSource
    clock: Clock
    is_wanted: Callable[[], bool]
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def after_turn(self, reason: ev.TurnEndReason) -> None:
        """Begin to make a title, if this was the first completed turn. Returns at once."""
        if self._task is None and reason == "completed" and self._is_due():
            self._task = asyncio.create_task(self._run(), name="title")

    @property
    def is_busy(self) -> bool:
        """Whether a title is being made."""
        return self._task is not None and not self._task.done()

    async def aclose(self) -> None:
        """Stop; returns when nothing runs any more. A library can lose a cancellation, so it is repeated."""
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_CANCEL_AGAIN_S)

    def _is_due(self) -> bool:
        model = self.transcript.session.model
        if not self.is_wanted() or model is None or model.provider in UNTITLED_PROVIDERS:
            return False
        prompt = self._first_prompt()
        session = self.transcript.session
        is_first_line = prompt.strip().startswith(session.title.removesuffix("…"))
        return bool(prompt) and not session.is_title_given and is_first_line and self.transcript.turn <= _LAST_TURN

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._make()
        except (AgentError, TimeoutError) as error:
            logger.warning("No title was made: %s", error)
        except Exception:
            logger.exception("No title was made")

    async def _make(self) -> None:
        model = self.transcript.session.model
        assert model is not None
        turn = self.transcript.turn
        provider = await self.provider_source(model)
        try:
            request = await asyncio.to_thread(self._request, model.model)
            completion = await reported_answer(self.log, provider, model, request, turn, "title")
        finally:
            await provider.aclose()
        await self.log.record(ev.UsageReported(turn=turn, usage=completion.usage, model=model, is_aside=True))
        text = "".join(block.text for block in completion.content if isinstance(block, TextBlock))
        if (title := clean_title(text)) and not self.transcript.session.is_title_given:
            await self.log.record(ev.SessionRenamed(title=title, is_generated=True))

    def _request(self, model: str) -> ModelRequest:
        reply = next((e.text for e in self.transcript.entries if isinstance(e, TextEntry) and e.kind == "text"), "")
        said = (
            f"<user>\n{self._first_prompt()[:_MAX_QUOTED_CHARS]}\n</user>\n"
            f"<assistant>\n{reply[:_MAX_QUOTED_CHARS]}\n</assistant>\n\nThe title:"
        )
        return ModelRequest(
            model=model,
            system=resource_path("prompts", "title.md").read_text(encoding="utf-8").strip(),
            messages=(UserMessage(content=(TextBlock(text=said),)),),
            tools=(),
            max_tokens=MAX_TOKENS,
        )

    def _first_prompt(self) -> str:
        return next((entry.text for entry in self.transcript.entries if isinstance(entry, ev.PromptSubmitted)), "")


def clean_title(text: str) -> str:
    """Return the title in what a model replied; empty when there is none."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    printable = "".join(char if char.isprintable() else " " for char in line)
    title = " ".join(printable.split()).strip("\"'`*#“”„«» ").removeprefix("Title:").strip().rstrip(".")
    if len(title) <= MAX_TITLE_CHARS:
        return title
    return f"{title[: MAX_TITLE_CHARS - 1].rsplit(' ', 1)[0]}…"
