"""Who signed in, by the identity token of OpenID Connect, which also proves that the tokens are this sign-in's.

Its signature is not checked: it comes straight from the token endpoint, and TLS says who that is. OpenID Connect Core
3.1.3.7, number 6, allows that; https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation has the rest.
"""

import base64
import binascii
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from desktop_agent.core.base.learned import learned
from desktop_agent.core.providers.auth.sign_in import failures
from desktop_agent.core.providers.auth.sign_in.attempt import is_same

_SKEW = timedelta(minutes=5)
"""How far the two clocks may be apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the token must say."""

    service: str
    issuer: str
    client_id: str
    nonce: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The user at the service."""

    subject: str
    """The same for each sign-in of the same user with the same application."""
    email: str = ""


@dataclass(frozen=True, slots=True)
class _Claims:
    iss: str
    sub: str
    aud: str | list[str]
    exp: float
    nonce: str = field(repr=False)
    azp: str | None = None
    email: str = ""


def read_identity(token: str, expected: Expected, now: datetime) -> Identity:
    """Return who the identity token is about. Raises `CredentialsError` when it is not for this sign-in."""
    claims = _claims(token, expected.service)
    audience = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    party = claims.azp if claims.azp is not None or len(audience) > 1 else expected.client_id
    problems = (
        ("another issuer", claims.iss == expected.issuer),
        ("another application", expected.client_id in audience and party == expected.client_id),
        ("another sign-in", is_same(claims.nonce, expected.nonce)),
        ("expired", now.timestamp() < claims.exp + _SKEW.total_seconds()),
        ("nobody", bool(claims.sub)),
    )
    for problem, is_right in problems:
        if not is_right:
            raise failures.not_for_us(expected.service, f"identity token: {problem}")
    return Identity(subject=claims.sub, email=claims.email)


def _claims(token: str, service: str) -> _Claims:
    parts = token.split(".")
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)) if len(parts) == 3 else b""
        return msgspec.json.decode(payload, type=learned(_Claims))
    except (msgspec.DecodeError, binascii.Error, ValueError):
        raise failures.not_for_us(service, "identity token: malformed") from None
