"""Signing in with a server by the SDK: discover the authorisation server, register, and have the user consent.

The SDK does not renew tokens, because it forgets when they expire.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Literal, cast, get_args
from urllib.parse import urlsplit

import httpx2
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError, TokenStorage
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from desktop_agent.core.base.errors import AgentError, ProviderError, ServerError
from desktop_agent.core.base.web_address import address_of, is_loopback, is_readable_on_the_way
from desktop_agent.core.mcp.client import AskInBrowser, ClientProof, GrantedAccess, ServerRegistration, SignInRequest
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.mcp.sdk.http_transport import (
    ChallengedTransport,
    has_events,
    no_address,
    read_body,
    readable,
    unreachable,
)
from desktop_agent.core.system.network.connections import proxy_for
from desktop_agent.core.system.network.http_client import server_client, server_transport

_MOST_BYTES = 1024 * 1024


class SignInTransport(httpx2.AsyncBaseTransport):
    """Sends each request through the proxy for its address. Each address is checked, because a server can name any."""

    def __init__(self, server: Address) -> None:
        self._server = server
        self._is_local = is_loopback(urlsplit(server.url).hostname or "")
        self._ways: dict[str, httpx2.AsyncBaseTransport] = {}
        self.asked_last = address_of(server.url) or server.url

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        address = self.require_allowed(str(request.url))
        self.asked_last = address
        response = await (await self._way_to(address)).handle_async_request(request)
        try:
            # No event says anything about a sign-in.
            content = b"" if has_events(response) else await read_body(response, _MOST_BYTES)
        finally:
            await response.aclose()
        return httpx2.Response(
            response.status_code, headers=response.headers, content=content, extensions=response.extensions
        )

    async def aclose(self) -> None:
        for way in self._ways.values():
            await way.aclose()

    def require_allowed(self, url: str) -> str:
        """Return the address of `url` for display. Raises `ServerError` if it must not be requested or opened."""
        address = address_of(url)
        if address is None:
            raise no_address()
        is_own = address == address_of(self._server.url)
        if is_readable_on_the_way(address) and not (is_own and self._server.allow_unencrypted):
            raise readable(address)
        if is_loopback(urlsplit(url).hostname or "") and not self._is_local:
            raise ServerError(f"It names {address}, on this machine, for the sign-in. Nothing was sent there.")
        return address

    async def _way_to(self, address: str) -> httpx2.AsyncBaseTransport:
        if address not in self._ways:
            try:
                proxy = proxy_for(address)
                self._ways[address] = await asyncio.to_thread(server_transport, proxy=proxy)
            except ProviderError as error:
                raise ServerError(error.title, hint=error.hint, detail=error.detail) from error
        return self._ways[address]


_NAME = "Desktop Agent"
_PEM = "-----BEGIN "
_PUBLIC: Literal["none"] = "none"

_GoTo = Callable[[str], Awaitable[None]]
_ComeBack = Callable[[], Awaitable[AuthorizationCodeResult]]


def oauth_client(request: SignInRequest, go_to: _GoTo, come_back: _ComeBack) -> "OAuthClient":
    secret = request.client_secret
    if request.address.grant == "authorization_code":
        return _UserClient(request, go_to, come_back)
    if not secret:
        raise ServerError(
            "The keyring has no secret for its client_id.",
            hint="Remove the server, and add it again with --client-secret.",
        )
    return _KeyClient(request) if secret.startswith(_PEM) else _SecretClient(request)


def no_sign_in() -> ServerError:
    return ServerError("It asked for no sign-in.", hint="It can be used as it is: `desktop-agent mcp test NAME`.")


class _Remembered(TokenStorage):
    """Gives the SDK the known client and the granted scopes; stores nothing."""

    def __init__(self, request: SignInRequest) -> None:
        self._request = request

    async def get_tokens(self) -> OAuthToken | None:
        if not self._request.challenge:
            return None
        # There is no token to send; but its scopes are requested together with those that the server wants.
        return OAuthToken(access_token="", scope=" ".join(sorted(self._request.granted)) or None)

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        address, secret = self._request.address, self._request.client_secret
        if not address.client_id or address.names_itself_by_url:
            return None
        return OAuthClientInformationFull(
            client_id=address.client_id,
            client_secret=secret or None,
            redirect_uris=[AnyUrl(self._request.redirect)],
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


class OAuthClient(OAuthClientProvider):
    address: Address
    is_unasked = False
    """Whether the server asks for no token, so that its sign-in must be discovered."""

    def _expected_issuer(self) -> str:
        if self.is_unasked and self.context.auth_server_url is None:
            raise no_sign_in()  # before the application registers with the wrong server
        return super()._expected_issuer()

    def _select_authorization_server(self, advertised: list[str]) -> str:
        wanted = self.address.issuer
        return next((each for each in advertised if wanted and issuers_match(each, wanted)), advertised[0])

    async def _perform_authorization(self) -> httpx2.Request:
        self._require_issuer()
        client = self.context.client_info
        if client is not None and client.client_id == self.address.client_id and client.client_secret:
            client.token_endpoint_auth_method = self._accepted_proof()
        return await super()._perform_authorization()

    def _require_issuer(self) -> None:
        metadata, wanted = self.context.oauth_metadata, self.address.issuer
        if wanted and (metadata is None or not issuers_match(str(metadata.issuer), wanted)):
            raise ServerError(
                f"It leads to another authorisation server than {wanted}.",
                hint="Check `issuer` in its definition. If it is right, do not use this server.",
            )

    def _accepted_proof(self) -> Literal["client_secret_basic", "client_secret_post"]:
        metadata = self.context.oauth_metadata
        accepted = metadata.token_endpoint_auth_methods_supported if metadata is not None else None
        is_form = accepted is not None and "client_secret_basic" not in accepted and "client_secret_post" in accepted
        return "client_secret_post" if is_form else "client_secret_basic"


class _UserClient(OAuthClient):
    def __init__(self, request: SignInRequest, go_to: _GoTo, come_back: _ComeBack) -> None:
        self.address = request.address
        metadata = OAuthClientMetadata(
            client_name=_NAME, redirect_uris=[AnyUrl(request.redirect)], token_endpoint_auth_method=_PUBLIC
        )
        super().__init__(
            server_url=self.address.url,
            client_metadata=metadata,
            storage=_Remembered(request),
            redirect_handler=go_to,
            callback_handler=come_back,
            client_metadata_url=self.address.client_id if self.address.names_itself_by_url else None,
        )


class _SecretClient(OAuthClient, ClientCredentialsOAuthProvider):
    def __init__(self, request: SignInRequest) -> None:
        self.address = address = request.address
        storage, secret = _Remembered(request), request.client_secret
        ClientCredentialsOAuthProvider.__init__(
            self, address.url, storage, address.client_id, secret, issuer=address.issuer
        )


class _KeyClient(OAuthClient, PrivateKeyJWTOAuthProvider):
    def __init__(self, request: SignInRequest) -> None:
        self.address = address = request.address
        signed = SignedJWTParameters(
            issuer=address.client_id,
            subject=address.client_id,
            signing_key=request.client_secret,
            signing_algorithm=_algorithm(request.client_secret),
        )
        PrivateKeyJWTOAuthProvider.__init__(
            self,
            address.url,
            _Remembered(request),
            address.client_id,
            signed.create_assertion_provider(),
            issuer=address.issuer,
        )


_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


def _algorithm(key: str) -> str:
    problem = "The private key for its client_id cannot be used."
    try:
        found = load_pem_private_key(key.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # whose messages may quote it
        raise ServerError(problem, hint="It must be a PEM without a passphrase.") from None
    match found:
        case RSAPrivateKey():
            return "RS256"
        case EllipticCurvePrivateKey() if found.curve.name in _CURVES:
            return _CURVES[found.curve.name]
        case Ed25519PrivateKey():
            return "EdDSA"
        case _:
            raise ServerError(problem, hint="It must be of RSA, of a NIST curve, or Ed25519.")


_PROTOCOL = "2025-11-25"
_UNAUTHORIZED = 401
_TIMES = httpx2.Timeout(30.0, connect=10.0)


async def sign_in(request: SignInRequest, ask: AskInBrowser) -> GrantedAccess:
    """Sign in with a server. The user is asked, unless the application has credentials. Raises `ServerError`."""
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
    """Send a ping and return the status. A ping can trigger a sign-in, and begins no session."""
    response = await client.post(
        request.address.url,
        json={"jsonrpc": "2.0", "id": 1, "method": "ping"},
        headers={**request.headers, "accept": "application/json, text/event-stream", "mcp-protocol-version": _PROTOCOL},
        auth=auth,
    )
    return response.status_code


class _Flow:
    def __init__(self, request: SignInRequest, require_allowed: Callable[[str], object], ask: AskInBrowser) -> None:
        """`require_allowed` raises `ServerError` for a page that must not be opened."""
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
        return self.provider.context.current_tokens is not None

    def granted(self, status: int) -> GrantedAccess:
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
                hint="Sign in again. If it happens again, do not use this server.",
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
