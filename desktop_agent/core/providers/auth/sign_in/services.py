"""The services with a sign-in of their own that this program may offer, as data. Tests replace the addresses.

What is allowed, and what is not, with the sources: docs/guide/sign-in.md.
"""

from typing import Literal

from msgspec import Struct


class ChatGptService(Struct, frozen=True, kw_only=True):
    """*Sign in with ChatGPT*, with the use of the user's plan by an open-source program on the user's machine.

    https://developers.openai.com/siwc/token-sharing-open-source
    """

    name: str = "ChatGPT"
    authorize_url: str = "https://auth.openai.com/api/accounts/authorize"
    token_url: str = "https://auth.openai.com/api/accounts/oauth/token"  # noqa: S105 - an address
    issuer: str = "https://auth.openai.com"
    resource: str = "https://api.openai.com/v1"
    first_client_id: str = "dynamic_agent_client"
    """For the first sign-in of an account; its answer brings the id that is used from then on."""
    agent_name: str = "Desktop Agent"
    redirect_path: str = "/auth/callback"
    """The same each time; only the port may change."""
    scopes: tuple[str, ...] = (
        "openid",
        "profile",
        "email",
        "offline_access",
        "resource.invoke",
        "chatgpt.tokens.use.direct",
    )
    required_scopes: frozenset[str] = frozenset({"chatgpt.tokens.use.direct"})


class OpenRouterService(Struct, frozen=True, kw_only=True):
    """OpenRouter's sign-in, which ends with an API key of the user: https://openrouter.ai/docs/use-cases/oauth-pkce."""

    name: str = "OpenRouter"
    authorize_url: str = "https://openrouter.ai/auth"
    keys_url: str = "https://openrouter.ai/api/v1/auth/keys"
    redirect_host: Literal["localhost", "127.0.0.1"] = "localhost"
    """The host for which it documents that every port may be used."""


CHATGPT = ChatGptService()
OPENROUTER = OpenRouterService()
