"""Which addresses a fetch may connect to: public ones, decided on what a name *resolves* to.

A page can name any host, and a name can lead anywhere: to this machine, the local network, or the service of a cloud
that hands out credentials. So the name is resolved once, every address is judged, and the connection goes to an
address that was judged; no name server can answer differently in between.
"""

import ipaddress
from collections.abc import Callable

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.system.network.addresses import IpAddress, Resolver, is_public, system_resolver

_MOST_TRIED = 4


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
