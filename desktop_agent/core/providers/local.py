"""Model servers on the user's own machine: where to look for them, which one answers, and its models.

Only usual addresses and those that the user named are asked. No key is sent: any program could be listening there.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from importlib import import_module
from typing import cast
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.web_address import has_userinfo, is_loopback
from desktop_agent.core.models.account import Account, accounts_of, usual_account
from desktop_agent.core.models.vendors import VENDORS, LocalServer, LocalSign, Vendor, local_sign
from desktop_agent.core.providers.auth.credential import NoCredential
from desktop_agent.core.providers.faults import FailedCall, RefusedError
from desktop_agent.core.providers.provider_catalog import account_provider

_ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - what a server listens on, which is this machine
_PORTS = {"http": 80, "https": 443}
_OLLAMAS_PORT = 11434


class Place(Struct, frozen=True, kw_only=True):
    provider: str
    address: str


def local_places(
    added: Iterable[Account], environ: Mapping[str, str], named: Mapping[str, str] | None = None
) -> tuple[Place, ...]:
    """Return all places on this machine where a server could run, in the order of the vendors.

    `added` are the user's accounts. Addresses in `named` come from the settings, and override a server's variable.
    """
    accounts = list(added)
    found: dict[Place, None] = {}
    for vendor in VENDORS:
        if vendor.local is None:
            continue
        usual = (named or {}).get(vendor.id, "") or host_address(vendor, environ) or vendor.address
        for account in accounts_of(vendor.id, accounts):
            address = usual if account.is_usual else account.where
            if is_here(address):
                found[Place(provider=vendor.id, address=address.rstrip("/"))] = None
    return tuple(found)


def is_here(address: str) -> bool:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    is_web = parts.scheme in ("http", "https") and not has_userinfo(address)
    return is_web and is_loopback(parts.hostname or "")


def host_address(vendor: Vendor, environ: Mapping[str, str]) -> str:
    """Return the address in the vendor's variable, parsed by Ollama's rules; empty if it is invalid.

    https://docs.ollama.com/faq
    """
    said = environ.get(vendor.local.host_variable, "").strip(" \t'\"") if vendor.local is not None else ""
    if not said:
        return ""
    scheme, colon, rest = said.partition("://")
    if not colon:
        scheme, rest = "http", said
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port or (_PORTS.get(scheme, _OLLAMAS_PORT) if colon else _OLLAMAS_PORT)
    except ValueError:
        return ""
    host = parts.hostname or "127.0.0.1"
    host = _ANY_HOST.get(host, f"[{host}]" if ":" in host else host)
    return f"{scheme}://{host}:{port}{parts.path.rstrip('/')}/v1"


LIMIT_S = 2.0

_CONNECTION = "desktop_agent.core.providers.http_connection"

_Get = Callable[[str], Awaitable[bytes]]
"""Returns a server's answer at a path. Raises `RefusedError` and `ProviderError`."""


async def look_for_servers(places: Iterable[Place], *, limit_s: float = LIMIT_S) -> tuple[LocalServer, ...]:
    """Look at all places at the same time. Never raises. Cancelling closes all connections."""
    return tuple(await asyncio.gather(*(look_at(place, limit_s=limit_s) for place in places)))


async def look_at(place: Place, *, limit_s: float = LIMIT_S) -> LocalServer:
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
    others = [vendor.id for vendor in VENDORS if vendor.is_local and vendor.id != found.provider]
    async with _connected(found.address, limit_s) as get:
        seen = await _asked(get, local_sign(found.provider))
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
            if (await _asked(get, local_sign(other))).is_it:
                return replace(found, state="other", instead=other)
    return replace(found, state="other")


class _Seen(Struct, frozen=True):
    status: int | None
    is_it: bool = False


async def _asked(get: _Get, sign: LocalSign) -> _Seen:
    try:
        answer: object = json.loads(await get(sign.path))
    except RefusedError as refused:
        return _Seen(refused.status)
    except ProviderError:
        return _Seen(None)
    except (ValueError, RecursionError):
        return _Seen(200)
    return _Seen(200, isinstance(answer, dict) and sign.member in cast("dict[str, object]", answer))


async def _with_models(found: LocalServer, limit_s: float) -> LocalServer:
    account = replace(usual_account(found.provider), address=found.address)
    try:
        async with aclosing(account_provider(account, NoCredential(), silence_s=limit_s)) as provider:
            listed = await provider.list_models()
    except ProviderError as error:
        return replace(found, state="locked" if error.fault == "authentication" else "silent")
    return replace(found, models=tuple(model.name for model in listed))


@asynccontextmanager
async def _connected(address: str, limit_s: float) -> AsyncGenerator[_Get]:
    """Yield a function that requests paths of an address over one connection, without a proxy or a key."""
    from desktop_agent.core.providers.http_connection import ApiConnection

    parts = urlsplit(address)
    root = f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/v1')}"
    connection = await asyncio.to_thread(ApiConnection, root, {}, proxy=None, silence_s=limit_s)

    async def get(path: str) -> bytes:
        try:
            return await connection.get(path, {})
        except connection.failures as error:
            raise connection.explain(error, FailedCall(address=root)) from None

    async with aclosing(connection):
        yield get
