"""The provider of an account: its vendor's entry in the table, the wire format that it names, and who asks."""

import os
from collections.abc import Mapping

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.catalogue import ModelCatalogue
from desktop_agent.core.models.vendors import Vendor, vendor_of
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.anthropic import ONLY_AT_HOME, AnthropicFormat
from desktop_agent.core.providers.auth.credential import Credential, KeyCredential, NoCredential
from desktop_agent.core.providers.chat import CACHE_KEY, ChatFormat
from desktop_agent.core.providers.http_provider import SILENCE_S, ApiEndpoint, HttpProvider
from desktop_agent.core.providers.responses import NOT_ON_A_PLAN, ResponsesFormat
from desktop_agent.core.providers.responses_stream import CACHE_FIELDS
from desktop_agent.core.providers.wire_format import WireFormat


def account_provider(
    account: Account,
    credential: Credential,
    *,
    model: ModelRef | None = None,
    models: ModelCatalogue | None = None,
    environ: Mapping[str, str] = os.environ,
    allows_readable_proxy: bool = False,
    silence_s: float = SILENCE_S,
    clock: Clock | None = None,
) -> HttpProvider:
    """Return the provider of an account; without network or HTTP client.

    `model` is who answers: what other models thought is not sent to it.
    """
    vendor = vendor_of(account.provider)
    of_environment = custom_headers(vendor, environ) if account.is_usual else {}
    endpoint = ApiEndpoint(
        address=account.where,
        headers={**account.headers, **of_environment},
        secrets=tuple(word for value in of_environment.values() for word in (value, *value.split())),
        key_hint=other_credential(account),
        allows_readable_proxy=allows_readable_proxy,
        silence_s=silence_s,
        model=model.bare if model is not None else None,
        account=account,
        models=models,
        is_prepaid=account.kind == "oauth",
    )
    return HttpProvider(account.full_label, wire_format_of(account), endpoint, credential, clock=clock)


def key_credential(account: Account, key: str | None) -> Credential:
    if key is None:
        return NoCredential()
    return KeyCredential(key, header=account.header, key_hint=other_credential(account))


def wire_format_of(account: Account) -> WireFormat:
    """Return the wire format of an account; elsewhere than at its vendor's, without what only the vendor knows."""
    vendor = vendor_of(account.provider)
    is_at_home = account.where.rstrip("/") == vendor.address
    match vendor.wire:
        case "anthropic":
            return AnthropicFormat(never=() if is_at_home else ONLY_AT_HOME, searches=vendor.searches)
        case "openai-responses":
            is_cached = vendor.takes_cache_key and is_at_home
            never = NOT_ON_A_PLAN if account.kind == "oauth" else frozenset[str]()
            return ResponsesFormat(
                never=never if is_cached else never | CACHE_FIELDS,
                searches=vendor.searches,
                names_sources=vendor.names_sources,
            )
        case "openai-chat":
            limit_field = "max_completion_tokens" if vendor.takes_completion_limit and is_at_home else "max_tokens"
            return ChatFormat(
                limit_field=limit_field,
                reports_cost=vendor.reports_cost,
                allows_several_calls=vendor.calls_one_by_one,
                cache_marks_for=vendor.cache_marks_for,
                never=() if vendor.takes_cache_key and is_at_home else (CACHE_KEY,),
                searches=vendor.searches,
                effort_field=vendor.effort_field,
            )


def other_credential(account: Account) -> str:
    """Return what a user does about a key, or a sign-in, that is refused."""
    vendor = vendor_of(account.provider)
    if account.kind == "oauth":
        return f"Sign in again: `desktop-agent auth sign-in {vendor.id} --account {account.label}`."
    if account.kind == "profile":
        return "Sign in again: `ant auth login`."
    if vendor.is_local:
        return "The server wants a key: enter it in Settings."
    return f"Enter another key in Settings, or correct {vendor.key_variable} if the key comes from the environment."


def custom_headers(vendor: Vendor, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the vendor's variable for headers names, a header on each line, as other programs read it."""
    text = environ.get(vendor.headers_variable, "") if vendor.headers_variable else ""
    lines = (line.partition(":") for line in text.split("\n"))
    return {name.strip(): value.strip() for name, colon, value in lines if colon}
