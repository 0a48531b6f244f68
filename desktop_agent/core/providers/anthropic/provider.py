"""The Anthropic provider: one request to the Messages API, one stream of pieces, one connection to close."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from desktop_agent.core.base.clock import Clock, SystemClock
from desktop_agent.core.base.web_address import address_of, has_userinfo, is_readable_on_the_way
from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.anthropic.faults import (
    FailedCall,
    bad_key,
    explain,
    explain_event,
    failures,
    not_the_api,
)
from desktop_agent.core.providers.anthropic.models import read_count, read_windows
from desktop_agent.core.providers.anthropic.request import EncodedPictures, encode_count, encode_request
from desktop_agent.core.providers.anthropic.stream import MessageBuilder, decode_event
from desktop_agent.core.providers.base import StreamPiece
from desktop_agent.core.providers.http_faults import address_with_password, bad_address, readable_by_proxy
from desktop_agent.core.providers.sse import event_data
from desktop_agent.core.system.network.proxies import proxy_for

if TYPE_CHECKING:
    from desktop_agent.core.providers.anthropic.connection import Connection

BASE_URL = "https://api.anthropic.com"

SILENCE_S = 120.0
"""How long a stream may send nothing at all. The API sends a ping every few seconds, so this is a dead connection."""

_DRAIN_S = 0.5
"""How long to wait, once the message is whole, for the end of the response that makes the connection reusable."""


class AnthropicProvider:
    """Claude, through the Messages API of Anthropic or of a gateway at `base_url`.

    Only the key it was given is sent, no credential that may lie around on the machine. It never retries; the turn
    does. Imports its HTTP client in a thread at first use, and belongs to one event loop.
    """

    label = "Anthropic"

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        allows_readable_proxy: bool = False,
        silence_s: float = SILENCE_S,
        clock: Clock | None = None,
    ) -> None:
        """`allows_readable_proxy` lets a proxy see what goes to an `http://` address; otherwise nothing is sent."""
        self._api_key = api_key.strip()
        self._base_url = (base_url or BASE_URL).strip()
        self._allows_readable_proxy = allows_readable_proxy
        self._silence_s = silence_s
        self._clock = clock or SystemClock()
        self._connection: Connection | None = None
        self._pictures = EncodedPictures()
        self._building = asyncio.Lock()
        self._is_closed = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamPiece]:
        """Yield the answer in pieces, a `Completion` last. Raises `ProviderError`.

        Cancelling the consumer closes the connection. One that stops consuming without being cancelled should close the
        generator (`contextlib.aclosing`).
        """
        call = self._call(request.model)
        connection = await self._ready()
        body = await asyncio.to_thread(encode_request, request, self._pictures)
        message = MessageBuilder()
        has_started = False
        try:
            async with connection.stream("/v1/messages", body) as response:
                has_started = True
                events = event_data(response.aiter_raw())
                async for data in events:
                    event = decode_event(data)
                    if event is None:
                        continue
                    if event["type"] == "error":
                        raise explain_event(event, call)
                    piece = message.add(event)
                    if piece is not None:
                        yield piece
                    if message.is_stopped:
                        await _drain(events)
                        break
                content_type = response.headers.get("content-type", "")
        except failures() as error:
            raise explain(error, call, now=self._clock.now(), has_started=has_started) from None
        if message.is_untouched and not content_type.startswith("text/event-stream"):
            raise not_the_api(call, f"content type: {content_type or 'none'}")
        yield message.completion()

    async def check_key(self) -> None:
        """Return if the key is accepted. Raises `ProviderError` otherwise. Asks for no answer, so it costs nothing."""
        await self._get_windows(limit=1)

    async def count_tokens(self, request: ModelRequest) -> int:
        """Return how many tokens the request takes, by the API's own count, which is free. Raises `ProviderError`."""
        call = self._call(request.model)
        connection = await self._ready()
        body = await asyncio.to_thread(encode_count, request, self._pictures)
        try:
            answer = await connection.post("/v1/messages/count_tokens", body)
        except failures() as error:
            raise explain(error, call, now=self._clock.now()) from None
        return read_count(answer, call)

    async def context_window(self, model: str) -> int | None:
        """Return the size of the model's window as the list of models has it. Raises `ProviderError`.

        A name without a date means the newest model of that name, as it does to the API.
        """
        windows = await self._get_windows(limit=1_000)  # the API's largest page, the newest first
        dated = (window for known, window in windows.items() if known.startswith(f"{model}-2"))
        return windows[model] if model in windows else next(dated, None)

    async def aclose(self) -> None:
        """Release connections; a stream that is still open fails. Safe to call twice."""
        self._is_closed = True
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.aclose()

    async def _get_windows(self, *, limit: int) -> Mapping[str, int | None]:
        call = self._call()
        connection = await self._ready()
        try:
            page = await connection.get("/v1/models", limit=limit)
        except failures() as error:
            raise explain(error, call, now=self._clock.now()) from None
        return read_windows(page, call)

    def _call(self, model: str | None = None) -> FailedCall:
        """Return what a call is about, or raise `ProviderError` if the configuration cannot work."""
        address = address_of(self._base_url)
        if address is None:
            raise bad_address()
        if has_userinfo(self._base_url):
            raise address_with_password()
        if not (self._api_key and self._api_key.isascii() and self._api_key.isprintable() and " " not in self._api_key):
            raise bad_key()
        proxy = proxy_for(self._base_url)
        if proxy is not None and is_readable_on_the_way(self._base_url) and not self._allows_readable_proxy:
            raise readable_by_proxy(address, proxy)
        return FailedCall(address=address, model=model, proxy=proxy, secrets=(self._api_key,))

    async def _ready(self) -> "Connection":
        """Return the connection, made in a thread at first: the import and the certificates take a moment."""
        async with self._building:
            if self._connection is None and not self._is_closed:
                self._connection = await asyncio.to_thread(self._build)
            if self._is_closed:
                await self.aclose()  # it was closed while the connection was being made
                raise RuntimeError("the provider is closed")
            assert self._connection is not None
            return self._connection

    def _build(self) -> "Connection":
        from desktop_agent.core.providers.anthropic.connection import Connection

        proxy = proxy_for(self._base_url)
        return Connection(self._base_url, self._api_key, proxy=proxy, silence_s=self._silence_s)


async def _drain(events: AsyncIterator[object]) -> None:
    """Read to the end of the response, if that comes soon. The message is whole: nothing can fail any more."""
    with suppress(TimeoutError, *failures()):
        async with asyncio.timeout(_DRAIN_S):
            async for _ in events:
                pass
