"""Where an address leads, through which proxy (curl's rules), limits of answers, and why a connection failed."""

import asyncio
import ipaddress
import os
import socket
import sys
import unicodedata
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Literal, cast
from urllib.parse import SplitResult, urlsplit

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.secrets import Discreet
from desktop_agent.core.base.web_address import IpAddress, address_in, address_of, is_loopback

_PORTS = {"http": 80, "https": 443}


class Proxy(Discreet, frozen=True, kw_only=True):
    """A proxy. Its `repr` and `address` never show the user name or the password."""

    SHOWN = ("address", "named_by")

    url: str
    address: str
    named_by: str


def proxy_for(url: str, environ: Mapping[str, str] = os.environ) -> Proxy | None:
    """Return the proxy for an address; None for a direct connection. Raises `ProviderError` for an unusable proxy."""
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
    return ProviderError(
        f"The proxy in {named_by} cannot be used.",
        fault="configuration",
        hint=f"Set {named_by} to http://host:port or https://host:port, or unset it. SOCKS proxies are not supported.",
    )


def _named(scheme: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    for name in (f"{scheme}_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            # A web server passes on a request's `Proxy` header as HTTP_PROXY: https://httpoxy.org
            if variable == "HTTP_PROXY" and "REQUEST_METHOD" in environ:
                continue
            if variable in environ:
                if value := environ[variable].strip():
                    return variable, value
                break  # an empty lower-case variable overrides the upper-case one
    if sys.platform in ("win32", "darwin"):
        import urllib.request  # slow to import, and only needed on these systems

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
    """Whether an entry of `no_proxy` covers a host. The entry is `*`, a domain, an address, or a network."""
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
MAX_BLOCKS = 1_000
MAX_CALLS = 200
MAX_NAME_CHARS = 1_000
"""The longest name or id of a call. APIs accept 128 characters."""
MAX_STREAM_BYTES = 64 * 2**20
MAX_BODY_BYTES = 4 * 2**20
MAX_ERROR_BYTES = 64 * 2**10
MAX_STREAM_S = 3600.0


def oversized(detail: str) -> ProviderError:
    return ProviderError(
        "The answer was broken off: it is larger than any model's answer.",
        fault="unacceptable",
        hint="Check the model's address, or use another model. Nothing of the answer was acted on.",
        detail=detail,
    )


def causes_of(error: BaseException) -> Iterator[BaseException]:
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
    names = (
        f"{type(cause).__name__} {cause.errno}" if isinstance(cause, OSError) and cause.errno else type(cause).__name__
        for cause in causes
    )
    return " < ".join(dict.fromkeys(names))


Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host, in the order to try them. Raises `OSError` when it has none."""

Reach = Literal["public", "local", "closed"]
"""`local`: in a private network. `closed`: this machine, or a service only for it, such as a cloud's credentials."""

_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # protocol assignments; some Pythons count parts of them as global
            "192.88.99.0/24",  # 6to4 relays
            "64:ff9b:1::/48",  # translation inside a network
            "2001::/23",  # protocol assignments, Teredo among them
            "fec0::/10",  # local sites, before fc00::/7
        ),
    )
)
_OF_CREDENTIALS = frozenset(
    map(
        ipaddress.ip_address,
        (
            "169.254.169.254",  # Amazon, Google, Azure, DigitalOcean, Hetzner, OpenStack, Oracle and more
            "169.254.170.2",  # Amazon's containers
            "169.254.170.23",
            "fd00:ec2::254",  # Amazon
            "fd00:ec2::23",
            "fd20:ce::254",  # Google
            "fd00:a9fe:a9fe::1",  # Linode
            "fd00:42::42",  # Scaleway
            "169.254.42.42",
            "169.254.0.23",  # Tencent
            "100.100.100.200",  # Alibaba
            "192.0.0.192",  # Oracle, formerly
            "168.63.129.16",  # Azure's agent, at an address that looks public
        ),
    )
)

_NAMES_OF_CREDENTIALS = frozenset(
    (
        "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
        "metadata.tencentyun.com", "metadata.azure.internal", "metadata.internal",
    )
)  # fmt: skip
"""Host names of some of these addresses. They are listed because a proxy resolves names itself, unseen by us."""

_TRANSLATED, _TRANSLATED_LOCALLY = ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48")
_COMPATIBLE, _RENUMBERED = ipaddress.IPv6Network("::/96"), ipaddress.IPv6Network("::ffff:0:0:0/96")
_IN_A_SITE = (0x00005EFE, 0x02005EFE)


def reach_of(address: IpAddress) -> Reach:
    carried = _carried(address) if isinstance(address, ipaddress.IPv6Address) else ()
    reaches = {reach_of(inner) for inner in carried}
    own = _own_reach(address, is_carrying=bool(carried))
    return next(reach for reach in ("closed", "local", "public") if reach in {own, *reaches})


def is_public(address: IpAddress) -> bool:
    return reach_of(address) == "public"


def hands_out_credentials(host: str) -> bool:
    # A resolver normalizes names: `①⑥⑨。254.169.254` is an address, too. `。` is a dot.
    name = unicodedata.normalize("NFKC", host).replace("\u3002", ".").rstrip(".").lower().strip("[]")
    if name in _NAMES_OF_CREDENTIALS:
        return True
    address = address_in(name)
    if address is None:
        return False
    carried = _carried(address) if isinstance(address, ipaddress.IPv6Address) else ()
    return not _OF_CREDENTIALS.isdisjoint((address, *carried))


def _own_reach(address: IpAddress, *, is_carrying: bool) -> Reach:
    if address in _OF_CREDENTIALS or address.is_loopback or address.is_unspecified or address.is_link_local:
        return "closed"
    if isinstance(address, ipaddress.IPv6Address) and is_carrying:
        # The embedded address decides. Embedding forms that are no longer routed are always refused.
        is_old = address in _COMPATIBLE or address in _RENUMBERED
        is_routed = address in _TRANSLATED or address.ipv4_mapped is not None or address.sixtofour is not None
        return "closed" if is_old else "public" if is_routed else "local"
    if address.is_multicast or address.is_reserved:
        return "closed"
    listed = any(address in network for network in _NOT_PUBLIC if network.version == address.version)
    return "public" if address.is_global and not listed else "local"


def _carried(address: ipaddress.IPv6Address) -> tuple[ipaddress.IPv4Address, ...]:
    number = int(address)
    if address in (ipaddress.IPv6Address("::"), ipaddress.IPv6Address("::1")):
        return ()
    last = ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if address.ipv4_mapped is not None or any(address in net for net in (_TRANSLATED, _COMPATIBLE, _RENUMBERED)):
        return (last,)
    if address in _TRANSLATED_LOCALLY:  # RFC 6052: at the end, or around the bits that stay empty
        around = (number >> 64 & 0xFFFF) << 16 | number >> 40 & 0xFFFF
        return (last, ipaddress.IPv4Address(around))
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if (number >> 32) & 0xFFFFFFFF in _IN_A_SITE:
        return (last,)
    return ()


async def system_resolver(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
