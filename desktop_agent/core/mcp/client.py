"""What a connection and the client on the SDK (`sdk/`) exchange, without the SDK's types: sign-ins, sampling, failures.

What a server wants to ask the model (`sampling/createMessage`) is not to be trusted, and never enters the
conversation of a session.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.protocol.model import Decision, Denied, ServerQuestion
from desktop_agent.core.system.processes.runner import Command

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInRequest:
    """A sign-in that is to be carried out. The representation shows no secret."""

    address: Address
    headers: Mapping[str, str] = field(repr=False)
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


SampledStop = Literal["endTurn", "maxTokens"]


class SampledMessage(Struct, frozen=True, kw_only=True):
    role: Literal["user", "assistant"]
    text: str


class SamplingRequest(Struct, frozen=True, kw_only=True):
    server: str
    fingerprint: str
    """Of the server's definition: another definition of the same name is another server."""
    messages: tuple[SampledMessage, ...]
    system: str = ""
    max_tokens: int
    notes: tuple[str, ...] = ()
    """What else the server wanted and does not get, in sentences."""


class SampledAnswer(Struct, frozen=True, kw_only=True):
    text: str
    model: str
    stop: SampledStop = "endTurn"


class SamplingRefusedError(Exception):
    """The model is not asked. `str(error)` says why, to the server."""


class SamplingDeniedError(SamplingRefusedError):
    """The user said no, or is not there to say yes."""


SampleModel = Callable[[SamplingRequest], Awaitable[SampledAnswer]]
"""Asks the model for a server while a call runs. Raises `SamplingRefusedError`."""


async def no_model_to_ask(_: SamplingRequest) -> SampledAnswer:
    """Refuse: no session, and so no model, belongs to the call."""
    raise SamplingRefusedError("No model can be asked here.")


_MOST_SCOPES = 10
_LONGEST_SCOPE = 80

Confine = Callable[[Command], AbstractAsyncContextManager[Command]]
AskUser = Callable[[ServerQuestion], Awaitable[Decision]]
"""Asks the user what a server wants to know while a call runs."""


async def nobody_to_ask(_: ServerQuestion) -> Decision:
    """Decline: no user belongs to the call."""
    return Denied()


class ConnectionLostError(ServerError):
    """The server went away under a call. Why is known once it has ended."""


class SignInNeededError(ServerError):
    """The server wants to know who the user is. Trying again is of no use before the user has signed in."""

    def __init__(self, name: str, scopes: frozenset[str] = frozenset()) -> None:
        """`scopes` are what it wants besides what you have signed in for; without any it wants a sign-in at all."""
        self.scopes = scopes
        if scopes:
            wanted = ", ".join(scope[:_LONGEST_SCOPE] for scope in sorted(scopes)[:_MOST_SCOPES])
            if len(scopes) > _MOST_SCOPES:
                wanted += f" and {len(scopes) - _MOST_SCOPES} more"
            super().__init__(
                f"It needs you to allow more: {wanted}.", hint=f"Sign in again: `desktop-agent mcp sign-in {name}`."
            )
        else:
            super().__init__("It needs you to sign in.", hint=f"Sign in: `desktop-agent mcp sign-in {name}`.")


class BearerTokens(Protocol):
    """The tokens of a sign-in. Methods raise `ServerError`: `SignInNeededError` when the sign-in is over."""

    async def access_token(self) -> str: ...

    async def refused(self, token: str) -> str:
        """Return another token after the server refused `token`."""
        ...

    async def insufficient(self, token: str, challenge: Challenge) -> str:
        """Return a token with more rights, if the user has granted them since. Raises `SignInNeededError`."""
        ...


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a client may use, and whom it tells what comes unasked."""

    workspace: Path
    environ: Mapping[str, str]
    """For a process of the server, already without credentials."""
    log: ServerLog
    confine: Confine
    """Has the command that runs a server confined as it is defined, until that is left. Raises `ServerError`."""
    tools_changed: Callable[[], None]
    """Call it when the server says that it offers other tools now."""


class ServerCredentials(Protocol):
    async def headers(self, definition: ServerDefinition) -> Mapping[str, str]: ...

    async def tokens(self, definition: ServerDefinition) -> BearerTokens | None: ...
