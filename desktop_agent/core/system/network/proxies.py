"""Which proxy the environment names for an address. Never one for this machine.

The rules are those of curl: `https_proxy`, `http_proxy`, then `all_proxy`, the lower-case name first, with exceptions
in `no_proxy`. Where the environment names none, Windows and macOS have proxies in the system's settings.
"""

import ipaddress
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
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
