"""An authorisation server on loopback that enforces OAuth 2, PKCE and OpenID Connect.

It plays ChatGPT's (`/authorize`, `/token`), OpenRouter's (`/auth`, `/keys`) and Anthropic's (`/v1/oauth/token`), with
its list of models (`/v1/models`), which wants a token that was granted and is not among the `refused`. Codes and
refresh tokens work once; a second use of a refresh token ends the sign-in, as at the real ones.
"""

import asyncio
import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.auth.sign_ins import ChatGptService, OpenRouterService
from tests.servers.http1 import HttpRequest, LoopbackServer, Responder, read_request

Fields = dict[str, str]

ISSUED_CLIENT = "oaiapp_of-this-account"
SUBJECT = "user-0123"
EMAIL = "somebody@example.org"
KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"


@dataclass
class Behaviour:
    """Deviations of the server. The defaults are those of a working service."""

    redirect: Fields = field(default_factory=Fields)
    without: tuple[str, ...] = ()
    claims: JsonObject = field(default_factory=JsonObject)
    grant: JsonObject = field(default_factory=JsonObject)
    """Overrides the correct answer of the token endpoint; `None` leaves a field out."""
    token_answer: tuple[int, str] | None = None
    """A status and a body for all following token requests."""
    holds: bool = False


class AuthorizationServer(LoopbackServer):
    def __init__(self, **behaviour: object) -> None:
        super().__init__()
        self.resource = "https://api.openai.com/v1"
        self.behaviour = Behaviour(**behaviour)  # pyright: ignore[reportArgumentType] - fields by their names
        self.asked: list[Fields] = []
        self.token_requests: list[Fields] = []
        self.token_headers: list[dict[str, str]] = []
        self.secrets: set[str] = set()
        self.refused: set[str] = set()
        self.requests: list[dict[str, str]] = []
        """The headers of requests for the list of models."""
        self.violations: list[str] = []
        self.was_asked_for_tokens = asyncio.Event()
        self._go_on = asyncio.Event()
        self._codes: dict[str, Fields] = {}
        self._refresh_tokens: set[str] = set()
        self._used: set[str] = set()
        self._count = 0

    def chatgpt(self) -> ChatGptService:
        return ChatGptService(
            authorize_url=f"{self.url}/authorize",
            token_url=f"{self.url}/token",
            issuer=self.url,
            resource=self.resource,
        )

    def openrouter(self) -> OpenRouterService:
        return OpenRouterService(authorize_url=f"{self.url}/auth", keys_url=f"{self.url}/keys")

    def issue_refresh_token(self) -> str:
        token = self._secret("refresh-token")
        self._refresh_tokens.add(token)
        return token

    def revoke(self) -> None:
        self._refresh_tokens.clear()

    def release(self) -> None:
        self._go_on.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            await self._answer(request, Responder(writer))

    async def _answer(self, request: HttpRequest, responder: Responder) -> None:
        path, _, query = request.path.partition("?")
        match path:
            case "/authorize":
                await self._redirect(responder, self._authorized(dict(parse_qsl(query))))
            case "/auth":
                await self._redirect(responder, self._callback(dict(parse_qsl(query))))
            case "/token" | "/keys" | "/v1/oauth/token":
                await self._tokens(path, request, responder)
            case "/v1/models":
                self.requests.append(request.headers)
                token = request.headers["authorization"].removeprefix("Bearer ")
                is_good = token in self.secrets - self.refused
                unknown: JsonObject = {"error": {"type": "authentication_error", "message": "unknown token"}}
                await responder.whole(200 if is_good else 401, {"data": []} if is_good else unknown, {})
            case _:
                await responder.whole(404, {"error": "not_found"}, {})

    async def _redirect(self, responder: Responder, target: str) -> None:
        await responder.whole(302, "", {"location": target})

    def _authorized(self, asked: Fields) -> str:
        self.asked.append(asked)
        self.secrets |= {asked["state"], asked["nonce"]}
        code = self._code({**asked, "redirect": asked["redirect_uri"]})
        answer = {"code": code, "state": asked["state"]}
        if asked["client_id"] == "dynamic_agent_client":
            answer["client_id"] = ISSUED_CLIENT
        return self._target(asked["redirect_uri"], answer)

    def _callback(self, asked: Fields) -> str:
        self.asked.append(asked)
        self.secrets.add(asked["callback_url"].rpartition("/")[2])
        code = self._code({**asked, "client_id": "", "redirect": ""})
        return self._target(asked["callback_url"], {"code": code})

    def _target(self, redirect: str, answer: Fields) -> str:
        answer = answer | self.behaviour.redirect
        kept = {name: value for name, value in answer.items() if name not in self.behaviour.without}
        return f"{redirect}?{urlencode(kept)}"

    def _code(self, asked: Fields) -> str:
        if asked.get("code_challenge_method") != "S256":
            self.violations.append("no PKCE with S256")
        code = self._secret("code")
        self._codes[code] = asked
        return code

    async def _tokens(self, path: str, request: HttpRequest, responder: Responder) -> None:
        is_form = request.headers["content-type"] == "application/x-www-form-urlencoded"
        if is_form != (path == "/token"):
            self.violations.append(f"{request.headers['content-type']} at {path}")
        text = request.body.decode()
        fields = dict(parse_qsl(text)) if is_form else cast("Fields", json.loads(text))
        self.token_requests.append(fields)
        self.token_headers.append(request.headers)
        self.secrets |= {fields[name] for name in ("code_verifier",) if name in fields}
        self.was_asked_for_tokens.set()
        status, body = self._granted(path, fields)
        if self.behaviour.holds:
            await self._go_on.wait()
        if self.behaviour.token_answer is not None:
            status, body = self.behaviour.token_answer
        await responder.whole(status, body, {})

    def _granted(self, path: str, fields: Fields) -> tuple[int, JsonObject | str]:
        if path == "/keys":
            problem = self._problem_of_code(fields, "")
            return (403, {"error": {"code": 403}}) if problem else (200, {"key": KEY, "user_id": "u"})
        if path == "/token" and fields.get("resource") != self.resource:
            return 400, {"error": "invalid_target"}
        if fields["grant_type"] == "refresh_token":
            return self._refreshed(fields["refresh_token"])
        if fields["grant_type"].endswith(":jwt-bearer"):
            return (200, self._grant()) if fields["assertion"] in self.secrets else (400, {"error": "invalid_grant"})
        problem = self._problem_of_code(fields, fields["redirect_uri"])
        if problem:
            self.violations.append(problem)
            return 400, {"error": "invalid_grant", "error_description": problem}
        asked = self._codes[fields["code"]]
        id_token = self._id_token(fields["client_id"], asked["nonce"])
        return 200, self._grant() | {"scope": asked["scope"], "id_token": id_token} | self._stray()

    def _problem_of_code(self, fields: Fields, redirect: str) -> str:
        asked = self._codes.get(fields["code"])
        if asked is None or fields["code"] in self._used:
            return "no such code"
        self._used.add(fields["code"])
        digest = hashlib.sha256(fields["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"]:
            return "another verifier"
        if fields.get("client_id") == "dynamic_agent_client":
            return "the client id of everybody"
        return "" if asked["redirect"] == redirect else "another redirect address"

    def _refreshed(self, token: str) -> tuple[int, JsonObject | str]:
        if token not in self._refresh_tokens:
            self.revoke()
            return 400, {"error": "invalid_grant", "error_description": f"unknown: {token}"}
        self._refresh_tokens.remove(token)
        return 200, {name: value for name, value in (self._grant() | self._stray()).items() if value is not None}

    def _grant(self) -> JsonObject:
        return {
            "access_token": self._secret("access-token"),
            "refresh_token": self.issue_refresh_token(),
            "token_type": "Bearer",
            "expires_in": 3600,
        }

    def _stray(self) -> JsonObject:
        self.secrets |= {
            value for name, value in self.behaviour.grant.items() if name.endswith("_token") and isinstance(value, str)
        }
        return self.behaviour.grant

    def _id_token(self, client_id: str, nonce: str) -> str:
        claims = {"iss": self.url, "aud": client_id, "sub": SUBJECT, "email": EMAIL, "exp": 4e9, "nonce": nonce}
        payload = base64.urlsafe_b64encode(json.dumps(claims | self.behaviour.claims).encode()).decode().rstrip("=")
        token = f"eyJhbGciOiJSUzI1NiJ9.{payload}.c2lnbmF0dXJl"
        self.secrets.add(token)
        return token

    def _secret(self, kind: str) -> str:
        self._count += 1
        secret = f"{kind}-{self._count}-{hashlib.sha256(f'{kind}{self._count}'.encode()).hexdigest()}"
        self.secrets.add(secret)
        return secret


def query_of(address: str) -> Fields:
    return dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))
