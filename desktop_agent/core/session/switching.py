"""Switches models in a session: the fallback when the usual model is overloaded, and what is lost on a switch."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from desktop_agent.core.base.errors import AgentError, ProviderError, ProviderFault
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.context.history import is_readable_by, portable
from desktop_agent.core.context.packing import image_digests
from desktop_agent.core.context_window.context_manager import NoRoomError, TurnRequests
from desktop_agent.core.models.known_model import levels_of
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import AssistantMessage, Message, ModelRef, ModelRequest
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.transcript import FALLBACK

OVERLOAD: Final[frozenset[ProviderFault]] = frozenset({"rate_limited", "overloaded", "server"})


async def take_over(
    parts: SessionParts,
    provider_of: Callable[[ModelRef], Awaitable[Provider]],
    turn: int,
    usual: TurnRequests,
    error: ProviderError,
) -> tuple[TurnRequests, ModelRequest]:
    """Return the fallback's requests and its next request, and record a notice. Raises `error` if there is none."""
    named = parts.settings.current.model.fallback
    if not named or error.fault not in OVERLOAD:
        raise error
    provider_id, _, name = named.partition("/")
    model = parts.model_meant(NamedModel(provider=provider_id, model=name), None)
    if model == usual.model:
        raise error
    try:
        provider = await provider_of(model)
        instead = TurnRequests(context_manager=usual.context_manager, model=model, provider=provider)
        request = await instead.as_it_is()
    except (AgentError, NoRoomError) as obstacle:
        raise with_failed_fallback(error, name, obstacle) from obstacle
    title = f"{usual.model.model} is overloaded, so {name} answers this request."
    hint = f"The next request goes to {usual.model.model} again. The setting model.fallback names the substitute."
    notice = ev.Notice(
        level="warning", code=FALLBACK, title=title, hint=hint, detail=error.detail or error.title, turn=turn
    )
    await parts.recorder.record(notice)
    return instead, request


def with_failed_fallback(error: ProviderError, name: str, obstacle: AgentError) -> ProviderError:
    return ProviderError(
        error.title,
        fault=error.fault,
        hint=f"{error.hint} {name} could not answer in its place: {obstacle.title}".strip(),
        detail="\n".join(filter(None, (error.detail, obstacle.detail))),
        retry_after_s=error.retry_after_s,
    )


SWITCHED: Final = "switched"
UNKNOWN_EFFORT: Final = "unknown_effort"


async def tell_of_switch(parts: SessionParts, turn: int, before: ModelRef | None) -> None:
    """Report which parts of the conversation the model does not get, if the model `before` got more."""
    now = parts.state.transcript.session.model
    if before is None or now is None or before == now or before.is_agent or now.is_agent:
        return
    messages = parts.state.history.messages()
    has_pictures = bool(image_digests(messages))
    is_blind = has_pictures and await _takes_no_images(parts, now) and not await _takes_no_images(parts, before)
    losses = _thinking_lost(messages, before, now)
    if is_blind:
        losses.append(f"{number_of(len(image_digests(messages)), 'picture')}, because it takes none")
    if losses:
        title = f"{now.model} answers from here on. It does not get all of the conversation."
        hint = f"Left out for this model: {' and '.join(losses)}. The conversation itself keeps everything."
        await parts.recorder.record(ev.Notice(level="info", code=SWITCHED, title=title, hint=hint, turn=turn))


async def _takes_no_images(parts: SessionParts, model: ModelRef) -> bool:
    known = await parts.known(model)
    return known is not None and known.takes_images is False


async def tell_of_effort(parts: SessionParts, turn: int, before: ModelRef | None) -> None:
    """Report that the effort is omitted if the model does not know it, unless the model is the same as before."""
    now = parts.state.transcript.session.model
    if now is None or now == before or not now.effort:
        return
    model = await parts.known(now)
    if model is None or now.effort in (levels := levels_of(model)):
        return
    known = f"supports {', '.join(levels)}" if levels else "has no effort levels"
    title = f"{now.model} does not support the effort {now.effort!r}, so it uses its default."
    hint = f"It {known}. Choose another with /effort, or in the setting model.effort."
    await parts.recorder.record(ev.Notice(level="warning", code=UNKNOWN_EFFORT, title=title, hint=hint, turn=turn))


def refused_effort_notice(turn: int, model: ModelRef, effort: str) -> ev.Notice:
    return ev.Notice(
        level="warning",
        code=UNKNOWN_EFFORT,
        title=f"{model.model} refused the effort {effort!r}, so it uses its default.",
        hint="Its next requests are sent without an effort. Choose another model, or reset the effort with /effort "
        "default.",
        turn=turn,
    )


def _thinking_lost(messages: Sequence[Message], before: ModelRef, now: ModelRef) -> list[str]:
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
        return []
    return [f"the earlier thinking of {', '.join(dict.fromkeys(lost))}, which only its own account can read"]
