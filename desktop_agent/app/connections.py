"""Access to an account's models: sign-ins in the browser, lists of models, and local servers."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.models.vendors import DEMO, LocalServer, SignInWay, vendor_of
from desktop_agent.core.providers.auth.anthropic_profiles import active_name, profiles
from desktop_agent.core.providers.auth.browser_sign_in import Browser
from desktop_agent.core.providers.auth.credential import Credential
from desktop_agent.core.providers.auth.keys import ResolvedKey, entry_of, in_daemon_thread, resolve_key
from desktop_agent.core.providers.auth.sign_ins import CHATGPT_NAME, other_sign_ins
from desktop_agent.core.providers.local import Place, is_here, local_places, look_at, look_for_servers
from desktop_agent.core.providers.provider_catalog import account_provider, key_credential, needs_sdk, sdk_connection
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.ui.translation import core_words


class WindowBrowser:
    """Opens pages in the desktop's browser and shows their address, because the browser may be hidden or missing."""

    def __init__(self, show: Callable[[str, bool], None]) -> None:
        self._show = show

    async def open(self, address: str) -> bool:
        self._show(address, True)
        return QDesktopServices.openUrl(QUrl(address))

    def show(self, address: str) -> None:
        self._show(address, False)


class Answer(NamedTuple):
    models: Sequence[KnownModel]
    who: str
    """A sentence that says where a cloud is asked, and as whom; empty for other accounts."""


async def ask(bench: Workbench, account: Account, typed: str = "") -> Answer:
    """Ask with the typed key, or else the account's credential. Store the models for the menu. Raises `AgentError`."""
    asked = account
    if account.is_usual and not account.address:
        meant = bench.model_meant(NamedModel(provider=account.provider, account=account.label))
        asked = replace(account, address=meant.base_url or "")
    client = account_provider(
        asked,
        await _credential(bench, account, typed),
        environ=bench.environ,
        allows_readable_proxy=bench.settings.model.allow_readable_proxy,
        sdk=sdk_connection(asked, bench.environ) if needs_sdk(asked) else None,
    )
    try:
        said = ""
        if vendor_of(account.provider).cloud is not None:
            who, address = await client.identity()
            text = QCoreApplication.translate("Connections", "Requests go to {0}. Credentials: {1}.")
            said = text.format(address, core_words(who))
        return Answer(await bench.models.keep(asked, await client.list_models()), said)
    finally:
        await client.aclose()


async def _credential(bench: Workbench, account: Account, typed: str) -> Credential:
    if account.kind in ("oauth", "profile") and not needs_sdk(account):
        return await bench.sign_ins.credential(account)
    key = typed or (await key_of(bench, account)).value
    if not key and account.kind == "key":
        raise CredentialsError(f"There is no API key for {account.full_label}.")
    return key_credential(account, key)


def model_to_begin_with(account: Account, listed: Sequence[KnownModel]) -> str:
    """Return the vendor's default model, perhaps listed with a date in its name, otherwise the first listed model."""
    names = [model.name for model in listed]
    for usual in vendor_of(account.provider).models:
        for name in names:
            if name == usual or name.startswith(f"{usual}-2"):
                return name
    return next(iter(names), "")


async def signed_in(bench: Workbench, way: SignInWay, name: str, browser: Browser) -> Account:
    """Sign in and return the account. `name` may be empty. Raises `AgentError`."""
    match way:
        case "chatgpt":
            return await bench.sign_ins.sign_in_with_chatgpt(browser, name or CHATGPT_NAME)
        case "openrouter":
            return await bench.sign_ins.sign_in_with_openrouter(browser, name)
        case "profile":
            return await bench.sign_ins.use_profile(name or await asyncio.to_thread(_active_profile, bench))


def _active_profile(bench: Workbench) -> str:
    found = [profile.name for profile in profiles(bench.environ)]
    active = active_name(bench.environ)
    if active in found or found:
        return active if active in found else found[0]
    others = (each for each in other_sign_ins(bench.environ) if each.program == "Claude Code")
    raise CredentialsError(
        "No profile of Anthropic's tools is signed in.",
        hint=" ".join(["Sign in with `ant auth login`, or use a key.", *(each.reason for each in others)]),
    )


async def keep_key(bench: Workbench, account: Account, key: str) -> str:
    """Store a key in the keyring. If that fails, keep the key for this run and return why; otherwise return empty."""
    try:
        await in_daemon_thread(lambda: bench.keys.set(entry_of(account), key))
    except CredentialsError as error:
        bench.keys.keep_for_now(entry_of(account), key)
        text = QCoreApplication.translate("Connections", "{0} The key is kept for this run only.")
        return text.format(core_words(error.title))
    return ""


async def has_key(bench: Workbench) -> bool:
    model = bench.default_model()
    if model.provider == DEMO or model.is_agent:
        return True
    try:
        account = (await asyncio.to_thread(bench.accounts.load)).of_model(model)
        return account.kind != "key" or (await key_of(bench, account)).value is not None
    except AgentError:
        return False


async def key_of(bench: Workbench, account: Account) -> ResolvedKey:
    return await in_daemon_thread(lambda: resolve_key(account, bench.environ, bench.keys))


async def all_local_servers(bench: Workbench) -> tuple[LocalServer, ...]:
    chosen = bench.settings.model
    loaded = await asyncio.to_thread(bench.accounts.load)
    places = local_places(loaded.added, bench.environ, {chosen.provider: chosen.base_url})
    return await look_for_servers(places)


async def local_server(bench: Workbench, account: Account) -> LocalServer | None:
    meant = bench.model_meant(NamedModel(provider=account.provider, account=account.label))
    address = meant.base_url or account.where
    return await look_at(Place(provider=account.provider, address=address)) if is_here(address) else None
