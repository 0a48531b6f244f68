"""How full the context is: estimated at once, and corrected by what a provider reports or counts."""

import asyncio
import logging
from collections.abc import Coroutine

from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.context.tokens import Calibration, request_tokens
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import CacheMiss, ContextUse, ModelRef, ModelRequest, Usage
from desktop_agent.core.providers.provider import Counting, Provider
from desktop_agent.core.tools.access import ToolOffer


class Caching:
    def __init__(self) -> None:
        self._last: tuple[ModelRef, Usage] | None = None

    def missed(self, model: ModelRef, usage: Usage, told: CacheMiss | None) -> CacheMiss | None:
        """Return why the cache was not used for a request, as the provider `told`; `None` if it was.

        If the provider told nothing, the cache counts as missed when the same model had cached or read something before
        and read nothing now.
        """
        last, self._last = self._last, (model, usage)
        if told is not None:
            return told
        if last is None or last[0] != model or usage.cache_read_tokens:
            return None
        kept = last[1].cache_read_tokens + last[1].cache_write_tokens
        # A request that is smaller than what was kept may not have begun with it.
        return CacheMiss(reason="unknown", tokens=kept) if 0 < kept <= usage.all_input_tokens else None


logger = logging.getLogger(__name__)


class Meter:
    """Measures the requests of one session. Nothing here ever makes a turn wait for the network."""

    def __init__(self, log: EventLog, calibration: Calibration) -> None:
        self._log = log
        self._calibration = calibration
        self._asking: set[asyncio.Task[None]] = set()
        self.caching = Caching()
        self.use: ContextUse | None = None
        self.offer = ToolOffer(definitions=(), listing="")

    def tokens(self, request: ModelRequest, model: ModelRef) -> int:
        return round(request_tokens(request) * self._calibration.ratio(model))

    def ratio(self, model: ModelRef) -> float:
        return self._calibration.ratio(model)

    def know_window(self, model: ModelRef, window: int | None) -> None:
        if window is not None:
            self._calibration.windows[model.bare] = window

    def window(self, model: ModelRef, default: int) -> int:
        return self._calibration.windows.get(model.bare, default)

    def report_estimate(self, request: ModelRequest, model: ModelRef, window: int) -> int:
        tokens = self.tokens(request, model)
        self._report(ContextUse(tokens=tokens, window=window, source="estimated"))
        return tokens

    def report_usage(self, request: ModelRequest, usage: Usage, model: ModelRef, window: int) -> None:
        """Report how full the context is after an answer, and learn from it. An empty usage is ignored."""
        reported = usage.context_tokens - usage.output_tokens
        if reported <= 0:
            return
        self._calibration.learn(model, estimated=request_tokens(request), reported=reported)
        self._report(ContextUse(tokens=usage.context_tokens, window=window, source="reported"))

    def report_known(self, tokens: int, window: int) -> None:
        self._report(ContextUse(tokens=tokens, window=window, source="reported"))

    def count(self, request: ModelRequest, model: ModelRef, provider: Provider, window: int) -> None:
        if isinstance(provider, Counting):
            self._start(self._count(request, model, provider, window))

    def ask_for_window(self, model: ModelRef, provider: Provider) -> None:
        model, known = model.bare, self._calibration
        if model not in known.windows and model not in known.asked and isinstance(provider, Counting):
            known.asked.add(model)
            self._start(self._ask_for_window(model, provider))

    async def aclose(self) -> None:
        for task in self._asking:
            task.cancel()
        if self._asking:
            await asyncio.wait(self._asking)

    def _start(self, question: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(question, name="context meter")
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _count(self, request: ModelRequest, model: ModelRef, provider: Counting, window: int) -> None:
        before = self.use
        try:
            tokens = await provider.count_tokens(request)
        except ProviderError as error:
            logger.info("Tokens were not counted: %s", error.title)
            return
        if tokens is None:
            return
        self._calibration.learn(model, estimated=request_tokens(request), reported=tokens)
        if self.use is before:  # else a newer value was reported meanwhile
            self._report(ContextUse(tokens=tokens, window=window, source="counted"))

    async def _ask_for_window(self, model: ModelRef, provider: Counting) -> None:
        is_answered = False
        try:
            window = await provider.context_window(model.model)
            is_answered = True
        except ProviderError as error:
            logger.info("The window of %s is not known: %s", model.model, error.title)
            is_answered = not error.is_transient
            return
        finally:
            if not is_answered:
                self._calibration.asked.discard(model)
        if window:
            self._calibration.windows[model] = window
            if self.use is not None:
                self._report(ContextUse(tokens=self.use.tokens, window=window, source=self.use.source))

    def _report(self, use: ContextUse) -> None:
        tokens = round(self.offer.server_tokens)
        use = replace(use, server_tool_tokens=tokens, deferred_tools=len(self.offer.deferred))
        if use != self.use:
            self.use = use
            self._log.emit(ev.ContextMeasured(use=use))
