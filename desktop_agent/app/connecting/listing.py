"""Asks the address of an account which models it has. That is the test of a connection: it costs nothing."""

from collections.abc import Sequence

from msgspec.structs import replace

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.providers.auth.credential import Credential
from desktop_agent.core.providers.auth.keys import beside, resolve_key
from desktop_agent.core.providers.vendor_provider import account_provider, key_credential
from desktop_agent.core.settings.model_choice import NamedModel


async def models_at(bench: Workbench, account: Account, typed: str = "") -> Sequence[ListedModel]:
    """Return the models that an account can use, with a typed key, or what it has if that is empty.

    The usual account is asked where settings and environment say that its provider is. Raises `AgentError`.
    """
    asked = account
    if account.is_usual and not account.address:
        meant = bench.model_meant(NamedModel(provider=account.provider, account=account.label))
        asked = replace(account, address=meant.base_url or "")
    client = account_provider(
        asked,
        await _credential(bench, account, typed),
        environ=bench.environ,
        allows_readable_proxy=bench.settings.model.allow_readable_proxy,
    )
    try:
        return await client.list_models()
    finally:
        await client.aclose()


async def _credential(bench: Workbench, account: Account, typed: str) -> Credential:
    if account.kind in ("oauth", "profile"):
        return await bench.sign_ins.credential(account)
    key = typed or (await beside(lambda: resolve_key(account, bench.environ, bench.keys))).value
    if not key and account.kind == "key":
        raise CredentialsError("There is no key to check.")
    return key_credential(account, key)


def model_to_begin_with(account: Account, listed: Sequence[ListedModel]) -> str:
    """Return the vendor's usual model, if the account has it, else the first that can answer; empty for none.

    A listed name may have a date after the usual one.
    """
    names = [model.name for model in listed]
    for usual in vendor_of(account.provider).models:
        for name in names:
            if name == usual or name.startswith(f"{usual}-2"):
                return name
    return next(iter(names), "")
