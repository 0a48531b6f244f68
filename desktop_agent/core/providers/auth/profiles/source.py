"""The access token of a profile whenever one is wanted, and what else a request with it says."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.providers.auth.profiles.credentials_file import CredentialsFile
from desktop_agent.core.providers.auth.profiles.profile import Profile
from desktop_agent.core.providers.auth.tokens.answers import read_grant
from desktop_agent.core.providers.auth.tokens.endpoint import RefusedGrantError, TokenEndpoint
from desktop_agent.core.providers.auth.tokens.granted import Tokens
from desktop_agent.core.providers.auth.tokens.source import RenewingSource, TokenSource, signed_out

OAUTH_BETA = "oauth-2025-04-20"
"""The `anthropic-beta` without which the API takes no access token."""

_TOKEN_PATH = "/v1/oauth/token"  # noqa: S105 - a path
_LIFE_S = 3600
"""How long a token is good when the answer does not say: what the SDK takes."""

_NAME = "Anthropic"


def request_headers(profile: Profile) -> Mapping[str, str]:
    """Return what goes with every request to the API, beside the token."""
    workspace = {"anthropic-workspace-id": profile.workspace_id} if profile.workspace_id else {}
    return {"anthropic-beta": OAUTH_BETA, **workspace}


def token_source(
    profile: Profile, *, lock: Callable[[], AbstractAsyncContextManager[None]], clock: Clock
) -> TokenSource:
    """Return the source of the profile's tokens. `lock` is among processes of this application: the SDK has none."""
    file = CredentialsFile(profile)
    if not profile.client_id:
        return RereadSource(profile, file)
    return RenewingSource(file, ProfileRenewal(profile, clock=clock), clock=clock, lock=lock)


class ProfileRenewal:
    """Renews the tokens of a profile as the SDK does: `POST <base_url>/v1/oauth/token`, in JSON."""

    def __init__(self, profile: Profile, *, clock: Clock) -> None:
        self._profile = profile
        self._clock = clock

    @property
    def service(self) -> str:
        return _NAME

    @property
    def how_to_sign_in(self) -> str:
        return "Sign in again: `ant auth login`."

    async def renewed(self, tokens: Tokens) -> Tokens:
        """Return what the refresh token brings; it is used up then. Raises as `Renewal` says."""
        if not tokens.refresh:
            raise signed_out(self, "there is no refresh token")
        fields = {
            "grant_type": "refresh_token",
            "refresh_token": tokens.refresh,
            "client_id": self._profile.client_id,
        }
        endpoint = TokenEndpoint(_NAME, self._profile.base_url + _TOKEN_PATH, headers={"anthropic-beta": OAUTH_BETA})
        try:
            body = await endpoint.post_json(fields)
        except RefusedGrantError as error:
            raise signed_out(self, str(error)) from None
        grant = read_grant(body, _NAME)
        return replace(grant, expires_in=grant.expires_in or _LIFE_S).tokens(self._clock.now(), before=tokens)

    def require_use(self, tokens: Tokens) -> None:
        """What such a token may do, the API says."""


class RereadSource:
    """The tokens of a profile that another program renews: the file says which one it is now."""

    def __init__(self, profile: Profile, file: CredentialsFile) -> None:
        self._profile = profile
        self._file = file

    async def access_token(self) -> str:
        """Return what is in the file now."""
        tokens = await self._file.load()
        if tokens is None:
            raise self._not_renewed("there is no file with tokens")
        return tokens.access

    async def refused(self, token: str) -> str:
        """Return what is in the file, when that is another token by now."""
        again = await self.access_token()
        if again == token:
            raise self._not_renewed("the token in the file was refused")
        return again

    def _not_renewed(self, detail: str) -> CredentialsError:
        return CredentialsError(
            f"Anthropic does not take the token of the profile {self._profile.name!r}.",
            hint="Let the program that renews it run, or sign in again: `ant auth login`.",
            detail=f"{self._profile.credentials_path}: {detail}",
        )
