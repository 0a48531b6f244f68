"""Signing in and out: `desktop-agent auth` for providers, `desktop-agent mcp` for servers at an address."""

import argparse
import asyncio
import os
import sys
import webbrowser
from collections.abc import Mapping

from msgspec.structs import replace

from desktop_agent.cli.auth import cloud_in
from desktop_agent.cli.console import Console
from desktop_agent.cli.mcp import required_definition
from desktop_agent.cli.signals import run_cancellable
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import ProviderError, UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.models.account import Account, account_problem, named, usual_account, with_cloud
from desktop_agent.core.models.vendors import VENDORS, known_vendor, vendor_of
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.providers.auth.anthropic_profiles import active_name, profiles
from desktop_agent.core.providers.auth.keys import SystemKeyStore, in_daemon_thread
from desktop_agent.core.providers.auth.server_sign_ins import ServerKeyring, ServerSignIns
from desktop_agent.core.providers.auth.sign_ins import CHATGPT_NAME, OPENROUTER_PROVIDER, SignIns, other_sign_ins
from desktop_agent.core.providers.provider_catalog import who_asks
from desktop_agent.core.system.workspace import current_folder

_WAITING = "Waiting for the browser, at most 10 minutes. Ctrl+C cancels."


def with_provider(args: argparse.Namespace, console: Console) -> None:
    paths = AppPaths.from_environment()
    accounts = AccountsFile(paths.config / ACCOUNTS_NAME)
    sign_ins = SignIns(
        SystemKeyStore(tell=console.say), accounts, paths.data, clock=SystemClock(), environ=args.environ
    )
    is_out, name = args.action == "sign-out", None if args.account is None else named(args.account)
    command = Signing(sign_ins, accounts, console, args.environ)
    work = command.sign_out(args.provider, name) if is_out else command.sign_in(args.provider, name, cloud_in(args))
    asyncio.run(run_cancellable(work))  # noqa: TID251 - entry point


class Signing:
    def __init__(
        self, sign_ins: SignIns, accounts: AccountsFile, console: Console, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._sign_ins = sign_ins
        self._accounts = accounts
        self._console = console
        self._environ = environ

    async def sign_in(self, provider: str, name: str | None, cloud: Mapping[str, str] | None = None) -> None:
        """Sign in in the provider's way. `name` is the name of the account; `None` means the usual one.

        `cloud` has fields of a cloud's account; empty ones are removed.
        """
        browser = TerminalBrowser(self._console, self._environ)
        vendor = known_vendor(provider)
        if vendor is not None and (vendor.cloud is not None or cloud):
            await self._use_cloud(provider, name or "", cloud or {})
            return
        match provider:
            case "openai":
                self._explain_others("Codex")
                account = await self._sign_ins.sign_in_with_chatgpt(browser, name or CHATGPT_NAME)
                registration = await self._sign_ins.registration(account)
                who = f" as {registration.email}" if registration is not None and registration.email else ""
                self._tell(account, f"You are signed in with ChatGPT{who}.")
            case "openrouter":
                account = await self._sign_ins.sign_in_with_openrouter(browser, name or "")
                self._tell(account, "You are signed in with OpenRouter: a key of yours is in the system keyring.")
            case "anthropic" if name is None and self._is_workload:
                account = replace(usual_account(provider), kind="profile")
                await asyncio.to_thread(self._accounts.put, account)
                self._tell(account, "The usual account uses the workload identity in the environment now.")
            case "anthropic":
                account = await self._sign_ins.use_profile(self._profile(name))
                self._tell(account, f"The profile {account.name!r} of Anthropic's tools is an account now.")
            case _:
                known = ", ".join(vendor.id for vendor in VENDORS if vendor.sign_in)
                raise UsageError(
                    f"There is no sign-in for {provider!r}.",
                    hint=f"There is one for: {known}. Others take a key: `desktop-agent auth set {provider}`.",
                )

    async def _use_cloud(self, provider: str, name: str, cloud: Mapping[str, str]) -> None:
        known = self._accounts.load().find(provider, name) or replace(usual_account(provider), name=name)
        account = with_cloud(replace(known, kind="profile"), cloud)
        if reason := account_problem(account):
            raise UsageError(f"The account cannot be used: {reason}.")
        await self._sign_ins.use_cloud(account)
        try:
            asked_as = f"It is asked as {await who_asks(account, None, self._environ)}."
        except ProviderError as error:
            asked_as = ""
            self._console.say(f"warning: {error.title} {error.hint}")
        label = vendor_of(provider).label
        self._tell(account, f"The account uses the credentials of {label}'s own tools. {asked_as}".rstrip())

    async def sign_out(self, provider: str, name: str | None) -> None:
        account = self._signed_in(provider, name)
        await self._sign_ins.sign_out(account)
        document: JsonObject = {"provider": account.provider, "account": account.name, "signed_in": False}
        self._console.result(document, f"{account.full_label} is signed out on this machine.{_what_remains(account)}")

    def _signed_in(self, provider: str, name: str | None) -> Account:
        vendor_of(provider)
        found = [
            account
            for account in self._accounts.load().of(provider)
            if (account.kind in ("oauth", "profile") and account != usual_account(provider))
            or provider == OPENROUTER_PROVIDER
        ]
        meant = [account for account in found if name is None or account.name.casefold() == name.casefold()]
        if len(meant) == 1 or (meant and provider == OPENROUTER_PROVIDER and name is None):
            return meant[0]
        known = ", ".join(account.label for account in found) or "none"
        raise UsageError(
            f"No account of {provider} is meant that signed in."
            if not meant
            else f"Several accounts of {provider} signed in.",
            hint=f"Name one with --account: {known}.",
        )

    @property
    def _is_workload(self) -> bool:
        """Whether the SDK would take the variables of a workload, which come after `ANTHROPIC_PROFILE`."""
        return bool(self._environ.get("ANTHROPIC_FEDERATION_RULE_ID") and not self._environ.get("ANTHROPIC_PROFILE"))

    def _profile(self, name: str | None) -> str:
        found = [profile.name for profile in profiles(self._environ)]
        chosen = name or active_name(self._environ)
        if chosen in found:
            return chosen
        self._explain_others("Claude Code")
        raise UsageError(
            f"Anthropic's tools have no profile {chosen!r} with a sign-in.",
            hint=f"Profiles there are: {', '.join(found) or 'none'}. Make one with `ant auth login`, or use a key: "
            "`desktop-agent auth set anthropic`.",
        )

    def _explain_others(self, program: str) -> None:
        for other in other_sign_ins(self._environ):
            if other.program == program:
                self._console.say(f"{other.reason} {other.instead}")

    def _tell(self, account: Account, words: str) -> None:
        document: JsonObject = {
            "provider": account.provider,
            "account": account.name,
            "kind": account.kind,
            "signed_in": True,
        }
        option = "" if account.is_usual else f" --account {account.name}"
        self._console.result(document, f"{words}\nUse it with --provider {account.provider}{option}.")


class TerminalBrowser:
    def __init__(self, console: Console, environ: Mapping[str, str] = os.environ) -> None:
        self._console = console
        self._environ = environ

    async def open(self, address: str) -> bool:
        """Open the address in the user's browser, unless that would run in this terminal."""
        if not self._has_windows():
            return False
        self._console.say(f"If no browser opens, open this address on this machine:\n{address}\n{_WAITING}")
        return await in_daemon_thread(lambda: webbrowser.open(address))

    def show(self, address: str) -> None:
        self._console.say(f"Open this address in a browser on this machine:\n{address}\n{_WAITING}")

    def _has_windows(self) -> bool:
        if sys.platform in ("win32", "darwin"):
            return True
        return any(self._environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _what_remains(account: Account) -> str:
    match account.kind:
        case "profile":
            return " What the provider's own tools signed in stays as it is."
        case "key":
            return f" The key is still good: revoke it at {vendor_of(account.provider).keys_page}."
        case _:
            return ""


def with_server(args: argparse.Namespace, console: Console) -> None:
    paths = AppPaths.from_environment()
    definition = required_definition(paths, real_path(args.workspace or current_folder()), args.name)
    sign_ins = ServerSignIns(ServerKeyring(tell=console.say), paths.data, SystemClock())
    is_sign_in, name = args.action == "sign-in", definition.name
    if is_sign_in:
        work = sign_ins.sign_in(definition, TerminalBrowser(console, os.environ))
        text = f"You are signed in with {name}. `desktop-agent mcp test {name}` says what it offers."
    else:
        work, text = sign_ins.sign_out(definition), f"You are signed out of {name} on this machine."
    asyncio.run(run_cancellable(work))  # noqa: TID251 - entry point
    console.result({"name": name, "signed_in": is_sign_in}, text)
