"""The SDK's OAuth client that fits a definition: registered by itself, known already, or without a user.

What the SDK leaves open is decided here: a client that is known goes only to the issuer that the definition names, and
proves who it is in a way that the authorisation server takes.
"""

from collections.abc import Awaitable, Callable
from typing import Literal

import httpx2
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.mcp.sign_in import SignInRequest

_NAME = "Desktop Agent"
_PEM = "-----BEGIN "
_PUBLIC: Literal["none"] = "none"

_GoTo = Callable[[str], Awaitable[None]]
_ComeBack = Callable[[], Awaitable[AuthorizationCodeResult]]


def oauth_client(request: SignInRequest, go_to: _GoTo, come_back: _ComeBack) -> "OAuthClient":
    """Return the client for a sign-in. Raises `ServerError` when what it needs is not there."""
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
    """The server wants none."""
    return ServerError("It asked for no sign-in.", hint="It can be used as it is: `desktop-agent mcp test NAME`.")


class _Remembered(TokenStorage):
    """What the SDK finds stored: who the application is, if that is known, and what was granted before.

    What it stores is not kept: that is read from the client in the end.
    """

    def __init__(self, request: SignInRequest) -> None:
        self._request = request

    async def get_tokens(self) -> OAuthToken | None:
        if not self._request.challenge:
            return None
        # No token, so that none is sent, but the scopes that go with those which the server wants besides.
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
    """Every client of ours: bound to an issuer, if the definition names one."""

    address: Address
    is_unasked = False
    """Whether the server wants no token for what it was asked: then it must describe a sign-in of its own accord."""

    def _expected_issuer(self) -> str:
        if self.is_unasked and self.context.auth_server_url is None:
            raise no_sign_in()  # before the application registers with somebody who may not be meant
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
        """Raise `ServerError` when the server leads to another authorisation server than the definition names."""
        metadata, wanted = self.context.oauth_metadata, self.address.issuer
        if wanted and (metadata is None or not issuers_match(str(metadata.issuer), wanted)):
            raise ServerError(
                f"It leads to another authorisation server than {wanted}.",
                hint="Check `issuer` in its definition. If it is right, do not use this server.",
            )

    def _accepted_proof(self) -> Literal["client_secret_basic", "client_secret_post"]:
        """Return how a secret is proven: as a header, unless only the form is taken (RFC 8414 2)."""
        metadata = self.context.oauth_metadata
        accepted = metadata.token_endpoint_auth_methods_supported if metadata is not None else None
        is_form = accepted is not None and "client_secret_basic" not in accepted and "client_secret_post" in accepted
        return "client_secret_post" if is_form else "client_secret_basic"


class _UserClient(OAuthClient):
    """A client that the user allows something."""

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
    """A client without a user that proves itself by a secret."""

    def __init__(self, request: SignInRequest) -> None:
        self.address = address = request.address
        storage, secret = _Remembered(request), request.client_secret
        ClientCredentialsOAuthProvider.__init__(
            self, address.url, storage, address.client_id, secret, issuer=address.issuer
        )


class _KeyClient(OAuthClient, PrivateKeyJWTOAuthProvider):
    """A client without a user that proves itself by a private key."""

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
    """Return what a private key signs with. Raises `ServerError` for one that cannot be used."""
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
