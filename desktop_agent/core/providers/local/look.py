"""Looks what runs at places of this machine: one that answers is asked who it is, and then for its models.

No key is sent: what listens there may be anything. Where nothing listens, no HTTP client is imported.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import cast
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.vendors import VENDORS, LocalServer, LocalSign, vendor_of
from desktop_agent.core.providers.http.refusals import RefusedError, failures
from desktop_agent.core.providers.local.places import Place
from desktop_agent.core.providers.vendor_provider import keyed_provider

LIMIT_S = 2.0
"""How long each step may take: to listen, to say who it is, to list its models. All of it is on this machine."""

_CONNECTION = "desktop_agent.core.providers.http.connection"

_Get = Callable[[str], Awaitable[bytes]]
"""Returns what a server answers at a path."""


async def look_for_servers(places: Iterable[Place], *, limit_s: float = LIMIT_S) -> tuple[LocalServer, ...]:
    """Return what is at each place, all of them asked at once. Never raises; being cancelled closes all connections."""
    return tuple(await asyncio.gather(*(look_at(place, limit_s=limit_s) for place in places)))


async def look_at(place: Place, *, limit_s: float = LIMIT_S) -> LocalServer:
    """Return what is at one place. Never raises."""
    found = LocalServer(provider=place.provider, address=place.address, state="not_running")
    if not await _listens(place.address, limit_s):
        return found
    await asyncio.to_thread(import_module, _CONNECTION)  # takes longer than any server, so before the time runs
    try:
        async with asyncio.timeout(limit_s):
            found = await _recognised(found, limit_s)
        if found.state == "running":
            async with asyncio.timeout(limit_s):
                found = await _with_models(found, limit_s)
    except TimeoutError:
        return replace(found, state="silent")
    return found


async def _listens(address: str, limit_s: float) -> bool:
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(limit_s):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True


async def _recognised(found: LocalServer, limit_s: float) -> LocalServer:
    """Return who answers: the vendor that is looked for, or which other one, if it is any."""
    others = [vendor.id for vendor in VENDORS if vendor.is_local and vendor.id != found.provider]
    async with _connected(found.address, limit_s) as get:
        seen = await _asked(get, _sign_of(found.provider))
        if seen.is_it:
            return replace(found, state="running")
        match seen.status:
            case 401 | 403:
                return replace(found, state="locked")
            case 503:
                return replace(found, state="starting")
            case None:
                return replace(found, state="silent")
            case _:
                pass
        for other in others:
            if (await _asked(get, _sign_of(other))).is_it:
                return replace(found, state="other", instead=other)
    return replace(found, state="other")


class _Seen(Struct, frozen=True):
    status: int | None
    """`None` when it answers in no way that HTTP knows."""
    is_it: bool = False


async def _asked(get: _Get, sign: LocalSign) -> _Seen:
    """Return whether the vendor with this sign answers."""
    try:
        answer: object = json.loads(await get(sign.path))
    except RefusedError as refused:
        return _Seen(refused.status)
    except (*failures(), ProviderError):
        return _Seen(None)
    except (ValueError, RecursionError):
        return _Seen(200)
    return _Seen(200, isinstance(answer, dict) and sign.member in cast("dict[str, object]", answer))


async def _with_models(found: LocalServer, limit_s: float) -> LocalServer:
    provider = keyed_provider(found.provider, None, address=found.address, silence_s=limit_s)
    try:
        listed = await provider.list_models()
    except ProviderError as error:
        return replace(found, state="locked" if error.fault == "authentication" else "silent")
    finally:
        await provider.aclose()
    return replace(found, models=tuple(model.name for model in listed))


@asynccontextmanager
async def _connected(address: str, limit_s: float) -> AsyncGenerator[_Get]:
    """Give what asks the root of an address over one connection, without a proxy and without a key."""
    from desktop_agent.core.providers.http.connection import ApiConnection

    parts = urlsplit(address)
    root = f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/v1')}"
    connection = await asyncio.to_thread(ApiConnection, root, {}, proxy=None, silence_s=limit_s)
    try:
        yield lambda path: connection.get(path, {})
    finally:
        await connection.aclose()


def _sign_of(provider: str) -> LocalSign:
    sign = vendor_of(provider).local
    assert sign is not None, "only servers of this machine are looked for"
    return sign
