"""How connections go: through which proxy, how large an answer may be, and why one failed. No HTTP library."""

import ipaddress
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import SplitResult, urlsplit

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.web_address import address_of, is_loopback

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """One proxy. Its representation and `address` never show the user name or the password."""

    url: str = field(repr=False)
    address: str
    named_by: str
    """The environment variable, or where else the proxy is configured."""


def proxy_for(url: str, environ: Mapping[str, str] = os.environ) -> Proxy | None:
    """Return the proxy for `url`, or None for a direct connection. Raises `ProviderError` for one of no use."""
    target = urlsplit(url)
    host = target.hostname or ""
    if is_loopback(host):
        return None
    found = _named(target.scheme, environ)
    if found is None or _is_exempt(target, environ):
        return None
    named_by, value = found
    value = value if "://" in value else f"http://{value}"
    address = address_of(value)
    if address is None:
        raise unusable_proxy(named_by)
    return Proxy(url=value, address=address, named_by=named_by)


def unusable_proxy(named_by: str) -> ProviderError:
    """The proxy that is configured is none that we can use."""
    return ProviderError(
        f"The proxy in {named_by} cannot be used.",
        fault="configuration",
        hint=f"Set {named_by} to http://host:port or https://host:port, or unset it. SOCKS proxies are not supported.",
    )


def _named(scheme: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return who names a proxy for `scheme`, and the proxy."""
    for name in (f"{scheme}_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            # A web server passes on a request's `Proxy` header as HTTP_PROXY: https://httpoxy.org
            if variable == "HTTP_PROXY" and "REQUEST_METHOD" in environ:
                continue
            if variable in environ:
                if value := environ[variable].strip():
                    return variable, value
                break  # the lower-case name, set to nothing, takes the other back
    if sys.platform in ("win32", "darwin"):
        import urllib.request  # slow, and of no use elsewhere

        if not urllib.request.getproxies_environment():
            value = urllib.request.getproxies().get(scheme)
            return ("the system's settings", value) if value else None
    return None


def _is_exempt(target: SplitResult, environ: Mapping[str, str]) -> bool:
    host = (target.hostname or "").rstrip(".").lower()
    port = target.port or _PORTS.get(target.scheme, 0)
    entries = environ.get("no_proxy", environ.get("NO_PROXY", "")).replace(",", " ").split()
    return any(_covers(entry.lower(), host, port) for entry in entries)


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of `no_proxy` means this host: `*`, a name and all below it, an address, or a network."""
    if entry == "*":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name, _, wanted = entry.partition("://")[2].rpartition(":") if "://" in entry else entry.rpartition(":")
        if not wanted.isdigit():
            name, wanted = (entry.partition("://")[2] or entry), ""
        name = name.removeprefix("*").lstrip(".")
        return bool(name) and (not wanted or int(wanted) == port) and (host == name or host.endswith(f".{name}"))
    try:
        network = ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return entry in (f"{host}:{port}", f"[{host}]:{port}")
    return address.version == network.version and address in network


MAX_CHARS = 4_000_000
"""How much text, thinking and arguments of calls one answer may have together."""
MAX_BLOCKS = 1_000
"""How many parts one answer may have."""
MAX_CALLS = 200
"""How many of them may be calls."""
MAX_NAME_CHARS = 1_000
"""The longest name or id of a call; APIs take 128."""
MAX_STREAM_BYTES = 64 * 2**20
"""The longest streamed answer: a million tokens, one event each, come to less."""
MAX_BODY_BYTES = 4 * 2**20
"""The longest answer that is read as a whole, such as a list of models."""
MAX_ERROR_BYTES = 64 * 2**10
"""How much is read of an answer that refuses; a page of a proxy may be longer, and its beginning is enough."""
MAX_STREAM_S = 3600.0
"""The longest time that an answer may take."""


def oversized(detail: str) -> ProviderError:
    """The answer is beyond every bound."""
    return ProviderError(
        "The answer was broken off: it is larger than any model's answer.",
        fault="unacceptable",
        hint="Check the model's address, or use another model. Nothing of the answer was acted on.",
        detail=detail,
    )


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and what caused it.

    httpcore2 keeps the original as an argument of its own exception. Contexts are left out: a caller that tries again
    while it handles the last failure would find that failure here.
    """
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        inner: tuple[object, ...] = current.args
        if isinstance(current, BaseExceptionGroup):  # a name with several addresses, all of which failed
            inner = cast("BaseExceptionGroup[BaseException]", current).exceptions
        waiting += [cause for cause in (current.__cause__, *inner) if isinstance(cause, BaseException)]


def names_of(causes: list[BaseException]) -> str:
    """Return the causes by type and error number only: a message may quote a header."""
    names = (
        f"{type(cause).__name__} {cause.errno}" if isinstance(cause, OSError) and cause.errno else type(cause).__name__
        for cause in causes
    )
    return " < ".join(dict.fromkeys(names))
