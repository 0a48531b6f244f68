"""The hosts that a confined program may reach: by the name that it asks for, and by the addresses behind it. Pure."""

import ipaddress

from msgspec import Struct

from desktop_agent.core.base.web_address import IpAddress
from desktop_agent.core.system.network.addresses import hands_out_credentials, is_public, reach_of

USUAL_PORTS = frozenset({80, 443})
"""What a host without a port stands for: the web."""


class AllowedHosts(Struct, frozen=True):
    """Some hosts: `name`, `*.name` (what lies below it), `address` or `[address]`, `*`; each may have a `:port`."""

    entries: tuple[str, ...]

    def allow(self, host: str, port: int) -> bool:
        """Whether a program may ask for `host`, as it names it."""
        return self._best(host, port) is not None and not hands_out_credentials(host)

    def allow_address(self, host: str, port: int, address: IpAddress) -> bool:
        """Whether `address`, which an allowed `host` resolves to, may be connected to.

        Services that hand out a cloud's credentials are never allowed. A name may not lead to this machine, and one
        that only a `*` allows may only lead to public addresses. Any other host that is written as an address is
        allowed.
        """
        entry = self._best(host, port)
        if entry is None or hands_out_credentials(str(address)):
            return False
        if "*" in entry:
            return is_public(address)
        if _address(entry) is not None or entry == "localhost":
            return True
        return reach_of(address) != "closed"

    def _best(self, host: str, port: int) -> str | None:
        """Return the host of the entry that allows this, one that names it before one with `*`."""
        asked = host.rstrip(".").lower().strip("[]")
        found = [name for name, number in map(_split, self.entries) if _covers(name, asked) and _fits(number, port)]
        return min(found, key=lambda name: "*" in name, default=None)


def _split(entry: str) -> tuple[str, int | None]:
    if entry.startswith("["):
        name, _, port = entry[1:].partition("]")
        return name, int(port[1:]) if port else None
    name, _, port = entry.partition(":")
    return name, int(port) if port else None


def _covers(name: str, asked: str) -> bool:
    if name.startswith("*."):
        return asked.endswith(name[1:]) and len(asked) >= len(name)
    if name == "*":
        return True
    literal = _address(asked)
    return literal == _address(name) if literal is not None else asked == name


def _fits(number: int | None, port: int) -> bool:
    return port == number if number is not None else port in USUAL_PORTS


def _address(text: str) -> IpAddress | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
