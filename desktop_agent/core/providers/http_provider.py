"""A model behind HTTP: one request, one stream of pieces, one connection, for every wire format.

Imports its HTTP client at the first request. Server-sent events:
https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

import asyncio
import codecs
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.clock import Clock, SystemClock
from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.web_address import address_of, is_readable_on_the_way, why_no_address
from desktop_agent.core.context.history import is_readable_by, portable
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.known_model import KnownModel, ListedModel, found, levels_of, priced
from desktop_agent.core.models.model_catalog import ModelCatalog
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.protocol.model import AssistantMessage, Message, ModelRef, ModelRequest, Usage
from desktop_agent.core.providers.auth.credential import Credential
from desktop_agent.core.providers.faults import (
    ErrorEventError,
    FailedCall,
    RefusedError,
    bad_address,
    explain_refusal,
    not_the_api,
    readable_by_proxy,
    retry_after_s,
)
from desktop_agent.core.providers.provider import Completion, StreamPiece
from desktop_agent.core.providers.wire_format import EncodedPictures, MessageReader, WireFormat
from desktop_agent.core.system.network.connections import oversized, proxy_for

if TYPE_CHECKING:
    from desktop_agent.core.providers.http_connection import ApiConnection
    from desktop_agent.core.providers.sdk_connection import SdkConnection

MAX_EVENT_BYTES = 2 * 2**20
"""How many bytes an event may have. A block such as encrypted thinking can arrive as one large event."""


class EventReader:
    """The events of a stream: the data of each, including an unfinished last one.

    Some servers leave out the empty line between events, so a document that follows a whole one begins an event.
    Bytes that are not UTF-8 become lone surrogates.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[str] = []
        self._size = 0
        self._is_first = True
        self._is_after_return = False

    def add(self, piece: bytes) -> Iterator[str]:
        """Yield the data of the events that end in `piece`. Raises `ProviderError` for one above `MAX_EVENT_BYTES`."""
        # The second half of a line end that was cut in two is not a line.
        begin = 1 if self._is_after_return and piece.startswith(b"\n") else 0
        self._is_after_return = piece.endswith(b"\r") if piece else self._is_after_return
        for part in piece[begin:].splitlines(keepends=True):
            self._size += len(part)
            if self._size > MAX_EVENT_BYTES:
                raise oversized(f"an event of more than {MAX_EVENT_BYTES:,} bytes")
            self._line += part
            if not part.endswith((b"\n", b"\r")):
                continue
            whole = bytes(self._line.rstrip(b"\r\n")).removeprefix(codecs.BOM_UTF8 if self._is_first else b"")
            self._line.clear()
            self._is_first = False
            value = _data_in(whole)
            if self._data and self._data[-1].endswith("}") and value and value[0].startswith(("{", "[")):
                yield self._taken()
                self._size = len(part)
            self._data += value
            if not whole and self._data:  # comments and empty lines count as well: they must not come for ever
                yield self._taken()
                self._size = 0

    def end(self) -> Iterator[str]:
        yield from self.add(b"\n\n")

    def _taken(self) -> str:
        data, self._data = "\n".join(self._data), []
        return data


def _data_in(line: bytes) -> Sequence[str]:
    name, _, value = line.partition(b":")
    is_data = name in (b"data", b"error")  # llama.cpp reported errors in a field of that name
    return [value.removeprefix(b" ").decode(errors="surrogateescape")] if is_data else []


def strip_foreign_thinking(request: ModelRequest, to: ModelRef | None) -> ModelRequest:
    """Reduce other models' messages to what `to` can read. With `None`, `request` is returned unchanged."""
    if to is None or all(is_readable_by(message, to) for message in request.messages):
        return request
    messages: list[Message] = []
    stable = 0
    for index, message in enumerate(request.messages):
        if index == request.stable_messages:
            stable = len(messages)
        if is_readable_by(message, to):
            messages.append(message)
        elif isinstance(message, AssistantMessage) and (content := portable(message.content)):
            messages.append(replace(message, content=content))
    if request.stable_messages >= len(request.messages):
        stable = len(messages)
    return replace(request, messages=tuple(messages), stable_messages=stable)


SILENCE_S = 120.0

_DRAIN_S = 0.5


class ApiEndpoint(Struct, frozen=True, kw_only=True):
    account: Account
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: tuple[str, ...] = ()
    key_hint: str = ""
    allows_readable_proxy: bool = False
    """Whether a proxy may read requests to an `http://` address. Otherwise nothing is sent through a proxy."""
    silence_s: float = SILENCE_S
    model: ModelRef | None = None
    """The model that answers; it gets no other models' thinking. `None`: all thinking is sent."""
    models: ModelCatalog | None = None
    sdk: "SdkConnection | None" = None
    """How requests are sent if not by us. The provider counts as one of its users."""


class HttpProvider:
    """The models of one account, in one wire format. It never retries, and belongs to one event loop."""

    def __init__(
        self, wire: WireFormat, endpoint: ApiEndpoint, credential: Credential, *, clock: Clock | None = None
    ) -> None:
        self.label = endpoint.account.full_label
        self._wire = wire
        self._endpoint = endpoint
        self._address = endpoint.account.where.strip()
        self._credential = credential
        self._clock = clock or SystemClock()
        self._connection: ApiConnection | SdkConnection | None = None
        self._pictures = EncodedPictures()
        self._building = asyncio.Lock()
        self._is_closed = False
        self._without_effort: set[str] = set()
        """The models for which it was reported that they refuse the level of effort."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamPiece]:
        """Yield the answer in pieces, a `Completion` last. Raises `ProviderError`. Cancelling closes the connection."""
        call = self._call(request.model)
        connection = await self._ready()
        request = await self._adapted(request)
        reader = self._wire.reader()
        content_type = ""
        has_started = has_renewed = False
        while not has_started:
            headers = await self._headers()
            body = await asyncio.to_thread(self._wire.encode, request, self._pictures)
            try:
                # Closed here: the collector might close them while the connection closes, or after the event loop.
                async with (
                    connection.stream(self._wire.answers_path, body, headers) as response,
                    aclosing(response.aiter_raw()) as answer,
                    aclosing(answer_pieces(reader, answer, connection.failures)) as pieces,
                ):
                    has_started = True
                    content_type = response.headers.get("content-type", "")
                    async for piece in pieces:
                        yield piece
            except ErrorEventError as error:
                raise explain_refusal(error.refusal, self._call(request.model)) from None
            except RefusedError as error:
                has_renewed = await self._overcome(error, call, has_renewed=has_renewed)
            except connection.failures as error:
                raise connection.explain(error, call, has_started=has_started) from None
        if reader.is_untouched and not content_type.startswith("text/event-stream"):
            raise not_the_api(call, f"content type: {content_type or 'none'}")
        completion = await self._with_cost(reader.completion(), request.model)
        yield replace(completion, refused_effort=self._refused_effort(request))

    async def list_models(self) -> Sequence[ListedModel]:
        if not self._wire.models_path:
            await self.identity()  # the list is known, so this is what can fail
            return tuple(ListedModel(name=name) for name in vendor_of(self._endpoint.account.provider).models)
        page = await self._get(self._wire.models_path)
        return await asyncio.to_thread(self._wire.read_models, page, self._call())  # a router lists thousands

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return the API's own token count; `None` if the API does not count. Raises `ProviderError`."""
        if not self._wire.count_path:
            return None
        call = self._call(request.model)
        connection = await self._ready()
        request = await self._adapted(request)
        body = await asyncio.to_thread(self._wire.encode_count, request, self._pictures)
        try:
            answer = await connection.post(self._wire.count_path, body, await self._headers())
        except RefusedError as error:
            raise self._explained(error, call) from None
        except connection.failures as error:
            raise connection.explain(error, call) from None
        return self._wire.read_count(answer, call)

    async def identity(self) -> tuple[str, str]:
        """Return who asks a cloud, and its address; empty for other accounts. Asks no model. Raises `ProviderError`."""
        call, sdk = self._call(), self._endpoint.sdk
        if sdk is None:
            return "", ""
        await self._ready()
        try:
            found = await sdk.identity(await self._headers())
        except sdk.failures as error:
            raise sdk.explain(error, call) from None
        return found.who, found.address.rstrip("/")

    async def prepare(self) -> None:
        """Start what the first request would wait for. Never raises."""
        if self._endpoint.sdk is not None:
            await self._ready()
            with suppress(OSError):  # the request says so
                await self._endpoint.sdk.start()

    async def context_window(self, model: str) -> int | None:
        """Return the size of the model's context window, as known or listed by the address. Raises `ProviderError`."""
        if (known := await self._known(model)) is not None and known.context_tokens is not None:
            return known.context_tokens
        windows = {listed.name: listed.context_tokens for listed in await self.list_models()}
        name = found(model, windows)
        return windows[name] if name is not None else None

    async def aclose(self) -> None:
        """Release the connections. A stream that is still open fails. Safe to call twice."""
        self._is_closed = True
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.aclose()

    async def _get(self, path: str) -> bytes:
        call = self._call()
        connection = await self._ready()
        has_renewed = False
        while True:
            try:
                return await connection.get(path, await self._headers())
            except RefusedError as error:
                has_renewed = await self._overcome(error, call, has_renewed=has_renewed)
            except connection.failures as error:
                raise connection.explain(error, call) from None

    async def _with_cost(self, completion: Completion, name: str) -> Completion:
        if self._endpoint.model is None:
            return completion
        model, now = replace(self._endpoint.model, model=name), self._clock.now()
        models, account = self._endpoint.models, self._endpoint.account
        is_prepaid = account.kind == "oauth"  # a subscription covers the request

        def price() -> Usage:
            stated = models.stated_price(account, name) if models is not None else None
            return priced(completion.usage, model, now, address=self._address, is_prepaid=is_prepaid, stated=stated)

        return replace(completion, usage=await asyncio.to_thread(price))

    async def _adapted(self, request: ModelRequest) -> ModelRequest:
        request = strip_foreign_thinking(request, self._endpoint.model)
        known = await self._known(request.model) if request.effort else None
        if known is not None and request.effort not in levels_of(known):
            return replace(request, effort="")
        return request

    def _refused_effort(self, request: ModelRequest) -> str:
        if not request.effort or self._wire.sends_effort(request.model) or request.model in self._without_effort:
            return ""
        self._without_effort.add(request.model)
        return request.effort

    async def _known(self, model: str) -> KnownModel | None:
        models = self._endpoint.models
        return await asyncio.to_thread(models.model, self._endpoint.account, model) if models is not None else None

    async def _headers(self) -> dict[str, str]:
        return {**await self._credential.headers(), **self._endpoint.headers}

    async def _overcome(self, error: RefusedError, call: FailedCall, *, has_renewed: bool) -> bool:
        """Raise unless the request should be sent again. Return whether the credential has been renewed."""
        refusal = self._wire.refusal(error)
        if refusal.fault == "authentication" and not has_renewed and await self._credential.renew():
            return True
        if call.model is not None and self._wire.leave_out(refusal, call.model):
            return has_renewed
        raise self._explained(error, call) from None

    def _explained(self, error: RefusedError, call: FailedCall) -> ProviderError:
        known = self._call(call.model)  # with the token that was renewed meanwhile among the secrets
        return explain_refusal(self._wire.refusal(error), known, wait_s=retry_after_s(error.headers, self._clock.now()))

    def _call(self, model: str | None = None) -> FailedCall:
        given, sdk = self._address, self._endpoint.sdk
        if reason := why_no_address(given):
            raise bad_address(reason)
        address = address_of(given) or ""
        proxy = proxy_for(given)
        if proxy is not None and is_readable_on_the_way(given) and not self._endpoint.allows_readable_proxy:
            raise readable_by_proxy(address, proxy)
        return FailedCall(
            address=address,
            model=model,
            proxy=proxy,
            secrets=(*self._credential.secrets, *self._endpoint.secrets, *(sdk.secrets if sdk is not None else ())),
            key_hint=self._endpoint.key_hint,
            is_in_cloud=vendor_of(self._endpoint.account.provider).cloud is not None,
        )

    async def _ready(self) -> "ApiConnection | SdkConnection":
        async with self._building:
            if self._connection is None and not self._is_closed:
                self._connection = await asyncio.to_thread(self._build)
            if self._is_closed:
                await self.aclose()  # it was closed while the connection was being made
                raise RuntimeError("the provider is closed")
            assert self._connection is not None
            return self._connection

    def _build(self) -> "ApiConnection | SdkConnection":
        if self._endpoint.sdk is not None:
            return self._endpoint.sdk.used()
        from desktop_agent.core.providers.http_connection import ApiConnection

        proxy, silence_s = proxy_for(self._address), self._endpoint.silence_s
        return ApiConnection(self._address, self._wire.headers, proxy=proxy, silence_s=silence_s)


async def answer_pieces(
    reader: MessageReader, body: AsyncIterator[bytes], failures: tuple[type[Exception], ...] = ()
) -> AsyncGenerator[StreamPiece]:
    """Yield the pieces to show from the body of a response. Afterwards, `reader` has the message.

    Any of the `failures` is ignored after the end of the message.
    """
    events, has_events, document = EventReader(), False, bytearray()

    def read(found: Iterator[str]) -> Iterator[StreamPiece]:
        nonlocal has_events
        for data in found:
            has_events = True
            yield from reader.add(data)
            if reader.is_whole:
                return

    async for sent in body:
        for piece in read(events.add(sent)):
            yield piece
        if reader.is_whole:
            await _drain(body, failures)
            return
        if not has_events:
            document += sent
    for piece in read(events.end()):
        yield piece
    if document and not has_events:  # up to megabytes of JSON: read in a thread
        for piece in await asyncio.to_thread(reader.add_whole, bytes(document)):
            yield piece


async def _drain(body: AsyncIterator[bytes], failures: tuple[type[Exception], ...]) -> None:
    with suppress(TimeoutError, *failures):
        async with asyncio.timeout(_DRAIN_S):
            async for _ in body:
                pass
