"""Where addresses lead, and which addresses a name has: a name can lead anywhere, even to this machine."""

import asyncio
import ipaddress
import socket
import unicodedata
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Literal

from desktop_agent.core.base.web_address import IpAddress, address_in

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host, in the order to try them. Raises `OSError` when it has none."""

Reach = Literal["public", "local", "closed"]
"""`local`: a private network. `closed`: this machine, and what answers only it, such as a cloud's credentials."""

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
"""Where clouds hand out credentials to whoever asks from the machine."""

_NAMES_OF_CREDENTIALS = frozenset(
    (
        "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
        "metadata.tencentyun.com", "metadata.azure.internal", "metadata.internal",
    )
)  # fmt: skip
"""Names of some of them: a proxy resolves names where we cannot see it."""

_TRANSLATED, _TRANSLATED_LOCALLY = ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48")
_COMPATIBLE, _RENUMBERED = ipaddress.IPv6Network("::/96"), ipaddress.IPv6Network("::ffff:0:0:0/96")
_IN_A_SITE = (0x00005EFE, 0x02005EFE)
"""How the second half of an ISATAP address begins, which carries an IPv4 one through a site."""


def reach_of(address: IpAddress) -> Reach:
    """Say where `address` leads, even if it is an IPv6 address that carries an IPv4 one."""
    carried = _carried(address) if isinstance(address, ipaddress.IPv6Address) else ()
    reaches = {reach_of(inner) for inner in carried}
    own = _own_reach(address, is_carrying=bool(carried))
    return next(reach for reach in ("closed", "local", "public") if reach in {own, *reaches})


def is_public(address: IpAddress) -> bool:
    """Whether `address` belongs to the public internet."""
    return reach_of(address) == "public"


def hands_out_credentials(host: str) -> bool:
    """Whether `host`, a name or an address in any form, itself is a service that hands out a cloud's credentials."""
    # A resolver reads other writings of a name alike: `①⑥⑨。254.169.254`, where `。` is a dot, too.
    name = unicodedata.normalize("NFKC", host).replace("\u3002", ".").rstrip(".").lower().strip("[]")
    if name in _NAMES_OF_CREDENTIALS:
        return True
    address = address_in(name)
    return address is not None and any(one in _OF_CREDENTIALS for one in _all_of(address))


def _own_reach(address: IpAddress, *, is_carrying: bool) -> Reach:
    if address in _OF_CREDENTIALS or address.is_loopback or address.is_unspecified or address.is_link_local:
        return "closed"
    if isinstance(address, ipaddress.IPv6Address) and is_carrying:
        # The address it carries decides; but forms that nobody routes any more are never fine.
        is_old = address in _COMPATIBLE or address in _RENUMBERED
        is_routed = address in _TRANSLATED or address.ipv4_mapped is not None or address.sixtofour is not None
        return "closed" if is_old else "public" if is_routed else "local"
    if address.is_multicast or address.is_reserved:
        return "closed"
    listed = any(address in network for network in _NOT_PUBLIC if network.version == address.version)
    return "public" if address.is_global and not listed else "local"


def _all_of(address: IpAddress) -> Iterator[IpAddress]:
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        yield from _carried(address)


def _carried(address: ipaddress.IPv6Address) -> tuple[ipaddress.IPv4Address, ...]:
    """Return the IPv4 addresses that an IPv6 one stands for."""
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
    """Resolve as the operating system does, in a thread."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
