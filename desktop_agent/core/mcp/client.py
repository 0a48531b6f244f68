"""The types that a connection and the SDK client (`sdk/`) exchange, free of the SDK's types."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.secrets import Discreet
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.protocol.model import Decision, Denied, ServerQuestion
from desktop_agent.core.system.processes.runner import Command

AskInBrowser = Callable[[str], Awaitable[Mapping[str, str]]]
"""Has the user sign in at an address, and returns the parameters of the browser's answer."""

ClientProof = Literal["none", "client_secret_post", "client_secret_basic"]
"""How the application authenticates at the token endpoint: RFC 7591 2."""


class Challenge(Struct, frozen=True, kw_only=True):
    """A server's answer to a token that has too few rights: RFC 6750 3.1, `insufficient_scope`."""

    header: str
    """The `WWW-Authenticate` header of the answer, in plain ASCII and of limited length."""
    scopes: frozenset[str]


class SignInRequest(Discreet, frozen=True, kw_only=True):
    """A sign-in to carry out. The `repr` shows no secret."""

    SHOWN = ("address", "redirect", "granted", "challenge")

    address: Address
    headers: Mapping[str, str]
    redirect: str = ""
    """The address to which the browser returns; empty if there is none."""
    client_secret: str = ""
    """The secret that authenticates the application as `address.client_id`; it may be a private key as PEM."""
    granted: frozenset[str] = frozenset()
    """The scopes of the previous sign-in. If there is a `challenge`, they are requested again."""
    challenge: str = ""
    """The header with which the server asked for more scopes; empty if it did not."""


class ServerRegistration(Discreet, frozen=True, kw_only=True):
    SHOWN = ("client_id", "proof", "token_url", "resource")

    client_id: str
    client_secret: str | None = None
    proof: ClientProof = "none"
    token_url: str
    resource: str = ""
    """The resource that the tokens are for (RFC 8707); empty if none is requested."""


class GrantedAccess(Discreet, frozen=True, kw_only=True):
    SHOWN = ("registration", "expires_in", "scopes")

    registration: ServerRegistration
    access: str
    refresh: str | None = None
    expires_in: timedelta | None = None
    """`None` if unknown."""
    scopes: frozenset[str] = frozenset()


SampledStop = Literal["endTurn", "maxTokens"]


class SampledMessage(Struct, frozen=True, kw_only=True):
    role: Literal["user", "assistant"]
    text: str


class SamplingRequest(Struct, frozen=True, kw_only=True):
    server: str
    fingerprint: str
    """Identifies the definition of the server. Another definition with the same name counts as another server."""
    messages: tuple[SampledMessage, ...]
    system: str = ""
    max_tokens: int
    notes: tuple[str, ...] = ()


class SampledAnswer(Struct, frozen=True, kw_only=True):
    text: str
    model: str
    stop: SampledStop = "endTurn"


class SamplingRefusedError(Exception):
    """A server's request to the model is refused. `str(error)` tells the server why."""


class SamplingDeniedError(SamplingRefusedError):
    pass


SampleModel = Callable[[SamplingRequest], Awaitable[SampledAnswer]]


async def no_model_to_ask(_: SamplingRequest) -> SampledAnswer:
    raise SamplingRefusedError("No model can be asked here.")


_MOST_SCOPES = 10
_LONGEST_SCOPE = 80

Confine = Callable[[Command], AbstractAsyncContextManager[Command]]
AskUser = Callable[[ServerQuestion], Awaitable[Decision]]


async def nobody_to_ask(_: ServerQuestion) -> Decision:
    return Denied()


class ConnectionLostError(ServerError):
    """The connection was lost during a call. The reason is known only when the server has ended."""


class NotTrustedError(ServerError):
    """What the server runs is not what the user trusted. Another try makes no sense until the user has answered."""


class SignInNeededError(ServerError):
    """The server requires a sign-in. Another try makes no sense until the user has signed in."""

    def __init__(self, name: str, scopes: frozenset[str] = frozenset()) -> None:
        """`scopes` are those that the present sign-in lacks; empty if there is no sign-in yet."""
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
    """The tokens of a sign-in. Methods raise `ServerError`, and `SignInNeededError` if the sign-in has ended."""

    async def access_token(self) -> str: ...

    async def refused(self, token: str) -> str: ...

    async def insufficient(self, token: str, challenge: Challenge) -> str:
        """Return a token with more rights if the user has granted them since. Raises `SignInNeededError`."""
        ...


class Surroundings(Struct, frozen=True, kw_only=True):
    """The services that a client may use, and callbacks for reports of a server."""

    workspace: Path
    environ: Mapping[str, str]
    log: ServerLog
    confine: Confine
    tools_changed: Callable[[], None]


class ServerCredentials(Protocol):
    async def secrets(self, definition: ServerDefinition) -> Mapping[str, str]: ...

    async def tokens(self, definition: ServerDefinition) -> BearerTokens | None: ...
