"""The way to the Messages API at one address: what goes with every request, and when an answer is a refusal.

Anthropic's SDK is not used: importing it takes a second and 70 MB, and of all it does only this was wanted.
"""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module

import httpx2

from desktop_agent.core.base.package import __version__
from desktop_agent.core.providers.anthropic.faults import RefusedError
from desktop_agent.core.system.network.client import model_client
from desktop_agent.core.system.network.proxies import Proxy

API_VERSION = "2026-10-21"

CONNECT_S = 10.0


class Connection:
    """Requests to one address with one key, each sent once. Belongs to one event loop."""

    def __init__(
        self,
        address: str,
        api_key: str,
        *,
        proxy: Proxy | None,
        silence_s: float,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Touches no network; certificates take some 20 ms. Raises `ProviderError` for a proxy of no use."""
        import_module("anyio._backends._asyncio")  # the first request would import it on the event loop
        self._address = address.rstrip("/")
        self._client = model_client(proxy=proxy, timeout=httpx2.Timeout(silence_s, connect=CONNECT_S))
        self._client.headers.update(
            {
                "Accept": "application/json",
                "User-Agent": f"desktop-agent/{__version__}",
                "Authorization": f"Bearer {api_key}",
                "anthropic-version": API_VERSION,
            }
        )
        self._client.headers.update(_custom_headers(environ))

    async def get(self, path: str, **parameters: int) -> bytes:
        """Return the whole answer. Raises what `stream` raises."""
        async with self._answer(self._client.build_request("GET", self._address + path, params=parameters)) as response:
            return await response.aread()

    async def post(self, path: str, body: bytes) -> bytes:
        """Return the whole answer to a body of JSON. Raises what `stream` raises."""
        async with self.stream(path, body) as response:
            return await response.aread()

    @asynccontextmanager
    async def stream(self, path: str, body: bytes) -> AsyncGenerator[httpx2.Response]:
        """Give the answer to a body of JSON, once it begins; it is closed at the end.

        Raises `RefusedError` for any status but success, `ProviderError` for an answer that is not acceptable, and
        what httpx2 raises. Nothing is sent twice: the turn decides that.
        """
        headers = {"Content-Type": "application/json"}
        request = self._client.build_request("POST", self._address + path, content=body, headers=headers)
        async with self._answer(request) as response:
            yield response

    async def aclose(self) -> None:
        """Let the connection go; an answer that still comes breaks off."""
        await self._client.aclose()

    @asynccontextmanager
    async def _answer(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Response]:
        try:
            response = await self._client.send(request, stream=True)
        except RuntimeError as error:  # it was closed meanwhile
            raise httpx2.ConnectError(str(error), request=request) from error
        try:
            if not response.is_success:
                await response.aread()
                raise RefusedError(response.status_code, response.headers, response.text.strip())
            yield response
        finally:
            await response.aclose()


def _custom_headers(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what `ANTHROPIC_CUSTOM_HEADERS` names, a header on each line, as other programs read it."""
    lines = (line.partition(":") for line in environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n"))
    return {name.strip(): value.strip() for name, colon, value in lines if colon}
