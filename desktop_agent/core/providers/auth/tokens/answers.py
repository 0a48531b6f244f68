"""What a token endpoint answers when it grants something, as RFC 6749 5.1 and OpenID Connect have it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.providers.auth.tokens.granted import Tokens

_LONGEST_TOKEN = 16_384
_LONGEST_LIFE_S = 10 * 366 * 24 * 3600

_Secret = Annotated[str, msgspec.Meta(max_length=_LONGEST_TOKEN, pattern=r"^[\x21-\x7e]+$")]
"""Printable, so that it can stand in a header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAnswer:
    """A grant. The representation shows no token."""

    access_token: _Secret = field(repr=False)
    refresh_token: _Secret | None = field(default=None, repr=False)
    id_token: _Secret | None = field(default=None, repr=False)
    token_type: str = "Bearer"  # noqa: S105 - the kind of a token
    expires_in: Annotated[float, msgspec.Meta(gt=0, le=_LONGEST_LIFE_S)] | None = None
    """Seconds."""
    scope: str | None = None
    """`None` when what was asked for is granted."""

    def tokens(self, now: datetime, *, before: Tokens | None = None, scopes: frozenset[str] = frozenset()) -> Tokens:
        """Return what is granted from `now` on. What the answer leaves out is as it was `before`, else `scopes`."""
        refresh = before.refresh if before is not None and self.refresh_token is None else self.refresh_token
        unsaid = before.scopes if before is not None else scopes
        return Tokens(
            access=self.access_token,
            refresh=refresh,
            expires_at=now + timedelta(seconds=self.expires_in) if self.expires_in is not None else None,
            scopes=frozenset(self.scope.split()) if self.scope is not None else unsaid,
        )


def read_grant(body: bytes, service: str) -> TokenAnswer:
    """Return the grant that a body is. Raises `ProviderError` for anything else, quoting nothing of it."""
    try:
        answer = msgspec.json.decode(body, type=learned(TokenAnswer))
    except msgspec.DecodeError as error:  # its message has types and places, no values
        raise _no_grant(service, str(error)) from None
    if answer.token_type.lower() != "bearer":
        raise _no_grant(service, "the tokens are of another type than Bearer")
    return answer


def _no_grant(service: str, detail: str) -> ProviderError:
    return ProviderError(
        f"{service} answered the sign-in with something else than tokens.",
        fault="unacceptable",
        hint="Try again. If it stays so, the application needs an update, or something stands in between.",
        detail=detail,
    )
