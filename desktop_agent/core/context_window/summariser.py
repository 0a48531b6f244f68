"""Asking the session's model to summarise a conversation. The request stands by itself: plain text in, JSON out."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.context.readable import conversation_text, fitted
from desktop_agent.core.context.summaries import parsed, summary_text
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import Message, ModelRef, ModelRequest, Summary, TextBlock, UserMessage
from desktop_agent.core.providers.base import Provider
from desktop_agent.core.providers.reporting import reported_answer

MAX_TOKENS = 6_000
"""The longest summary."""
_LONGEST_PART = 2_000
"""Of a result or of a call's arguments, in characters: a summary needs what came of it, not all of it."""
_CHARS_PER_TOKEN = 3
_PLACEHOLDER = "Summarise this conversation.{focus}\n\n<conversation>\n{earlier}{text}\n</conversation>"


RetryWait = Callable[[int, int, ProviderError], Awaitable[None]]
"""Waits, for a turn, after this try (from 1) failed so. Raises the error when it makes no sense to try again."""


class SummaryJob(Struct, frozen=True, kw_only=True):
    """What is to be summarised."""

    messages: Sequence[Message]
    before: Summary | None
    """The summary that stands before them, which the new one replaces."""
    focus: str
    turn: int
    """To which turn the usage is counted."""


async def summarise(
    job: SummaryJob, provider: Provider, model: ModelRef, window: int, *, log: EventLog, wait: RetryWait
) -> Summary | None:
    """Return the summary, or None when the model's answer holds none. What it cost is on record either way.

    Tries again what can pass by itself, like a turn. Raises `ProviderError`. Cancelling closes the connection.
    """
    request = _request(job, model, window)
    attempt = 1
    while True:
        try:
            completion = await reported_answer(log, provider, model, request, job.turn, "summary")
        except ProviderError as error:
            await wait(job.turn, attempt, error)
            attempt += 1
        else:
            await log.record(ev.UsageReported(turn=job.turn, usage=completion.usage, model=model, is_aside=True))
            texts = [block.text for block in completion.content if isinstance(block, TextBlock)]
            return parsed("\n".join(texts))


def _request(job: SummaryJob, model: ModelRef, window: int) -> ModelRequest:
    longest = max((window - 2 * MAX_TOKENS) * _CHARS_PER_TOKEN, 4_000)
    text = fitted(conversation_text(job.messages, longest_part=_LONGEST_PART), longest)
    earlier = f"An earlier summary:\n{summary_text(job.before)}\n\n" if job.before else ""
    focus = f" Keep above all what concerns this: {job.focus}" if job.focus else ""
    prompt = _PLACEHOLDER.format(focus=focus, earlier=earlier, text=text)
    return ModelRequest(
        model=model.model,
        system=resource_path("prompts", "compact.md").read_text(encoding="utf-8").strip(),
        messages=(UserMessage(content=(TextBlock(text=prompt),)),),
        tools=(),
        max_tokens=MAX_TOKENS,
    )
