"""The services of Google and Microsoft that turn an application's credentials into access tokens."""

import asyncio
import json
import ssl
from pathlib import Path
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from desktop_agent.core.protocol.model import JsonObject
from tests.certificates import Authority
from tests.servers.http1 import HttpRequest, LoopbackServer, Responder, read_request


class TokenServer(LoopbackServer):
    """Runs while the context is open. `asked` has the paths, `token` what it gives, `refusal` what it says instead."""

    def __init__(self, token: str, *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls=tls)
        self.token = token
        self.asked: list[str] = []
        self.refusal: JsonObject | None = None

    @property
    def address(self) -> str:
        return self.url.replace("127.0.0.1", "localhost")

    def answer(self, request: HttpRequest) -> JsonObject | None:
        """Return the answer; `None` if what was sent is not right."""
        raise NotImplementedError

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        responder = Responder(writer)
        try:
            while (request := await read_request(reader)) is not None:
                self.asked.append(request.path)
                refusal = self.refusal if request.method == "POST" else None
                answer = None if refusal else self.answer(request)
                await responder.whole(400 if answer is None else 200, answer or refusal or {"error": "refused"}, {})
        finally:
            writer.transport.abort()  # TLS would take leave first


class GoogleTokens(TokenServer):
    """Accepts the signature of a service account that it makes up: https://google.aip.dev/auth/4112"""

    email = "agent@p-test.iam.gserviceaccount.com"

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def private_key(self) -> str:
        plain = serialization.NoEncryption()
        return self._key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()

    def write_key(self, path: Path) -> Path:
        account = {
            "type": "service_account",
            "project_id": "p-test",
            "private_key_id": "1",
            "private_key": self.private_key,
            "client_email": self.email,
            "client_id": "1",
            "token_uri": f"{self.address}/token",
        }
        path.write_text(json.dumps(account))
        path.chmod(0o600)
        return path

    def answer(self, request: HttpRequest) -> JsonObject | None:
        form = parse_qs(request.body.decode())
        try:
            said = jwt.decode(
                form["assertion"][0],
                self._key.public_key(),
                algorithms=["RS256"],
                audience="https://oauth2.googleapis.com/token",
                issuer=self.email,
            )
        except (jwt.InvalidTokenError, KeyError):
            return None
        if request.path != "/token" or said["scope"] != "https://www.googleapis.com/auth/cloud-platform":
            return None
        return {"access_token": self.token, "token_type": "Bearer", "expires_in": 3600}


class EntraTokens(TokenServer):
    """Knows one application and its secret. Its tenant `adfs` is a server of the user, which no directory lists."""

    client_id = "11111111-2222-3333-4444-555555555555"
    client_secret = "entra-Secret-of-the-test-7~Q"

    def __init__(self, token: str, folder: Path) -> None:
        self.authority = Authority(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.authority.issue("entra"))
        super().__init__(token, tls=context)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AZURE_AUTHORITY_HOST": self.address,
            "AZURE_TENANT_ID": "adfs",
            "AZURE_CLIENT_ID": self.client_id,
            "AZURE_CLIENT_SECRET": self.client_secret,
        }

    def answer(self, request: HttpRequest) -> JsonObject | None:
        if request.path == "/adfs/.well-known/openid-configuration":
            at = f"{self.address}/adfs"
            return {
                "issuer": at,
                "token_endpoint": f"{at}/oauth2/token",
                "authorization_endpoint": f"{at}/oauth2/authorize",
            }
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        wanted = {
            "grant_type": "client_credentials",
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "scope": "https://ai.azure.com/.default",
        }
        if request.path != "/adfs/oauth2/token" or not wanted.items() <= form.items():
            return None
        return {"access_token": self.token, "token_type": "Bearer", "expires_in": 3600}
