"""Results that do not say what kind they are: they count as complete, as the protocol wants of clients.

The version 2026-07-28 asks servers to say it, and clients to do without (SEP-2322). The SDK refuses such a result.
It also refuses a whole result for one content that it does not know, which is named instead. And it makes an object
of every entry of a list, however long, so that long ones are cut.
"""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context
from types import TracebackType
from typing import Self

from mcp.client._transport import ReadStream, TransportStreams  # what every transport of the SDK gives
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from desktop_agent.core.mcp.sdk.long_lists import cut_long_lists
from desktop_agent.core.mcp.sdk.unknown_contents import name_unknown_contents

Message = SessionMessage | Exception


@asynccontextmanager
async def completing(transport: AbstractAsyncContextManager[TransportStreams]) -> AsyncGenerator[TransportStreams]:
    """Give the streams of a transport, with every result saying what kind it is."""
    async with transport as (received, sent):
        yield _Completing(received), sent


class _Completing:
    """What is received, in the context that it came in."""

    def __init__(self, inner: ReadStream[Message]) -> None:
        self._inner = inner

    @property
    def last_context(self) -> Context | None:
        """The context of the sender, which the SDK looks for here."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Message:
        return _completed(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        return _completed(await self._inner.__anext__())

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)


def _completed(item: Message) -> Message:
    if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
        item.message.result.setdefault("resultType", "complete")
        cut_long_lists(item.message.result)
        name_unknown_contents(item.message.result)
    return item
