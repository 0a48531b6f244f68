"""The model that answers when the usual one is overloaded: asked once for a request, if the user named one."""

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError, ProviderError, ProviderFault
from desktop_agent.core.context_window.context_manager import NoRoomError, TurnRequests
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.transcript import FALLBACK

OVERLOAD: Final[frozenset[ProviderFault]] = frozenset({"rate_limited", "overloaded", "server"})
"""What another model may help with: not a key or a request that is refused, and not a network that is gone."""


class Responder(Struct, frozen=True, kw_only=True, eq=False):
    """Who answers one request."""

    model: ModelRef
    provider: Provider
    requests: TurnRequests


class Fallback(Struct, frozen=True, kw_only=True, eq=False):
    """What `model.fallback` names, looked up when it is needed."""

    settings: WorkspaceSettings
    model_meant: Callable[[NamedModel, ModelRef | None], ModelRef]
    provider_of: Callable[[ModelRef], Awaitable[Provider]]
    log: EventLog

    async def take_over(self, turn: int, usual: TurnRequests, error: ProviderError) -> tuple[Responder, ModelRequest]:
        """Return who answers in place of the usual model, which failed with `error`, and the request; a notice says so.

        Raises `error` when nobody does: none is named, or it could not help, or it cannot be asked.
        """
        named = self.settings.current.model.fallback
        if not named or error.fault not in OVERLOAD:
            raise error
        provider_id, _, name = named.partition("/")
        model = self.model_meant(NamedModel(provider=provider_id, model=name), None)
        if model == usual.model:
            raise error
        try:
            provider = await self.provider_of(model)
            requests = TurnRequests(context_manager=usual.context_manager, model=model, provider=provider)
            request = await requests.as_it_is()
        except (AgentError, NoRoomError) as obstacle:
            raise unaided(error, name, obstacle) from obstacle
        title = f"{usual.model.model} is overloaded, so {name} answers this request."
        hint = f"The next request is asked of {usual.model.model} again. The setting model.fallback names who steps in."
        notice = ev.Notice(
            level="warning", code=FALLBACK, title=title, hint=hint, detail=error.detail or error.title, turn=turn
        )
        await self.log.record(notice)
        return Responder(model=model, provider=provider, requests=requests), request


def unaided(error: ProviderError, name: str, obstacle: AgentError) -> ProviderError:
    """Return the failure of the usual model, with why the fallback did not help."""
    return ProviderError(
        error.title,
        fault=error.fault,
        hint=f"{error.hint} {name} could not answer in its place: {obstacle.title}".strip(),
        detail="\n".join(filter(None, (error.detail, obstacle.detail))),
        retry_after_s=error.retry_after_s,
    )
