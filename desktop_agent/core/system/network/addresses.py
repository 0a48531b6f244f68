"""Which addresses are public, and the addresses of a name: a name can lead anywhere, also to this machine."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host, in the order to try them. Raises `OSError` when it has none."""

_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # protocol assignments; some Pythons count parts of them as global
            "192.88.99.0/24",  # 6to4 relays
            "::/96",  # IPv4 in IPv6, the old way
            "64:ff9b:1::/48",  # translation inside a network
            "2001::/23",  # protocol assignments, Teredo among them
            "fec0::/10",  # local sites, before fc00::/7
        ),
    )
)
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(address: IpAddress) -> bool:
    """Whether `address` belongs to the public internet, also seen through the IPv6 forms that carry an IPv4 one."""
    if isinstance(address, ipaddress.IPv6Address) and (inner := _carried(address)) is not None:
        return is_public(inner)
    is_special = address.is_multicast or address.is_reserved or address.is_loopback or address.is_link_local
    listed = any(address in network for network in _NOT_PUBLIC if network.version == address.version)
    return address.is_global and not is_special and not listed


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Resolve as the operating system does, in a thread."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
