"""What a server wants that refuses a token because it allows too little, out of its answer."""

import re

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth

from desktop_agent.core.mcp.sign_in import Challenge

_HEADER = re.compile(r"[\x20-\x7e]{1,2000}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
"""RFC 6749 3.3."""

_STATUS = 403


def challenge_in(response: httpx2.Response) -> Challenge | None:
    """Return what it wants; `None` for any other answer, also for one that does not say which scopes it wants."""
    header = response.headers.get("www-authenticate", "")
    if response.status_code != _STATUS or _HEADER.fullmatch(header) is None:
        return None
    if extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return None
    scopes = frozenset((extract_scope_from_www_auth(response) or "").split())
    if not scopes or not all(map(_SCOPE.fullmatch, scopes)):
        return None
    return Challenge(header=header, scopes=scopes)


class ChallengedTransport(httpx2.AsyncBaseTransport):
    """Answers a request with a challenge itself when it was told one; all others go their way.

    So the SDK signs in for what was refused before, which the request that it is given might not be.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        self._challenge: httpx2.Response | None = None

    def challenge(self, header: str) -> None:
        """Answer the next request so: the token allows too little."""
        self._challenge = httpx2.Response(_STATUS, headers={"WWW-Authenticate": header})

    def want_token(self) -> None:
        """Answer the next request so: there is no token."""
        self._challenge = httpx2.Response(401)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        challenge, self._challenge = self._challenge, None
        return challenge if challenge is not None else await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
