"""Token grants, and one request to a token endpoint. Answers are read strictly, following RFC 6749 5.1.

Requests and answers are secrets: no error, log or `repr` quotes them, except for the code of a refusal.
"""

import asyncio
import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from importlib import import_module
from typing import Annotated

import msgspec

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import Discreet
from desktop_agent.core.base.web_address import address_of, is_readable_on_the_way
from desktop_agent.core.providers.faults import fault_of_status
from desktop_agent.core.system.network.connections import proxy_for

_CONNECTION = "desktop_agent.core.providers.http_connection"


class Tokens(Discreet, frozen=True, kw_only=True):
    """Tokens of one account. The `repr` shows none of them."""

    SHOWN = ("expires_at", "scopes")

    access: str
    refresh: str | None = None
    expires_at: datetime | None = None
    """When the access token expires. `None`: unknown, so the token is used until it is refused."""
    scopes: frozenset[str] = frozenset()

    def is_fresh(self, now: datetime, margin: timedelta = timedelta()) -> bool:
        return self.expires_at is None or now + margin < self.expires_at


_LONGEST_TOKEN = 16_384
_LONGEST_LIFE_S = 10 * 366 * 24 * 3600

_Secret = Annotated[str, msgspec.Meta(max_length=_LONGEST_TOKEN, pattern=r"^[\x21-\x7e]+$")]


class TokenAnswer(Discreet, frozen=True, kw_only=True):
    SHOWN = ("token_type", "expires_in", "scope")

    access_token: _Secret
    refresh_token: _Secret | None = None
    id_token: _Secret | None = None
    token_type: str = "Bearer"  # noqa: S105 - the kind of a token
    expires_in: Annotated[float, msgspec.Meta(gt=0, le=_LONGEST_LIFE_S)] | None = None
    """In seconds."""
    scope: str | None = None
    """The scopes that were granted; `None` if all requested scopes were granted."""

    def tokens(self, now: datetime, *, before: Tokens | None = None, scopes: frozenset[str] = frozenset()) -> Tokens:
        """Return the tokens, valid from `now` on. Values missing in the answer come from `before` or `scopes`."""
        refresh = before.refresh if before is not None and self.refresh_token is None else self.refresh_token
        unsaid = before.scopes if before is not None else scopes
        return Tokens(
            access=self.access_token,
            refresh=refresh,
            expires_at=now + timedelta(seconds=self.expires_in) if self.expires_in is not None else None,
            scopes=frozenset(self.scope.split()) if self.scope is not None else unsaid,
        )


def read_grant(body: bytes, service: str) -> TokenAnswer:
    """Return the grant in a body. Raises `ProviderError`, which does not quote the body."""
    try:
        answer = msgspec.json.decode(body, type=learned(TokenAnswer))
    except msgspec.DecodeError as error:  # its message has types and places, no values
        raise _no_grant(service, str(error)) from None
    if answer.token_type.lower() != "bearer":
        raise _no_grant(service, "the tokens are of another type than Bearer")
    return answer


def _no_grant(service: str, detail: str) -> ProviderError:
    return ProviderError(
        f"{service} answered the sign-in with something other than tokens.",
        fault="unacceptable",
        hint="Try again. If it happens again, update the application, or check whether a proxy changes answers.",
        detail=detail,
    )


ANSWER_S = 30.0

ERROR_CODE = regex(r"[A-Za-z0-9_.:-]{1,64}")


class RefusedGrantError(Exception):
    """The service refused the grant. `code` is the error code that it gave, or empty."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"HTTP {status} {code}".strip())
        self.status = status
        self.code = code


class TokenEndpoint:
    def __init__(self, service: str, address: str, *, headers: Mapping[str, str] | None = None) -> None:
        self.service = service
        self._address = address
        self._headers = {"Accept": "application/json", "User-Agent": f"desktop-agent/{__version__}", **(headers or {})}

    async def post(self, fields: Mapping[str, str], *, as_json: bool = False) -> bytes:
        """Send `fields` as a form or as JSON; return the answer. Raises `RefusedGrantError` and `ProviderError`."""
        data, json = (None, dict(fields)) if as_json else (dict(fields), None)
        if is_readable_on_the_way(self._address) or address_of(self._address) is None:
            raise ProviderError(
                f"Nothing was sent to {self.service}: the address of its sign-in is not encrypted.",
                fault="configuration",
                hint="Use an https:// address.",
            )
        await asyncio.to_thread(import_module, _CONNECTION)  # the import and the certificates take a moment
        from desktop_agent.core.providers.http_connection import FAILURES, network_error, token_client

        proxy = proxy_for(self._address, os.environ)
        async with await asyncio.to_thread(token_client, self._address, proxy, self._headers, ANSWER_S) as client:
            request = client.build_request("POST", self._address, data=data, json=json)
            try:
                response = await client.send(request)
            except ProviderError as error:
                raise ProviderError(
                    f"{self.service} gave no answer that a sign-in may have.",
                    fault=error.fault,
                    hint="Check the network, and a gateway or proxy in between.",
                    detail=f"{error.title} {error.detail}".strip(),
                ) from None
            except FAILURES as error:
                known = network_error(error, address_of(self._address) or self.service, proxy)
                title = f"{self.service} could not be reached for the sign-in."
                raise ProviderError(title, fault=known.fault, hint=known.hint, detail=known.detail) from None
        if response.is_success:
            return response.content
        fault = fault_of_status(response.status_code)
        if fault in ("server", "overloaded", "rate_limited"):
            raise ProviderError(
                f"{self.service} cannot answer a sign-in now.",
                fault=fault,
                hint="Try again in a moment.",
                detail=f"HTTP {response.status_code}",
            )
        raise RefusedGrantError(response.status_code, _code_in(response.content))


def _code_in(body: bytes) -> str:
    try:
        said: object = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return ""
    match said:
        case {"error": str(code)} | {"error": {"code": str(code)}} | {"error": {"type": str(code)}}:
            return code if ERROR_CODE.fullmatch(code) else ""
        case _:
            return ""
