"""What a model that takes over a conversation does not get of it, said once: at its first turn."""

from collections.abc import Sequence
from typing import Final

from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.context.pictures import image_digests
from desktop_agent.core.context.portable import is_readable_by, portable
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import AssistantMessage, Message, ModelRef
from desktop_agent.core.session.parts import SessionParts

SWITCHED: Final = "switched"
"""The code of the notice."""


async def tell_of_switch(parts: SessionParts, turn: int, before: ModelRef | None) -> None:
    """Record what the model of the session does not get of what the model `before` it got, if that is anything."""
    now = parts.state.transcript.session.model
    if before is None or now is None or before == now:
        return
    messages = parts.state.history.messages()
    has_pictures = bool(image_digests(messages))
    is_blind = has_pictures and await parts.takes_images(now) is False and await parts.takes_images(before) is not False
    losses = [*_thinking_lost(messages, before, now), *(_pictures_lost(messages) if is_blind else ())]
    if losses:
        title = f"{now.model} answers from here on. It does not get all of the conversation."
        hint = f"Left out for it: {' and '.join(losses)}. Nothing is removed: what was left out is still here."
        await parts.recorder.record(ev.Notice(level="info", code=SWITCHED, title=title, hint=hint, turn=turn))


def _thinking_lost(messages: Sequence[Message], before: ModelRef, now: ModelRef) -> Sequence[str]:
    lost = [
        message.made_by.model
        for message in messages
        if isinstance(message, AssistantMessage)
        and message.made_by is not None
        and portable(message.content) != message.content
        and is_readable_by(message, before)
        and not is_readable_by(message, now)
    ]
    if not lost:
        return ()
    return (f"the earlier thinking of {', '.join(dict.fromkeys(lost))}, which only its own account can read",)


def _pictures_lost(messages: Sequence[Message]) -> Sequence[str]:
    return (f"{number_of(len(image_digests(messages)), 'picture')}, because it takes none",)
