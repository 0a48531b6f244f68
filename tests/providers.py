"""Providers for tests, built like the catalog's, without the machine's settings and keys."""

from msgspec.structs import replace

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.providers.http_provider import SILENCE_S, HttpProvider
from desktop_agent.core.providers.provider_catalog import account_provider, key_credential


def keyed_provider(
    provider: str,
    key: str,
    *,
    address: str | None = None,
    allows_readable_proxy: bool = False,
    silence_s: float = SILENCE_S,
    clock: Clock | None = None,
) -> HttpProvider:
    account = usual_account(provider)
    return account_provider(
        replace(account, address=address or ""),
        key_credential(account, key),
        allows_readable_proxy=allows_readable_proxy,
        silence_s=silence_s,
        clock=clock,
    )


def anthropic_provider(
    *,
    api_key: str,
    base_url: str | None = None,
    allows_readable_proxy: bool = False,
    silence_s: float = SILENCE_S,
    clock: Clock | None = None,
) -> HttpProvider:
    return keyed_provider(
        "anthropic",
        api_key,
        address=base_url,
        allows_readable_proxy=allows_readable_proxy,
        silence_s=silence_s,
        clock=clock,
    )
