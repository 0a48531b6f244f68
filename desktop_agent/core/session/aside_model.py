"""The session's model, asked beside the conversation: with the same tries, limits and records as a turn's requests."""

from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, ProviderError
from desktop_agent.core.models.known_model import KnownModel, price_words
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import ModelRef, ModelRequest, TextBlock
from desktop_agent.core.providers.provider import Completion, Provider, ProviderSource, reported_answer
from desktop_agent.core.session.retries import Retries
from desktop_agent.core.session.session_state import SessionState
from desktop_agent.core.session.spending.guard import SpendingGuard
from desktop_agent.core.tools.servers.asking_back import AsideAnswer, AsideFacts


class SessionModel(Struct, frozen=True, kw_only=True, eq=False):
    """Asks whatever model the session has now. It is an `AsideModel` of `core.tools.servers.sampling`."""

    state: SessionState
    provider_source: ProviderSource
    known: Callable[[ModelRef], Awaitable[KnownModel | None]]
    """Returns what is known of a model."""
    retries: Retries
    spending: SpendingGuard
    log: EventLog

    async def facts(self) -> AsideFacts:
        """Return which model is in use now. Raises `AgentError` when there is none to ask."""
        model = self._model()
        known = await self.known(model)
        price = price_words(known.price) if known is not None and known.price is not None else ""
        return AsideFacts(model=model.model, price=price)

    async def answer(self, turn: int, request: ModelRequest) -> AsideAnswer:
        """Return the answer, its cost on record. Raises `AgentError`. Cancelling closes the connection."""
        if await self.spending.why_stop(turn) is not None:
            raise AgentError("The session may not spend more.")
        model = self._model()
        provider = await self.provider_source(model)
        try:
            completion = await self._patiently(turn, provider, model, replace(request, model=model.model))
        finally:
            await provider.aclose()
        await self.log.record(ev.UsageReported(turn=turn, usage=completion.usage, model=model, is_aside=True))
        await self.spending.note(turn, completion.usage, model)
        text = "".join(block.text for block in completion.content if isinstance(block, TextBlock))
        return AsideAnswer(text=text, stop=completion.stop_reason)

    async def _patiently(self, turn: int, provider: Provider, model: ModelRef, request: ModelRequest) -> Completion:
        attempt = 1
        while True:
            try:
                return await reported_answer(self.log, provider, model, request, turn, "server")
            except ProviderError as error:
                await self.retries.wait(turn, attempt, error)
                attempt += 1

    def _model(self) -> ModelRef:
        model = self.state.transcript.session.model
        if model is None:
            raise AgentError("No model is chosen.")
        if model.provider == "demo":
            raise AgentError("The demo follows its script.")
        return model
