"""The authorisation server of the SDK's own server, with its data in memory."""

import secrets
import time
from urllib.parse import urlencode

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    TokenError,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

from tests.servers.mcp_http import McpHttpServer, offering_tools
from tests.servers.ports import free_port


class Authorization(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Allows every client unless told otherwise. Refresh tokens work once."""

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"
        self.is_declining = False
        self.registers = True
        self.strays: dict[str, str] = {}
        self.lifetime_s = 3600
        self.secrets: set[str] = set()
        self.renewals = 0
        self.registered = 0
        self.authorized: list[tuple[str, list[str]]] = []
        self._clients: dict[str, OAuthClientInformationFull] = {}
        self._codes: dict[str, AuthorizationCode] = {}
        self._refresh: dict[str, RefreshToken] = {}
        self._access: dict[str, AccessToken] = {}

    def settings(self) -> AuthSettings:
        return AuthSettings(
            issuer_url=AnyHttpUrl(self.issuer),
            resource_server_url=AnyHttpUrl(f"{self.issuer}/mcp"),
            validate_token_resource=True,
            client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["use", "write"]),
            required_scopes=["use"],
        )

    def know(self, client: OAuthClientInformationFull) -> None:
        self._clients[client.client_id] = client

    def revoke_access(self) -> None:
        """Reject all access tokens; refresh tokens still work."""
        self._access.clear()

    def revoke(self) -> None:
        self._access.clear()
        self._refresh.clear()

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        if not self.registers:
            raise RegistrationError("invalid_client_metadata", "not here")
        self.registered += 1
        self._clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.authorized.append((client.client_id, params.scopes or []))
        code = self._secret()
        self._codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        answer = {"error": "access_denied"} if self.is_declining else {"code": code}
        answer |= {"state": params.state or ""} | self.strays
        return f"{params.redirect_uri}?{urlencode(answer)}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self._codes[authorization_code.code]
        return self._granted(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self._refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self._refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.renewals += 1
        return self._granted(client, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self._access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self._access.pop(token.token, None)
        self._refresh.pop(token.token, None)

    def _granted(self, client: OAuthClientInformationFull, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = self._secret(), self._secret()
        self._access[access] = AccessToken(token=access, client_id=client.client_id, scopes=scopes, resource=resource)
        self._refresh[refresh] = RefreshToken(
            token=refresh, client_id=client.client_id, scopes=scopes, resource=resource
        )
        return OAuthToken(
            access_token=access, expires_in=self.lifetime_s, scope=" ".join(scopes), refresh_token=refresh
        )

    def _secret(self) -> str:
        secret = secrets.token_urlsafe(32)
        self.secrets.add(secret)
        return secret


def wanting_a_sign_in() -> tuple[McpHttpServer, Authorization]:
    port = free_port()
    authorization = Authorization(port)
    offered = offering_tools(auth_server_provider=authorization, auth=authorization.settings())
    return McpHttpServer(offered, port=port), authorization
