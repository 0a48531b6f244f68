"""Signing in with a server, by the SDK: it finds who hands out tokens, registers, and has the user allow it.

The rest of the life of the tokens is ours: the SDK forgets when they end and where they are renewed.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import cast, get_args

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from desktop_agent.core.base.errors import AgentError, ServerError
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.mcp.sdk.http_faults import unreachable
from desktop_agent.core.mcp.sdk.sign_in_transport import SignInTransport
from desktop_agent.core.mcp.sign_in import AskInBrowser, ClientProof, GrantedAccess, ServerRegistration
from desktop_agent.core.system.network.client import server_client

_PROTOCOL = "2025-11-25"
_WITHOUT: ClientProof = "none"
_TIMES = httpx2.Timeout(30.0, connect=10.0)


async def sign_in(address: Address, headers: Mapping[str, str], redirect: str, ask: AskInBrowser) -> GrantedAccess:
    """Have the user sign in with the server at `address`, and return what that brings; nothing is kept here.

    The browser is to come back to `redirect`. Raises `ServerError`, and what `ask` raises.
    """
    logging.getLogger("mcp.client.auth.oauth2").disabled = True  # its tracebacks quote codes and tokens
    transport = SignInTransport(address)
    flow = _Flow(address, redirect, transport.require_allowed, ask)
    async with server_client(transport, timeout=_TIMES) as client:
        try:
            response = await client.post(
                address.url,
                # A session needs no more than an answer: a ping begins none.
                json={"jsonrpc": "2.0", "id": 1, "method": "ping"},
                headers={
                    **headers,
                    "accept": "application/json, text/event-stream",
                    "mcp-protocol-version": _PROTOCOL,
                },
                auth=flow.provider,
            )
        except AgentError:
            raise
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, UnicodeError) as error:
            raise unreachable(error, transport.asked_last, None) from None
        except (OAuthFlowError, ValidationError, ValueError) as error:  # whose messages quote what must not be shown
            raise flow.explained(error) from None
    return flow.granted(response.status_code)


class _Flow:
    """One sign-in, as the SDK carries it out."""

    def __init__(
        self, address: Address, redirect: str, require_allowed: Callable[[str], object], ask: AskInBrowser
    ) -> None:
        """`require_allowed` raises `ServerError` for a page that is not to be opened: a server may name any."""
        self._ask = ask
        self._require_allowed = require_allowed
        self._asked_at = ""
        self._has_come_back = False
        metadata = OAuthClientMetadata(
            client_name="Desktop Agent", redirect_uris=[AnyUrl(redirect)], token_endpoint_auth_method=_WITHOUT
        )
        self.provider = OAuthClientProvider(
            server_url=address.url,
            client_metadata=metadata,
            storage=_NothingKept(),
            redirect_handler=self._go_to,
            callback_handler=self._come_back,
        )

    async def _go_to(self, address: str) -> None:
        self._require_allowed(address)
        self._asked_at = address

    async def _come_back(self) -> AuthorizationCodeResult:
        answer = await self._ask(self._asked_at)
        self._has_come_back = True
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss"))

    def granted(self, status: int) -> GrantedAccess:
        """Return what the sign-in brought. Raises `ServerError` when it brought nothing."""
        context = self.provider.context
        tokens, client = context.current_tokens, context.client_info
        if tokens is None or client is None:
            raise ServerError(
                "It asked for no sign-in.", hint="It can be used as it is: `desktop-agent mcp test NAME`."
            )
        if status == 401:
            raise ServerError("It does not take the sign-in that its own authorisation server granted.")
        registration = ServerRegistration(
            client_id=client.client_id,
            client_secret=client.client_secret,
            proof=_proof(client),
            token_url=_token_url(self.provider),
            resource=context.get_resource_url() if context.should_include_resource_param(_PROTOCOL) else "",
        )
        return GrantedAccess(
            registration=registration,
            access=tokens.access_token,
            refresh=tokens.refresh_token,
            expires_in=timedelta(seconds=tokens.expires_in) if tokens.expires_in is not None else None,
            scopes=frozenset((tokens.scope or "").split()),
        )

    def explained(self, error: Exception) -> ServerError:
        """Return what went wrong, in words."""
        if isinstance(error, OAuthRegistrationError):
            return ServerError(
                "Its authorisation server does not register this application.",
                hint="Get a token from the service, and give it as a header: --header 'Authorization=Bearer …'.",
            )
        if isinstance(error, OAuthTokenError):
            return ServerError("Its authorisation server refused to finish the sign-in.", hint="Sign in again.")
        if self._has_come_back:
            return ServerError(
                "What came back from the browser does not belong to this sign-in. Nothing is kept.",
                hint="Sign in again. If it stays so, do not use this server.",
            )
        return ServerError(
            "It wants a credential, and does not say in a valid way where to sign in.",
            hint="Get a token from the service, and give it as a header: --header 'Authorization=Bearer …'.",
            detail=type(error).__name__,
        )


class _NothingKept:
    """The SDK's storage: what it is given is read from the provider in the end."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


def _proof(client: OAuthClientInformationFull) -> ClientProof:
    method = client.token_endpoint_auth_method
    return cast("ClientProof", method) if method in get_args(ClientProof) and client.client_secret else "none"


def _token_url(provider: OAuthClientProvider) -> str:
    metadata = provider.context.oauth_metadata
    if metadata is not None and metadata.token_endpoint:
        return str(metadata.token_endpoint)
    return f"{provider.context.get_authorization_base_url(provider.context.server_url)}/token"
