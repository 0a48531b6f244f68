"""The way to a model's API at one address: what goes with every request, and when an answer is a refusal.

The vendors' SDKs are not used: importing one takes a second and 70 MB, and of all they do only this was wanted.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module

import httpx2

from desktop_agent.core.base.package import __version__
from desktop_agent.core.providers.faults import RefusedError
from desktop_agent.core.system.network.connections import Proxy
from desktop_agent.core.system.network.http_client import model_client

CONNECT_S = 10.0


class ApiConnection:
    """Requests to one address with one key, each sent once. Belongs to one event loop."""

    def __init__(self, address: str, headers: Mapping[str, str], *, proxy: Proxy | None, silence_s: float) -> None:
        """`headers` go with every request. Touches no network. Raises `ProviderError` for a proxy of no use."""
        import_module("anyio._backends._asyncio")  # the first request would import it on the event loop
        self._address = address.rstrip("/")
        self._client = model_client(proxy=proxy, timeout=httpx2.Timeout(silence_s, connect=CONNECT_S))
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
        """Give the answer to a body of JSON once it begins; it is closed at the end. Nothing is sent twice.

        Raises `RefusedError` for a status other than success, `ProviderError`, and what httpx2 raises.
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
                # As UTF-8, whatever charset it names: Python has some, such as zlib, that are none.
                text = (await response.aread()).decode(errors="replace").strip()
                raise RefusedError(response.status_code, response.headers, text)
            yield response
        finally:
            await response.aclose()
