"""What a service granted: an access token that soon expires, and the refresh token that brings the next one."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens of one account. The representation shows neither."""

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    """`None` when another program renews the access token."""
    expires_at: datetime | None = None
    """`None` when that is not known: the token is used until it is refused."""
    scopes: frozenset[str] = frozenset()

    def is_fresh(self, now: datetime, margin: timedelta = timedelta()) -> bool:
        """Whether the access token is good for `margin` more."""
        return self.expires_at is None or now + margin < self.expires_at


class KeptTokens(Protocol):
    """Where the tokens of one account are kept, for every process of the user. All of it raises `CredentialsError`."""

    async def load(self) -> Tokens | None:
        """Return what is kept now, or `None` without a sign-in."""
        ...

    async def keep(self, tokens: Tokens) -> None:
        """Put `tokens` in the place of what is kept, the refresh token first."""
        ...

    async def drop(self) -> None:
        """Forget tokens that the service takes no more. No error when there are none."""
        ...
