"""How the application signs in with a server, out of the table of its definition: every mistake is named."""

import re
from collections.abc import Mapping
from typing import TypedDict, cast, get_args
from urllib.parse import urlsplit

from desktop_agent.core.base.web_address import has_userinfo, is_readable_on_the_way
from desktop_agent.core.mcp.definition import Grant
from desktop_agent.core.settings.table_file import choice_in, size_in, text_in

SIGN_IN_KEYS = ("client_id", "issuer", "grant", "callback_port")

_PLAIN = re.compile(r"[\x21-\x7e]{0,2000}")
_MOST_PORT = 65_535


class SignInValues(TypedDict):
    """The fields of an address that say it."""

    client_id: str
    issuer: str
    grant: Grant
    callback_port: int


def sign_in_values(values: Mapping[str, object]) -> SignInValues:
    """Return them. Raises `ValueError` that says what is wrong."""
    client_id, issuer = text_in(values, "client_id"), text_in(values, "issuer")
    if _PLAIN.fullmatch(client_id) is None:
        raise ValueError("client_id must be of printable ASCII without spaces")
    if client_id.startswith("https://") and urlsplit(client_id).path in ("", "/"):
        raise ValueError("client_id as a URL must have a path: it leads to a description of the application")
    if issuer and not _is_issuer(issuer):
        raise ValueError("issuer must begin with https://, as the authorisation server writes it")
    grant = cast("Grant", choice_in(values, "grant", get_args(Grant), "authorization_code"))
    if grant == "client_credentials" and not (client_id and issuer):
        raise ValueError("grant client_credentials needs client_id, and issuer, the only one that the secret goes to")
    port = size_in(values, "callback_port") or 0
    if port > _MOST_PORT or (port and not client_id):
        raise ValueError("callback_port must be a port, for a client_id that is registered with it")
    return SignInValues(client_id=client_id, issuer=issuer, grant=grant, callback_port=port)


def _is_issuer(url: str) -> bool:
    is_web = url.startswith(("https://", "http://")) and _PLAIN.fullmatch(url) is not None
    return is_web and not is_readable_on_the_way(url) and not has_userinfo(url)
