"""Signs accounts in and out and provides their credentials."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError, SignedOutError, UnsafeSettingsError, UsageError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.providers.auth import vendor_sign_ins
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.anthropic_profiles import read_profile
from desktop_agent.core.providers.auth.browser_sign_in import Browser
from desktop_agent.core.providers.auth.credential import TokenCredential
from desktop_agent.core.providers.auth.keys import SystemKeyStore, entry_of, in_daemon_thread
from desktop_agent.core.providers.auth.token_renewal import KeptSignIn, RenewingSource
from desktop_agent.core.providers.auth.vendor_sign_ins import (
    CHATGPT,
    OPENROUTER,
    ChatGptService,
    OpenRouterService,
    Registration,
    host_id,
)


class OtherSignIn(Struct, frozen=True, kw_only=True):
    program: str
    reason: str
    instead: str


_CODEX = OtherSignIn(
    program="Codex",
    reason="Codex is signed in with ChatGPT on this machine. Its tokens can be used once each: another program that "
    "uses them signs Codex out.",
    instead="Sign in with ChatGPT here as well. It uses the same plan, and Codex stays signed in.",
)
_CLAUDE_CODE = OtherSignIn(
    program="Claude Code",
    reason="Claude Code is signed in on this machine. Anthropic does not permit other applications to use the sign-in "
    "of a Claude subscription, so it is not read.",
    instead="Use an API key, or a profile of Anthropic's own tools (`ant auth login`).",
)


def other_sign_ins(environ: Mapping[str, str] = os.environ) -> tuple[OtherSignIn, ...]:
    """Return the sign-ins of other programs on this machine, whose files are not read. Blocks; never raises."""
    codex = Path(environ.get("CODEX_HOME") or Path.home() / ".codex") / "auth.json"
    claude = Path(environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / ".credentials.json"
    return tuple(sign_in for file, sign_in in ((codex, _CODEX), (claude, _CLAUDE_CODE)) if _exists(file))


def _exists(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:
        return False


CHATGPT_PROVIDER = "openai"
CHATGPT_NAME = "chatgpt"

OPENROUTER_PROVIDER = "openrouter"
PROFILE_PROVIDER = "anthropic"


class SignInServices(Struct, frozen=True):
    chatgpt: ChatGptService = CHATGPT
    openrouter: OpenRouterService = OPENROUTER


class SignIns:
    def __init__(
        self,
        keys: SystemKeyStore,
        accounts: AccountsFile,
        data: Path,
        *,
        clock: Clock,
        environ: Mapping[str, str] = os.environ,
        tell: Callable[[str], None] = lambda _: None,
        services: SignInServices | None = None,
    ) -> None:
        """`data` is the application's data folder. `tell` is called when renewed tokens could not be stored."""
        self._keys = keys
        self._accounts = accounts
        self._data = data
        self._clock = clock
        self._environ = environ
        self._tell = tell
        self._services = services or SignInServices()
        self._sources: dict[str, RenewingSource] = {}

    async def sign_in_with_chatgpt(self, browser: Browser, name: str = CHATGPT_NAME) -> Account:
        """Have the user sign in, store the tokens, and return the account, which is added if it is new.

        Raises `CredentialsError`, `UnsafeSettingsError`, and `UsageError` for a name that another account has.
        """
        address = _own_address(CHATGPT_PROVIDER, self._services.chatgpt.resource)
        account = await self._new_or_same(Account(provider=CHATGPT_PROVIDER, name=name, address=address, kind="oauth"))
        await self._require_keyring()
        kept = self._kept(account)
        registration, tokens = await vendor_sign_ins.sign_in_with_chatgpt(
            browser,
            host_id=await asyncio.to_thread(host_id, self._data),
            clock=self._clock,
            earlier=await kept.registration(Registration),
            service=self._services.chatgpt,
        )
        await kept.begin(registration, tokens)
        self._sources.pop(entry_of(account), None)
        await asyncio.to_thread(self._accounts.put, account)
        return account

    async def sign_in_with_openrouter(self, browser: Browser, name: str = "") -> Account:
        """Have the user sign in, store the key, and return its account. Raises like `sign_in_with_chatgpt`."""
        account = await self._new_or_same(Account(provider=OPENROUTER_PROVIDER, name=name))
        await self._require_keyring()
        key = await vendor_sign_ins.sign_in_with_openrouter(
            browser, clock=self._clock, service=self._services.openrouter
        )
        await in_daemon_thread(lambda: self._keys.set(entry_of(account), key))
        if not account.is_usual:
            await asyncio.to_thread(self._accounts.put, account)
        return account

    async def use_profile(self, name: str) -> Account:
        profile = await asyncio.to_thread(read_profile, name, self._environ)
        address = _own_address(PROFILE_PROVIDER, profile.base_url)
        profiled = Account(provider=PROFILE_PROVIDER, name=profile.name, address=address, kind="profile")
        account = await self._new_or_same(profiled)
        await asyncio.to_thread(self._accounts.put, account)
        return account

    async def use_cloud(self, account: Account) -> None:
        """Add an account that a cloud's own credentials are for. Raises `UsageError` if it has a key."""
        known = (await asyncio.to_thread(self._accounts.load)).find(account.provider, account.name)
        if known is not None and known.kind == "key":
            command = f"desktop-agent auth delete {known.provider} --account {known.label}"
            raise UsageError(f"{known.full_label} has a key.", hint=f"Remove it first: `{command}`.")
        await asyncio.to_thread(self._accounts.put, account)

    async def sign_out(self, account: Account) -> None:
        """Remove the credential, and the account unless it is the usual one. Raises `CredentialsError`.

        The tokens of a profile are kept, because they belong to the tool that made it.
        """
        entry = entry_of(account)
        if account.kind == "oauth":
            await self._kept(account).forget()
        elif account.kind == "key":
            await in_daemon_thread(lambda: self._keys.delete(entry))
        self._sources.pop(entry, None)
        if not account.is_usual or account.kind == "profile":
            await asyncio.to_thread(self._accounts.remove, account)

    async def registration(self, account: Account) -> Registration | None:
        return await self._kept(account).registration(Registration)

    async def credential(self, account: Account) -> TokenCredential:
        address, where = self._services.chatgpt.resource, account.where.rstrip("/")
        if where != address.rstrip("/"):
            raise CredentialsError(
                f"The sign-in of {account.full_label} belongs to {address}, not to {where}.",
                hint="It is sent there only. Take the account out and sign in again, or use a key.",
            )
        registration = await self.registration(account)
        if registration is None:
            raise SignedOutError(
                f"You are not signed in for {account.full_label}.",
                hint=f"Sign in: `desktop-agent auth sign-in {account.provider} --account {account.label}`.",
            )
        service = self._services.chatgpt
        renewal = vendor_sign_ins.ChatGptRenewal(registration.client_id, clock=self._clock, service=service)
        source = RenewingSource(self._kept(account), renewal, clock=self._clock, tell=self._tell)
        return TokenCredential(self._sources.setdefault(entry_of(account), source))

    def _kept(self, account: Account) -> KeptSignIn:
        return KeptSignIn(self._keys, entry_of(account), self._data, self._clock)

    async def _new_or_same(self, account: Account) -> Account:
        """Return the existing account, or else the new one. Raises `UsageError` if the two differ."""
        loaded = await asyncio.to_thread(self._accounts.load)
        if loaded.problems:
            raise UnsafeSettingsError(loaded.problems)
        known = loaded.find(account.provider, account.name)
        if known is None:
            return account
        if known.kind != account.kind or known.address != account.address:
            raise UsageError(
                f"There is another account of {known.provider} called {known.label!r}.",
                hint="Choose another name with --account.",
            )
        return known

    async def _require_keyring(self) -> None:
        report = await in_daemon_thread(self._keys.probe)
        if not report.is_usable:
            raise CredentialsError(report.problem, hint=report.hint)


def _own_address(provider: str, address: str) -> str:
    return "" if address.rstrip("/") == vendor_of(provider).address.rstrip("/") else address
