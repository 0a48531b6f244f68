"""Which addresses a fetch may connect to: public ones, decided on what a name *resolves* to.

A page can name any host, and a name can lead anywhere: to this machine, the local network, or the service of a cloud
that hands out credentials. So the name is resolved once, every address is judged, and the connection goes to an
address that was judged; no name server can answer differently in between.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError

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
_MOST_TRIED = 4


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


class AddressBook(Struct, frozen=True, kw_only=True, eq=False):
    """Resolves hosts and refuses those that may not be reached."""

    resolve: Resolver = system_resolver
    is_allowed: Callable[[IpAddress], bool] = is_public

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return the addresses to try, in order. Raises `ToolError` when there are none or *any* is not allowed."""
        try:
            found = await self.resolve(host, port)
        except (OSError, UnicodeError) as error:
            text = f"The host {host} could not be found. Check the address, or whether there is a network at all."
            raise ToolError(text, error_type="not_found") from error
        addresses = [ipaddress.ip_address(address) for address in found]
        for address in addresses:
            if not self.is_allowed(address):
                raise ToolError(
                    f"{host} leads to {address}, which is not on the public internet. This tool never connects to "
                    "this machine, the local network or a cloud's own services; use run_terminal_cmd for that.",
                    error_type="permission",
                )
        if not addresses:
            raise ToolError(f"The host {host} has no address.", error_type="not_found")
        return tuple(map(str, addresses[:_MOST_TRIED]))
