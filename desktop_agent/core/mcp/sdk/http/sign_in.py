"""Signing in with a server, by the SDK: it finds who hands out tokens, registers, and has the user allow it.

The rest of the life of the tokens is ours: the SDK forgets when they end and where they are renewed.
"""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import cast, get_args

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull
from pydantic import ValidationError

from desktop_agent.core.base.errors import AgentError, ServerError
from desktop_agent.core.mcp.sdk.http.challenges import ChallengedTransport
from desktop_agent.core.mcp.sdk.http.http_faults import unreachable
from desktop_agent.core.mcp.sdk.http.oauth_clients import no_sign_in, oauth_client
from desktop_agent.core.mcp.sdk.http.sign_in_transport import SignInTransport
from desktop_agent.core.mcp.sign_in import AskInBrowser, ClientProof, GrantedAccess, ServerRegistration, SignInRequest
from desktop_agent.core.system.network.http_client import server_client

_PROTOCOL = "2025-11-25"
_UNAUTHORIZED = 401
_TIMES = httpx2.Timeout(30.0, connect=10.0)


async def sign_in(request: SignInRequest, ask: AskInBrowser) -> GrantedAccess:
    """Sign in with a server, and return what that brings; nothing is kept here.

    The user is asked unless the definition says that the application is known itself. Raises `ServerError`, and what
    `ask` raises.
    """
    logging.getLogger("mcp.client.auth.oauth2").disabled = True  # its tracebacks quote codes and tokens
    transport = SignInTransport(request.address)
    way = ChallengedTransport(transport)
    if request.challenge:
        way.challenge(request.challenge)
    flow = _Flow(request, transport.require_allowed, ask)
    async with server_client(way, timeout=_TIMES) as client:
        try:
            status = await _ping(client, request, flow.provider)
            if not flow.is_granted and status != _UNAUTHORIZED:  # it may want a sign-in for its calls alone
                flow.provider.is_unasked = True
                way.want_token()
                status = await _ping(client, request, flow.provider)
        except AgentError:
            raise
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, UnicodeError) as error:
            raise unreachable(error, transport.asked_last, None) from None
        except (OAuthFlowError, ValidationError, ValueError) as error:  # whose messages quote what must not be shown
            raise flow.explained(error) from None
    return flow.granted(status)


async def _ping(client: httpx2.AsyncClient, request: SignInRequest, auth: httpx2.Auth) -> int:
    """Return the status of the answer: a session needs no more than one, and a ping begins none."""
    response = await client.post(
        request.address.url,
        json={"jsonrpc": "2.0", "id": 1, "method": "ping"},
        headers={
            **request.headers,
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": _PROTOCOL,
        },
        auth=auth,
    )
    return response.status_code


class _Flow:
    """One sign-in, as the SDK carries it out."""

    def __init__(self, request: SignInRequest, require_allowed: Callable[[str], object], ask: AskInBrowser) -> None:
        """`require_allowed` raises `ServerError` for a page that is not to be opened: a server may name any."""
        self._ask = ask
        self._require_allowed = require_allowed
        self._asked_at = ""
        self._has_come_back = False
        self._is_without_user = request.address.grant == "client_credentials"
        self.provider = oauth_client(request, self._go_to, self._come_back)

    async def _go_to(self, address: str) -> None:
        self._require_allowed(address)
        self._asked_at = address

    async def _come_back(self) -> AuthorizationCodeResult:
        answer = await self._ask(self._asked_at)
        self._has_come_back = True
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss"))

    @property
    def is_granted(self) -> bool:
        """Whether there is a token."""
        return self.provider.context.current_tokens is not None

    def granted(self, status: int) -> GrantedAccess:
        """Return what the sign-in brought. Raises `ServerError` when it brought nothing."""
        context = self.provider.context
        tokens, client = context.current_tokens, context.client_info
        if tokens is None or client is None:
            raise no_sign_in()
        if status == _UNAUTHORIZED:
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
                hint="Register it there by hand, and add the server again with --client-id. Or get a token from the "
                "service, and give it as a header: --header 'Authorization=Bearer …'.",
            )
        if isinstance(error, OAuthTokenError):
            hint = "Check the secret of its client_id." if self._is_without_user else "Sign in again."
            return ServerError("Its authorisation server refused to finish the sign-in.", hint=hint)
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


def _proof(client: OAuthClientInformationFull) -> ClientProof:
    method = client.token_endpoint_auth_method
    return cast("ClientProof", method) if method in get_args(ClientProof) and client.client_secret else "none"


def _token_url(provider: OAuthClientProvider) -> str:
    metadata = provider.context.oauth_metadata
    if metadata is not None and metadata.token_endpoint:
        return str(metadata.token_endpoint)
    return f"{provider.context.get_authorization_base_url(provider.context.server_url)}/token"
