"""Addresses of the web, taken apart without a library: what of one may be shown, and whether it leads elsewhere."""

import ipaddress
import re
import socket
from urllib.parse import urlsplit

_USERINFO = re.compile(r"(//)[^/?#]*@")
_NUMERIC = re.compile(r"[0-9a-fx]+(?:\.[0-9a-fx]+){0,3}", re.IGNORECASE)


def address_of(url: str) -> str | None:
    """Return `scheme://host:port` for people, without path, user name or password; `None` if it is no web address."""
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
    """Whether a user name or a password stands before the host."""
    return _USERINFO.search(url) is not None


def without_userinfo(url: str) -> str:
    """Return `url` without the user name and the password, also where the rest of it is malformed."""
    return _USERINFO.sub(r"\1", url)


def address_argument(text: str) -> str:
    """Return the address that a command line gives, for `argparse`, which quotes nothing of what is refused here."""
    if has_userinfo(text):
        from argparse import ArgumentTypeError  # here, where it is loaded already: the window counts milliseconds

        raise ArgumentTypeError(
            "the address has a user name or a password before the @; remove it. A key belongs in the keyring: "
            "desktop-agent auth set anthropic"
        )
    return text


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine, by its name alone: `localhost`, or any spelling of a loopback address."""
    host = host.rstrip(".").lower().strip("[]")
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        if not _NUMERIC.fullmatch(host):
            return False
        try:  # 127.1, 0x7f.0.0.1, 2130706433: what the system's resolver takes as an address
            address = ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_unspecified


def is_readable_on_the_way(url: str) -> bool:
    """Whether what is sent to `url` leaves this machine unencrypted."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "http" and bool(parts.hostname) and not is_loopback(parts.hostname or "")
    except ValueError:
        return False
