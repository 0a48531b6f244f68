"""The provider protocol: one request in, a stream of pieces out, and one complete message at the end.

A provider only translates; the turn retries, executes and remembers.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager
from functools import partial
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import CallId, new_id
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog, RequestPurpose
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    CacheMiss,
    Flaw,
    ModelRef,
    ModelRequest,
    StopReason,
    TextBlock,
    Usage,
)


class Completion(Struct, frozen=True, kw_only=True):
    """The whole message, which is always the last piece of a stream. Calls with unusable arguments are `rejected`."""

    message_id: str
    content: tuple[AssistantBlock, ...]
    stop_reason: StopReason
    usage: Usage
    explanation: str = ""
    cache_miss: CacheMiss | None = None
    """The miss that the provider reported. `None` does not mean that the cache was used."""
    refused_effort: str = ""
    """The level of effort that the model refused, if this is the model's first answer without it."""
    mended: tuple[Flaw, ...] = ()
    type: Literal["completion"] = "completion"

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))


StreamPiece = ev.TextDelta | ev.ThinkingDelta | ev.ToolProgress | ev.HostedCallReported | Completion
"""A live event, whose `turn` and `at` are added when it is emitted; a `Completion` comes last."""


def writing_call(call_id: CallId, name: str, size: int) -> ev.ToolProgress:
    return ev.ToolProgress(call_id=call_id, name=name, message=f"Writing {name} ({size / 1000:.1f} kB)")


class Provider(Protocol):
    @property
    def label(self) -> str: ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamPiece]:
        """Yield the answer in pieces. The last one is a `Completion`. Safe to call again with the same request.

        Raises `ProviderError`, also for a stream that ends early. Cancelling closes the connection at once.
        """
        ...

    async def aclose(self) -> None:
        """Release the connections. Safe to call twice. `stream` must not be called afterwards."""
        ...


@runtime_checkable
class Counting(Protocol):
    """A provider whose address may count tokens and list its models. Both methods use the network."""

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return how many tokens the request takes; `None` if the address does not count. Raises `ProviderError`."""
        ...

    async def context_window(self, model: str) -> int | None:
        """Return the model's context window in tokens; `None` if it is unknown. Raises `ProviderError`."""
        ...


ProviderSource = Callable[[ModelRef], Awaitable[Provider]]
"""Builds the provider of a model. Raises `AgentError`, for example without a key."""


async def whole_answer(provider: Provider, request: ModelRequest) -> Completion:
    async with aclosing(provider.stream(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Completion):
                return piece
    raise ProviderError("The answer ended before it was complete.", fault="stream")


class ProviderPool:
    def __init__(self, source: ProviderSource, on_first: Callable[[ModelRef], Awaitable[None]]) -> None:
        """`on_first` is awaited once for each model, before the provider of the model is returned."""
        self._source = source
        self._on_first = on_first
        self._built: dict[ModelRef, Provider] = {}
        self._met: set[ModelRef] = set()

    async def get(self, model: ModelRef) -> Provider:
        """Return the provider of `model`, the same for every effort. Raises what its source raises."""
        model = model.bare
        if model not in self._built:
            self._built[model] = await self._source(model)
        if model not in self._met:
            self._met.add(model)
            await self._on_first(model)
        return self._built[model]

    def built(self, model: ModelRef) -> Provider | None:
        return self._built.get(model.bare)

    async def forget(self, model: ModelRef) -> None:
        if (provider := self._built.pop(model.bare, None)) is not None:
            await provider.aclose()

    def closers(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        return tuple(provider.aclose for provider in self._built.values())


class EarlyStart:
    """Keeps the process running that requests to the followed model need, if they need one."""

    def __init__(self, started: Callable[[ModelRef], AbstractAsyncContextManager[None]]) -> None:
        self._started = started
        self._model: ModelRef | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, model: ModelRef) -> None:
        """Start the process of `model`, and then let go of that of the model before. Returns at once."""
        if model.bare != self._model:
            self._model = model.bare
            task = asyncio.create_task(self._keep(model.bare, tuple(self._tasks)), name="early start")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _keep(self, model: ModelRef, before: tuple[asyncio.Task[None], ...]) -> None:
        async with self._started(model):
            for task in before:  # only now, because both models may need the same process
                task.cancel()
            await asyncio.get_running_loop().create_future()

    async def aclose(self) -> None:
        for task in (tasks := tuple(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


_SPREAD = 0.1
"""The largest addition to a requested wait, as a fraction of it, so that sessions do not all retry at once."""


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """Exponential backoff with jitter. Times are in seconds. The first request counts as a try, too."""

    max_tries: int = 5
    base_s: float = 1.0
    cap_s: float = 30.0
    retry_after_cap_s: float = 60.0

    def should_retry(self, error: ProviderError, attempt: int) -> bool:
        return error.is_transient and attempt < self.max_tries

    def delay_s(self, attempt: int, error: ProviderError, random: Callable[[], float]) -> float:
        """Return how long to wait after try number `attempt` (from 1); `random` returns a number from 0 to below 1.

        The wait that the server requests counts, up to `retry_after_cap_s`. Otherwise the wait doubles with each try.
        """
        asked = error.retry_after_s
        if asked is not None and asked > 0:
            return min(asked * (1 + _SPREAD * random()), self.retry_after_cap_s)
        doublings = min(max(attempt, 1) - 1, 64)  # 2.0**1024 would overflow
        full = min(self.base_s * 2.0**doublings, self.cap_s)
        return full * (1 + random()) / 2


TellAnswer = Callable[[Completion], None]


@contextmanager
def reported(log: EventLog, model: ModelRef, turn: int, purpose: RequestPurpose = "turn") -> Generator[TellAnswer]:
    """Emit events for one try of a request: its start and its end. Yields a function to call with the answer."""
    tell = partial(ev.ModelRequestReported, turn=turn, request_id=new_id("request"), model=model, purpose=purpose)
    is_over = False

    def answered(completion: Completion) -> None:
        nonlocal is_over
        is_over = True
        stop, usage = completion.stop_reason, completion.usage
        log.emit(tell(state="answered", message_id=completion.message_id, stop_reason=stop, usage=usage))

    log.emit(tell(state="sent"))
    try:
        yield answered
    except ProviderError as error:
        if not is_over:
            log.emit(tell(state="failed", fault=error.fault))
        raise
    except (asyncio.CancelledError, GeneratorExit):
        if not is_over:
            log.emit(tell(state="stopped"))
        raise
    else:
        if not is_over:
            log.emit(tell(state="failed", fault="stream"))


RetryWait = Callable[[int, int, ProviderError], Awaitable[None]]
"""Waits after a failed try (counted from 1) of a turn. Raises the error if another try makes no sense."""


async def answer_aside(
    log: EventLog,
    provider: Provider,
    model: ModelRef,
    request: ModelRequest,
    turn: int,
    purpose: RequestPurpose,
    wait: RetryWait | None = None,
) -> Completion:
    """Return the complete answer to a request outside the conversation, and record its usage.

    Raises `ProviderError`; with `wait`, only if another try makes no sense.
    """
    attempt = 1
    while True:
        try:
            with reported(log, model, turn, purpose) as answered:
                completion = await whole_answer(provider, request)
                answered(completion)
        except ProviderError as error:
            if wait is None:
                raise
            await wait(turn, attempt, error)
            attempt += 1
        else:
            await log.record(ev.UsageReported(turn=turn, usage=completion.usage, model=model, is_aside=True))
            return completion
