"""Parses web addresses without a library: whether they are valid, how they are shown, and where they lead."""

import argparse
import ipaddress
import re
import socket
from urllib.parse import urlsplit

from desktop_agent.core.base.regex import regex

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_USERINFO = regex(r"(//)[^/?#]*@")
_HOST = regex(r"[\w-]{1,63}(?:\.[\w-]{1,63})*\.?")
_LONGEST_HOST = 253
_SCHEME = regex(r"[a-z][a-z0-9+.-]*://|https?:", re.IGNORECASE)
_EXAMPLE = "for example https://models.example/v1"
_NUMERIC = regex(r"[0-9a-fx]+(?:\.[0-9a-fx]+){0,3}", re.IGNORECASE)


def address_of(url: str) -> str | None:
    """Return `scheme://host:port` for users, without path, user name or password; None for no web address."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}"


def has_userinfo(url: str) -> bool:
    return _USERINFO.search(url) is not None


def without_userinfo(url: str) -> str:
    return _USERINFO.sub(r"\1", url)


def why_no_address(url: str) -> str:
    """Return why requests cannot be sent to paths below `url`; empty if they can. Never quotes a password."""
    if has_userinfo(url):
        return "it has a user name or a password before the @; a key belongs in the keyring"
    if any(sign.isspace() or not sign.isprintable() for sign in url):
        return "it contains a space or an invisible character"
    if not url.lower().startswith(("http://", "https://")):
        return f"it must begin with https:// or http://, {_EXAMPLE}"
    if "?" in url or "#" in url:
        return f"it must not contain ? or #, {_EXAMPLE}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return f"its host or port is not valid, {_EXAMPLE}"
    if not parts.hostname:
        return f"it contains no host, {_EXAMPLE}"
    return "" if port != 0 and _is_host(parts.hostname) else f"its host or port is not valid, {_EXAMPLE}"


def completed(text: str) -> str:
    """A missing scheme becomes http for this machine and for private IP addresses, which have no certificates."""
    text = text.strip()
    if not text or text.startswith("/") or _SCHEME.match(text):
        return text
    try:
        host = urlsplit(f"//{text}").hostname or ""
    except ValueError:
        host = ""
    number = address_in(host)
    is_near = is_loopback(host) or (number is not None and number.is_private)
    return f"{'http' if is_near else 'https'}://{text}"


def address_argument(text: str) -> str:
    text = completed(text)
    if text and (reason := why_no_address(text)):
        raise argparse.ArgumentTypeError(f"the address cannot be used: {reason}")
    return text


def address_in(host: str) -> IpAddress | None:
    """Return the IP address in `host`; None for a name. Accepts `127.1` and `0x7f.0.0.1`, as resolvers do."""
    text = host.rstrip(".").strip("[]").partition("%")[0]
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(text)) if _NUMERIC.fullmatch(text) else None
    except OSError:
        return None


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine, judged by the name alone: `localhost`, or any form of a loopback address."""
    host = host.rstrip(".").lower().strip("[]")
    if host == "localhost":
        return True
    address = address_in(host)
    if address is None:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_unspecified


def is_readable_on_the_way(url: str) -> bool:
    """Whether data that is sent to `url` leaves this machine unencrypted."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "http" and bool(parts.hostname) and not is_loopback(parts.hostname or "")
    except ValueError:
        return False


def _is_host(host: str) -> bool:
    if ":" in host:
        return True
    if len(host) > _LONGEST_HOST or not _HOST.fullmatch(host):
        return False
    try:
        return host.isascii() or bool(host.encode("idna"))
    except UnicodeError:
        return False
