"""Where servers of models are looked for: on this machine only, at usual addresses and those that the user named."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from desktop_agent.core.base.web_address import has_userinfo, is_loopback
from desktop_agent.core.models.account import Account, accounts_of
from desktop_agent.core.models.vendors import VENDORS, Vendor

_ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - what a server listens on, which is this machine
_PORTS = {"http": 80, "https": 443}
_OLLAMAS_PORT = 11434


class Place(Struct, frozen=True, kw_only=True):
    """An address at which a vendor's server may run."""

    provider: str
    address: str
    """Where its API would begin."""


def local_places(
    added: Iterable[Account], environ: Mapping[str, str], named: Mapping[str, str] | None = None
) -> tuple[Place, ...]:
    """Return every place of this machine where a server may run, each once, in the order of the table of vendors.

    `added` are the user's accounts; `named` has the addresses that settings name, by provider. Where they name none,
    the server's own variable does.
    """
    accounts = list(added)
    found: dict[Place, None] = {}
    for vendor in VENDORS:
        if vendor.local is None:
            continue
        usual = (named or {}).get(vendor.id, "") or host_address(vendor, environ) or vendor.address
        for account in accounts_of(vendor.id, accounts):
            address = usual if account.is_usual else account.where
            if is_here(address):
                found[Place(provider=vendor.id, address=address.rstrip("/"))] = None
    return tuple(found)


def is_here(address: str) -> bool:
    """Whether an address is one of this machine, and one that can be asked."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    is_web = parts.scheme in ("http", "https") and not has_userinfo(address)
    return is_web and is_loopback(parts.hostname or "")


def host_address(vendor: Vendor, environ: Mapping[str, str]) -> str:
    """Return where the vendor's own variable says that its API is; empty when it says nothing that can be understood.

    The rules are Ollama's: `HOST`, `HOST:PORT`, `:PORT`, or either with a scheme, whose port is then the usual one.
    https://docs.ollama.com/faq, "How do I configure Ollama server?"
    """
    said = environ.get(vendor.local.host_variable, "").strip(" \t'\"") if vendor.local is not None else ""
    if not said:
        return ""
    scheme, colon, rest = said.partition("://")
    if not colon:
        scheme, rest = "http", said
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port or (_PORTS.get(scheme, _OLLAMAS_PORT) if colon else _OLLAMAS_PORT)
    except ValueError:
        return ""
    host = parts.hostname or "127.0.0.1"
    host = _ANY_HOST.get(host, f"[{host}]" if ":" in host else host)
    return f"{scheme}://{host}:{port}{parts.path.rstrip('/')}/v1"
