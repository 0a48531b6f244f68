"""HTTP connection to a model's API at one address: common headers, and the meaning of refusals and failures.

The vendors' SDKs are not used, because importing one takes a second and 70 MB.
"""

import socket
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module

import httpx2

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.package import __version__
from desktop_agent.core.providers.faults import FailedCall, RefusedError, bad_address, broken_off, refused_by_proxy
from desktop_agent.core.system.network.connections import Proxy, causes_of, names_of
from desktop_agent.core.system.network.http_client import model_client

CONNECT_S = 10.0

FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, UnicodeError, OSError)


def explain(error: Exception, call: FailedCall, *, has_started: bool = False) -> ProviderError:
    """Return what the user reads for one of the `FAILURES`. `has_started`: the answer had begun."""
    match error:
        case httpx2.TransportError() if has_started and not isinstance(error, httpx2.TimeoutException):
            return broken_off(f"the connection was lost: {type(error).__name__}")
        case httpx2.DecodingError() | UnicodeDecodeError() | httpx2.StreamError():
            return broken_off(f"the stream cannot be read: {type(error).__name__}")
        case _:
            return network_error(error, call.address, call.proxy)


def network_error(error: BaseException, address: str, proxy: Proxy | None = None) -> ProviderError:
    causes = list(causes_of(error))
    if known := next((cause for cause in causes if isinstance(cause, ProviderError)), None):
        return known
    if proxy is not None and (refusal := next((c for c in causes if isinstance(c, httpx2.ProxyError)), None)):
        status = str(refusal).partition(" ")[0]
        return refused_by_proxy(proxy, int(status) if status.isdecimal() and len(status) == 3 else None)
    if any(isinstance(cause, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)) for cause in causes):
        return bad_address(detail=names_of(causes))
    if any(isinstance(cause, (httpx2.LocalProtocolError, UnicodeEncodeError)) for cause in causes):
        return ProviderError(
            "The request could not be sent.",
            fault="invalid_request",
            hint="A custom header for the model's address is malformed. Correct it or remove it.",
            detail=names_of(causes),
        )
    title, hint = _unreachable(causes, address)
    if proxy is not None:
        hint = f"{hint} The connection goes through the proxy {proxy.address} ({proxy.named_by})."
        if any(isinstance(cause, socket.gaierror | ConnectionRefusedError) for cause in causes):
            title = f"The proxy {proxy.address} could not be reached."
            hint = f"Start the proxy, or correct or unset {proxy.named_by}. The model at {address} was not reached."
    return ProviderError(title, fault="network", hint=hint, detail=f"{address}: {names_of(causes)}")


def _unreachable(causes: list[BaseException], address: str) -> tuple[str, str]:
    title = "The model's address could not be reached."
    for cause in causes:
        match cause:
            case socket.gaierror():
                return title, f"The name in {address} is unknown. Check the address and the network connection."
            case ssl.SSLError():
                return title, f"The connection to {address} is not trusted. Check the clock, the proxy and the address."
            case httpx2.ReadTimeout() | httpx2.WriteTimeout():
                return "The model stopped answering.", "Try again. If it stays silent, check the network."
            case ConnectionRefusedError():
                return title, f"Nothing listens at {address}. Start the server, or check the address."
            case _:
                pass
    return title, f"Check the network connection and the address {address}."


def token_client(address: str, proxy: Proxy | None, headers: Mapping[str, str], answer_s: float) -> httpx2.AsyncClient:
    client = model_client(address, proxy=proxy, timeout=httpx2.Timeout(answer_s, connect=CONNECT_S))
    client.headers.update(dict(headers))
    return client


class ApiConnection:
    """Requests to one address with one key, each sent once. Belongs to one event loop."""

    failures = FAILURES
    explain = staticmethod(explain)

    def __init__(self, address: str, headers: Mapping[str, str], *, proxy: Proxy | None, silence_s: float) -> None:
        """Uses no network. Raises `ProviderError` for an unusable proxy."""
        import_module("anyio._backends._asyncio")  # the first request would import it on the event loop
        self._address = address.rstrip("/")
        self._client = model_client(address, proxy=proxy, timeout=httpx2.Timeout(silence_s, connect=CONNECT_S))
        self._client.headers.update({"Accept": "application/json", "User-Agent": f"desktop-agent/{__version__}"})
        self._client.headers.update(headers)

    async def get(self, path: str, headers: Mapping[str, str]) -> bytes:
        request = self._client.build_request("GET", self._address + path, headers=dict(headers))
        async with self._answer(request) as response:
            return await response.aread()

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        async with self.stream(path, body, headers) as response:
            return await response.aread()

    @asynccontextmanager
    async def stream(self, path: str, body: bytes, headers: Mapping[str, str]) -> AsyncGenerator[httpx2.Response]:
        """Post a JSON body and yield the response once it begins. The response is closed after the block.

        Raises `RefusedError` for a status other than success, `ProviderError`, and exceptions of httpx2.
        """
        headers = {"Content-Type": "application/json", **headers}
        request = self._client.build_request("POST", self._address + path, content=body, headers=headers)
        async with self._answer(request) as response:
            yield response

    async def aclose(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def _answer(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Response]:
        try:
            response = await self._client.send(request, stream=True)
        except RuntimeError as error:  # it was closed meanwhile
            raise httpx2.ConnectError(str(error), request=request) from error
        try:
            if not response.is_success:
                # As UTF-8, whatever charset it names: some of Python's codecs, such as zlib, are not charsets.
                text = (await response.aread()).decode(errors="replace").strip()
                raise RefusedError(response.status_code, response.headers, text)
            yield response
        finally:
            await response.aclose()
