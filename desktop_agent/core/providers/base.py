"""The provider protocol: one request in, a stream of pieces out, and one complete message at the end.

A provider translates; it does not retry, execute or remember. The turn does all three, the same way for every
provider, so `stream` must be safe to call again with the same request after it failed.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    CacheMiss,
    HostedCall,
    ModelRef,
    ModelRequest,
    StopReason,
    Usage,
)


class TextChunk(Struct, frozen=True, kw_only=True):
    """More text of the answer."""

    text: str
    type: Literal["text"] = "text"


class ThinkingChunk(Struct, frozen=True, kw_only=True):
    """More visible thinking."""

    text: str
    type: Literal["thinking"] = "thinking"


class ToolInputChunk(Struct, frozen=True, kw_only=True):
    """The model is still writing the arguments of a call: `size` characters so far."""

    call_id: CallId
    name: str
    size: int
    type: Literal["tool_input"] = "tool_input"


class HostedCallChunk(Struct, frozen=True, kw_only=True):
    """The provider's own tool began, or ended."""

    call: HostedCall
    type: Literal["hosted_call"] = "hosted_call"


class Completion(Struct, frozen=True, kw_only=True):
    """The whole message. Always the last piece of a stream; a stream without it failed.

    Tool calls whose JSON did not parse strictly to an object carry `rejected` and empty arguments.
    """

    message_id: str
    content: tuple[AssistantBlock, ...]
    stop_reason: StopReason
    usage: Usage
    explanation: str = ""
    """Why the model declined, in the provider's words, if it says."""
    cache_miss: CacheMiss | None = None
    """As far as the provider tells: `None` does not say that its cache was used."""
    refused_effort: str = ""
    """The level of effort that was refused, so that this is the first answer of the model without it."""
    type: Literal["completion"] = "completion"


StreamPiece = TextChunk | ThinkingChunk | ToolInputChunk | HostedCallChunk | Completion


class Provider(Protocol):
    """A source of model answers."""

    @property
    def label(self) -> str:
        """What people call it: `Anthropic`, `Demo`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamPiece]:
        """Yield the answer in pieces, a `Completion` last.

        Raises `ProviderError` for everything that can go wrong on the way, including a stream that ends early; a
        partial tool call never becomes a `Completion`. Cancelling the consuming task closes the connection at once.
        """
        ...

    async def aclose(self) -> None:
        """Release connections. Safe to call twice; `stream` may not be called afterwards."""
        ...


@runtime_checkable
class Counting(Protocol):
    """What a provider has besides, when its address counts tokens and knows its models. Both ask over the network."""

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return how many tokens the request takes as input, without asking for an answer. Raises `ProviderError`.

        `None` when the address counts none.
        """
        ...

    async def context_window(self, model: str) -> int | None:
        """Return the size of the model's window, or `None` when the address does not say. Raises `ProviderError`."""
        ...


ProviderSource = Callable[[ModelRef], Awaitable[Provider]]
"""Builds the provider of a model. Raises `AgentError` when it cannot: no key, unknown provider."""


async def whole_answer(provider: Provider, request: ModelRequest) -> Completion:
    """Return the whole answer to a request beside the conversation, of which nothing is shown before its end.

    Raises `ProviderError`. Cancelling closes the connection.
    """
    async with aclosing(provider.stream(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Completion):
                return piece
    raise ProviderError("The answer ended before it was complete.", fault="stream")
