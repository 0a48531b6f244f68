"""What a sign-in with an MCP server brings: tokens, and how they are renewed. Pure data, without the SDK's types."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from desktop_agent.core.mcp.definition import Address

AskInBrowser = Callable[[str], Awaitable[Mapping[str, str]]]
"""Has the user sign in at an address, and returns the parameters that the browser comes back with."""

ClientProof = Literal["none", "client_secret_post", "client_secret_basic"]
"""How the application proves who it is where tokens are handed out: RFC 7591 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """What a server answered to a token that does not allow enough: RFC 6750 3.1, `insufficient_scope`."""

    header: str
    """Its `WWW-Authenticate`, in plain ASCII and bounded."""
    scopes: frozenset[str]
    """What it wants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInRequest:
    """A sign-in that is to be carried out. The representation shows no secret."""

    address: Address
    headers: Mapping[str, str] = field(repr=False)
    """What goes with the requests to the server."""
    redirect: str = ""
    """Where the browser comes back to; empty when there is none."""
    client_secret: str = field(default="", repr=False)
    """What proves that the application is `address.client_id`: a secret, or a private key as PEM."""
    granted: frozenset[str] = frozenset()
    """The scopes of the sign-in before, which are asked for again if there is a `challenge`."""
    challenge: str = ""
    """The header with which the server asked for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRegistration:
    """What this application is where a server's tokens come from. The representation shows no secret."""

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    proof: ClientProof = "none"
    token_url: str
    """Where tokens are renewed."""
    resource: str = ""
    """What the tokens are for: RFC 8707; empty where that is not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedAccess:
    """The tokens of a sign-in, and the registration that renews them. The representation shows no token."""

    registration: ServerRegistration
    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    expires_in: timedelta | None = None
    """`None` when that is not known."""
    scopes: frozenset[str] = frozenset()
