"""Signing in with OpenRouter, which ends with an API key that the user sees, and can revoke, in the account there.

https://openrouter.ai/docs/use-cases/oauth-pkce. It sends no state back, so the state is part of the path that the
browser comes back to.
"""

from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlencode

import msgspec

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.providers.auth.sign_in import failures
from desktop_agent.core.providers.auth.sign_in.attempt import Attempt
from desktop_agent.core.providers.auth.sign_in.flow import Browser, code_from_browser
from desktop_agent.core.providers.auth.sign_in.redirect import RedirectReceiver
from desktop_agent.core.providers.auth.sign_in.services import OPENROUTER, OpenRouterService
from desktop_agent.core.providers.auth.tokens.endpoint import RefusedGrantError, TokenEndpoint


@dataclass(frozen=True, slots=True)
class _KeyAnswer:
    key: Annotated[str, msgspec.Meta(min_length=8, max_length=1_000, pattern=r"^[\x21-\x7e]+$")] = field(repr=False)


async def sign_in(browser: Browser, *, clock: Clock, service: OpenRouterService = OPENROUTER) -> str:
    """Have the user sign in, and return an API key; nothing is kept here.

    Raises `CredentialsError`. Being cancelled closes the port, and leaves nothing behind.
    """
    attempt = Attempt.new()
    receiver = RedirectReceiver(f"/sign-in/{attempt.state}", state=None, host=service.redirect_host)
    async with receiver:
        fields = {
            "callback_url": receiver.address,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        address = f"{service.authorize_url}?{urlencode(fields)}"
        answer = await code_from_browser(service.name, address, receiver, browser, clock)
    proof = {"code": answer["code"], "code_verifier": attempt.verifier, "code_challenge_method": "S256"}
    try:
        body = await TokenEndpoint(service.name, service.keys_url).post_json(proof)
    except RefusedGrantError as error:
        raise failures.refused_grant(service.name, error) from None
    except ProviderError as error:
        raise failures.unanswered(error) from None
    return _key(body, service.name)


def _key(body: bytes, service: str) -> str:
    try:
        return msgspec.json.decode(body, type=learned(_KeyAnswer)).key
    except msgspec.DecodeError as error:  # its message has types and places, no values
        raise CredentialsError(
            f"{service} answered the sign-in with something else than a key.", hint="Sign in again.", detail=str(error)
        ) from None
