"""`desktop-agent auth`: accounts with providers, and their keys in the operating system's keyring."""

import argparse
import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import cast, get_args

from msgspec.structs import replace

from desktop_agent.cli.console import Console, table, typed_secret
from desktop_agent.core.base.errors import CredentialsError, ProviderError, UnsafeSettingsError, UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import (
    Account,
    AccountKind,
    account_problem,
    is_same_name,
    named,
    usual_account,
    with_cloud,
)
from desktop_agent.core.models.vendors import VENDORS, CloudField, LocalServer, vendor_of
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile, LoadedAccounts
from desktop_agent.core.providers.auth.keys import ResolvedKey, SystemKeyStore, entry_of, resolve_key
from desktop_agent.core.providers.local import Place, is_here, look_for_servers
from desktop_agent.core.providers.provider_catalog import who_asks
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import Destination, destination
from desktop_agent.core.settings.sections import ModelSettings

_WITHOUT_A_KEY: Mapping[AccountKind, str] = {
    "key": "no key",
    "oauth": "a sign-in",
    "profile": "a sign-in of the vendor's own tools",
    "none": "needs no key",
}


def show_status(args: argparse.Namespace, console: Console) -> None:
    """Print the source of each account's key, though never the key, and the purpose of the account."""
    _, loaded = _accounts()
    store, live = SystemKeyStore(tell=console.say), _settings()
    accounts = [
        (vendor, account, destination(account, live.loaded, args.environ))
        for vendor in VENDORS
        for account in loaded.of(vendor.id)
    ]
    places = [
        Place(provider=account.provider, address=there.address)
        for vendor, account, there in accounts
        if vendor.is_local
    ]
    local = list(dict.fromkeys(place for place in places if is_here(place.address)))
    chosen = live.current.model
    keys = {entry_of(account): _key_of(account, args.environ, store) for _, account, _ in accounts}
    clouds = {
        entry_of(account): (account if there.named_by == "" else replace(account, address=there.address))
        for vendor, account, there in accounts
        if vendor.cloud is not None and (account in loaded.added or _is_chosen(account, chosen))
    }
    asking = {entry: (account, keys[entry][0].value) for entry, account in clouds.items() if not keys[entry][1]}
    found, identities = asyncio.run(_look(local, asking, args.environ))  # noqa: TID251 - entry point
    servers = dict(zip(local, found, strict=True))
    documents: list[JsonObject] = []
    rows: list[list[str]] = []
    for vendor, account, there in accounts:
        used_for = "new sessions" if _is_chosen(account, chosen) else ""
        key, problem = keys[entry_of(account)]
        words = {
            "environment": f"from {vendor.key_variable}",
            "keyring": "in the system keyring",
            "run": "of this run",
            None: problem or _WITHOUT_A_KEY[account.kind],
        }
        identity, unfit = identities.get(entry_of(account), ("", ""))
        server = _server_document(servers.get(Place(provider=account.provider, address=there.address)))
        more = {"problem": problem or unfit, "used_for": used_for, "server": server, "identity": identity}
        documents.append(_document(account, key.source, there) | more)
        rows.append([vendor.id, account.label, words[key.source], there.words, used_for])
    told = [server.words for server in found]
    told += [
        f"{clouds[entry].full_label}: {identity}" if identity else problem
        for entry, (identity, problem) in identities.items()
    ]
    below = ["", *told] if told else []
    console.result({"providers": documents}, "\n".join([table(rows), *below]))


def _is_chosen(account: Account, chosen: ModelSettings) -> bool:
    return account.provider == chosen.provider and is_same_name(account.name, named(chosen.account))


def _key_of(account: Account, environ: Mapping[str, str], store: SystemKeyStore) -> tuple[ResolvedKey, str]:
    """Return an account's key, and why it could not be read, or an empty text."""
    try:
        return resolve_key(account, environ, store), ""
    except CredentialsError as error:
        return ResolvedKey(None, None), str(error)


async def _look(
    local: Sequence[Place], asking: Mapping[str, tuple[Account, str | None]], environ: Mapping[str, str]
) -> tuple[Sequence[LocalServer], dict[str, tuple[str, str]]]:
    """Return the local servers, and for each account in `asking` its identity, or why it has none."""
    looking = asyncio.gather(*(_identity(account, key, environ) for account, key in asking.values()))
    found = await look_for_servers(local)
    return found, dict(zip(asking, await looking, strict=True))


async def _identity(account: Account, key: str | None, environ: Mapping[str, str]) -> tuple[str, str]:
    try:
        return await who_asks(account, key, environ), ""
    except ProviderError as error:
        return "", f"{error.title} {error.hint}".rstrip()


def store_key(args: argparse.Namespace, console: Console) -> None:
    file, loaded = _accounts()
    store, account = SystemKeyStore(tell=console.say), _account_for_key(args, loaded)
    before = loaded.find(account.provider, account.name)
    variable = vendor_of(account.provider).key_variable if account.is_usual else ""
    has_variable = bool(variable and args.environ.get(variable))
    if args.header is None or not has_variable:
        hint = "Type it at the prompt, or pipe it in; it is never an argument."
        store.set(entry_of(account), typed_secret("Key: ", UsageError("No key was given.", hint=hint)))
    if account != before:
        file.put(account)
        if before is not None and entry_of(before) != entry_of(account):
            store.delete(entry_of(before))  # it belongs to the address that the account had
    there = destination(account, _settings().loaded, args.environ)
    source = "environment" if has_variable and args.header is not None else "keyring"
    kept = f"comes from {variable}" if source == "environment" else "is in the system keyring"
    text = f"The key for {account.full_label} {kept}. It is sent to {there.words}."
    console.result(_document(account, source, there), text)


def delete_key(args: argparse.Namespace, console: Console) -> None:
    file, loaded = _accounts()
    _require_offered(args.provider)
    name = named(args.account or "")
    account = loaded.find(args.provider, name)
    if account is None:
        title = f"There is no account {name!r} for {vendor_of(args.provider).label}."
        raise UsageError(title, hint=f"Available: {', '.join(one.label for one in loaded.of(args.provider))}.")
    if account.kind in ("oauth", "profile"):
        raise UsageError(
            f"{account.full_label} has no key: it is signed in.",
            hint=f"Use `desktop-agent auth sign-out {account.provider} --account {account.label}`.",
        )
    SystemKeyStore(tell=console.say).delete(entry_of(account))
    file.remove(account)
    text = f"The key for {account.full_label} is no longer in the system keyring."
    console.result(_document(account, None, Destination(address=account.where)), text)


def _accounts() -> tuple[AccountsFile, LoadedAccounts]:
    file = AccountsFile(AppPaths.from_environment().config / ACCOUNTS_NAME)
    loaded = file.load()
    if loaded.problems:
        raise UnsafeSettingsError(loaded.problems)
    return file, loaded


def _settings() -> LiveSettings:
    return LiveSettings.load(AppPaths.from_environment().settings_file(), os.environ)


def _document(account: Account, source: str | None, there: Destination) -> JsonObject:
    return {
        "provider": account.provider,
        "account": account.name,
        "source": source,
        "address": there.address,
        "address_from": there.named_by,
        "proxy": there.proxy,
        "kind": account.kind,
        "cloud": dict(account.cloud),
    }


def _server_document(server: LocalServer | None) -> JsonObject | None:
    if server is None:
        return None
    return {"state": server.state, "models": list(server.models), "message": server.title, "hint": server.hint}


def _account_for_key(args: argparse.Namespace, loaded: LoadedAccounts) -> Account:
    """Return the account that gets a key, changed as the options say. Raises `UsageError` if it cannot be used."""
    _require_offered(args.provider)
    name = named(args.account or "")
    known = loaded.find(args.provider, name) or replace(usual_account(args.provider), name=name)
    cloud = vendor_of(args.provider).cloud
    if cloud is not None and not vendor_of(args.provider).key_variable:
        raise UsageError(
            f"{known.full_label} takes no key.",
            hint=f"It uses the cloud's own credentials: `desktop-agent auth sign-in {known.provider}`.",
        )
    if known.kind == "oauth" or (known.kind == "profile" and cloud is None):
        raise UsageError(
            f"{known.full_label} is signed in, and takes no key.",
            hint=f"Give the key to another account with --account, or sign this one out first: "
            f"`desktop-agent auth sign-out {known.provider} --account {known.label}`.",
        )
    account = with_cloud(replace(known, kind="key"), {**cloud_in(args), "profile": ""})
    if args.base_url is not None:
        account = replace(account, address=args.base_url.strip())
    if args.header is not None:
        account = replace(account, header=args.header)
    if account.is_usual and account.address:
        raise UsageError(
            "The usual account has no address of its own.",
            hint="Give the account a name with --account, or set model.base_url.",
        )
    if reason := account_problem(account):
        raise UsageError(f"The account cannot be used: {reason}.")
    return account


def cloud_in(args: argparse.Namespace) -> dict[str, str]:
    """Return the fields of a cloud's account that the options set."""
    options = {name: cast("str | None", getattr(args, name, None)) for name in get_args(CloudField)}
    return {name: value.strip() for name, value in options.items() if value is not None}


def _require_offered(provider: str) -> None:
    known = [vendor.id for vendor in VENDORS]
    if provider not in known:
        raise UsageError(f"There is no provider {provider!r}.", hint=f"Known: {', '.join(known)}.")
