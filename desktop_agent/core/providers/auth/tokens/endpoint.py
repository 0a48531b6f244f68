"""One request to the address where a service hands out tokens: a form or JSON there, JSON back.

What goes there and what comes back are secrets: no error, log or representation made here quotes either, but for the
code that names the kind of refusal. The HTTP client is imported with the first request, in a thread.
"""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.web_address import address_of, is_readable_on_the_way
from desktop_agent.core.providers.faults import fault_of_status, network_error
from desktop_agent.core.system.network.connections import Proxy, proxy_for

if TYPE_CHECKING:
    import httpx2

ANSWER_S = 30.0
"""How long an answer is waited for."""

_CONNECT_S = 10.0
_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


class RefusedGrantError(Exception):
    """The service hands out nothing for what it was given. `code` is its word for why, empty when it gave none."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"HTTP {status} {code}".strip())
        self.status = status
        self.code = code


class TokenEndpoint:
    """The token endpoint of one service. Every request makes a connection of its own: there is one an hour."""

    def __init__(
        self,
        service: str,
        address: str,
        *,
        headers: Mapping[str, str] | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`service` is its name for people; `headers` go with every request."""
        self._service = service
        self._address = address
        self._headers = {"Accept": "application/json", "User-Agent": f"desktop-agent/{__version__}", **(headers or {})}
        self._environ = environ

    async def post_form(self, fields: Mapping[str, str]) -> bytes:
        """Return the answer to a form. Raises `RefusedGrantError`, and `ProviderError` when there is no answer."""
        async with self._client() as client:
            return await self._answer(client, client.build_request("POST", self._address, data=dict(fields)))

    async def post_json(self, fields: Mapping[str, str]) -> bytes:
        """Return the answer to a body of JSON. Raises what `post_form` raises."""
        async with self._client() as client:
            return await self._answer(client, client.build_request("POST", self._address, json=dict(fields)))

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator["httpx2.AsyncClient"]:
        if is_readable_on_the_way(self._address) or address_of(self._address) is None:
            raise ProviderError(
                f"Nothing was sent to {self._service}: the address of its sign-in is not encrypted.",
                fault="configuration",
                hint="Use an https:// address.",
            )
        client = await asyncio.to_thread(_made_client, proxy_for(self._address, self._environ), self._headers)
        async with client:
            yield client

    async def _answer(self, client: "httpx2.AsyncClient", request: "httpx2.Request") -> bytes:
        import httpx2

        try:
            response = await client.send(request)
        except ProviderError as error:
            raise self._unacceptable(error) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise self._unreachable(error) from None
        if response.is_success:
            return response.content
        fault = fault_of_status(response.status_code)
        if fault in ("server", "overloaded", "rate_limited"):
            raise ProviderError(
                f"{self._service} cannot answer a sign-in now.",
                fault=fault,
                hint="Try again in a moment.",
                detail=f"HTTP {response.status_code}",
            )
        raise RefusedGrantError(response.status_code, _code_in(response.content))

    def _unreachable(self, error: Exception) -> ProviderError:
        known = network_error(error, address_of(self._address) or self._service, self._proxy())
        return ProviderError(
            f"{self._service} could not be reached for the sign-in.",
            fault=known.fault,
            hint=known.hint,
            detail=known.detail,
        )

    def _unacceptable(self, error: ProviderError) -> ProviderError:
        return ProviderError(
            f"{self._service} gave no answer that a sign-in may have.",
            fault=error.fault,
            hint="Check the network, and a gateway or proxy in between.",
            detail=f"{error.title} {error.detail}".strip(),
        )

    def _proxy(self) -> Proxy | None:
        return proxy_for(self._address, self._environ)


def _made_client(proxy: Proxy | None, headers: Mapping[str, str]) -> "httpx2.AsyncClient":
    """Make a client, in a thread: the import and the certificates take a moment."""
    import httpx2

    from desktop_agent.core.system.network.http_client import model_client

    client = model_client(proxy=proxy, timeout=httpx2.Timeout(ANSWER_S, connect=_CONNECT_S))
    client.headers.update(dict(headers))
    return client


def _code_in(body: bytes) -> str:
    """Return the error code of a refusal: of RFC 6749 5.2, or of an object in its place. No description is read."""
    try:
        said: object = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return ""
    match said:
        case {"error": str(code)} | {"error": {"code": str(code)}} | {"error": {"type": str(code)}}:
            return code if _CODE.fullmatch(code) else ""
        case _:
            return ""
