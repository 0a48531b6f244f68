"""The provider catalog: builds the provider of a model for one of the user's accounts."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Literal, cast

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import AccountGoneError, AgentError, CredentialsError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.secrets import is_secret_name, secrets_in
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.model_catalog import ModelCatalog
from desktop_agent.core.models.vendors import DEMO, VENDORS, CloudField, Vendor, known_vendor, vendor_of
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.anthropic import ONLY_AT_HOME, AnthropicFormat
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.providers.auth.credential import Credential, KeyCredential, NoCredential
from desktop_agent.core.providers.auth.keys import SystemKeyStore, entry_of, in_daemon_thread, resolve_key
from desktop_agent.core.providers.auth.sign_ins import SignIns
from desktop_agent.core.providers.chat import ChatFormat
from desktop_agent.core.providers.demo import demo_provider
from desktop_agent.core.providers.http_provider import SILENCE_S, ApiEndpoint, HttpProvider
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.responses import CACHE_FIELDS, NOT_ON_A_PLAN, ResponsesFormat
from desktop_agent.core.providers.sdk_connection import SdkClient, SdkConnection
from desktop_agent.core.providers.wire_format import WireFormat
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import NamedModel, model_meant
from desktop_agent.core.system.private_files import FileStamp, is_unchanged, stamp_of


def account_provider(
    account: Account,
    credential: Credential,
    *,
    model: ModelRef | None = None,
    models: ModelCatalog | None = None,
    environ: Mapping[str, str] = os.environ,
    allows_readable_proxy: bool = False,
    silence_s: float = SILENCE_S,
    clock: Clock | None = None,
    sdk: SdkConnection | None = None,
) -> HttpProvider:
    """Build an account's provider, without network or HTTP client. `model` gets no thinking of other models."""
    vendor = vendor_of(account.provider)
    of_environment = custom_headers(vendor, environ) if account.is_usual else {}
    endpoint = ApiEndpoint(
        account=account,
        headers={**account.headers, **of_environment},
        secrets=(
            *(word for value in of_environment.values() for word in (value, *value.split())),
            *(secrets_in(sdk.client.secrets) if sdk is not None else ()),
        ),
        key_hint=other_credential(account),
        allows_readable_proxy=allows_readable_proxy,
        silence_s=silence_s,
        model=model.bare if model is not None else None,
        models=models,
        sdk=sdk,
    )
    return HttpProvider(wire_format_of(account), endpoint, credential, clock=clock)


def needs_sdk(account: Account, client: Literal["direct", "sdk"] = "direct") -> bool:
    """Whether Anthropic's SDK sends an account's requests, if `client` is the choice for accounts that we could ask."""
    vendor = vendor_of(account.provider)
    is_asked = client == "sdk" and vendor.wire == "anthropic"
    return is_asked or account.kind == "profile" or vendor.cloud is not None


def sdk_connection(account: Account, environ: Mapping[str, str], silence_s: float = SILENCE_S) -> SdkConnection:
    """Return a connection to an account's models through Anthropic's SDK, which starts no process yet."""
    vendor = vendor_of(account.provider)
    cloud = vendor.cloud
    if cloud is None:
        is_profile = account.kind == "profile"
        options = {"profile": account.name} if is_profile and account.name else {}
        variables, name, address = _PROFILE_VARIABLES if is_profile else (), "anthropic", account.where
    else:
        fields = {field: said for field, said in account.cloud.items() if not (field == "resource" and account.address)}
        options = {cloud.fields[cast("CloudField", field)]: said for field, said in fields.items()}
        variables = cloud.variables
        name, address = cloud.client, account.address
    client = SdkClient(
        name=name,
        options=tuple(sorted(options.items())),
        address=address,
        environment=tuple(
            (name, environ[name])
            for name in sorted(environ)
            if name.lower() in _PROXY_VARIABLES  # one with a password is in no other child's environment
            or (
                name.startswith(variables)
                and name != vendor.address_variable  # the account has the address already
                and not (name in _KEY_VARIABLES or name.endswith("_API_KEY"))  # of this account or another
                and (account.kind == "profile" or not is_secret_name(name))
            )
        ),
        silence_s=silence_s,
        finds_credentials=cloud is not None or account.kind == "profile",
    )
    return SdkConnection(
        client,
        account.full_label,
        other_credential(account),
        cloud.extra if cloud is not None else "",
        cloud.asked_for({*account.cloud, *cloud.said_in(environ)}) if cloud is not None else (),
    )


def launched_for(
    named: Mapping[str, str | None],
    client: Literal["direct", "sdk"] | None,
    paths: AppPaths,
    environ: Mapping[str, str],
) -> SdkConnection | None:
    """Return the connection to a model with its process started; `None` if none is needed. Blocks.

    `named` has the parts of a `NamedModel`.
    """
    loaded = LiveSettings.load(paths.settings_file(environ), environ).loaded
    model = model_meant(NamedModel(**named), loaded, environ)
    try:
        account = None if model.provider == DEMO else AccountsFile(paths.config / ACCOUNTS_NAME).load().of_model(model)
        if account is None or not needs_sdk(account, client or loaded.settings.model.client):
            return None
        connection = sdk_connection(account, environ)
        connection.launch()
    except (AgentError, OSError):  # the first request says so
        return None
    return connection


async def who_asks(account: Account, key: str | None, environ: Mapping[str, str]) -> str:
    """Return as whom a cloud's account is asked, and where. Asks no model. Raises `ProviderError`."""
    connection = sdk_connection(account, environ)
    provider = account_provider(account, key_credential(account, key), environ=environ, sdk=connection)
    async with aclosing(provider):
        return ", at ".join(await provider.identity())


_PROXY_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
_KEY_VARIABLES = frozenset(vendor.key_variable for vendor in VENDORS)
_PROFILE_VARIABLES = (
    "ANTHROPIC_CONFIG_DIR", "ANTHROPIC_WORKSPACE_ID", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_FEDERATION_RULE_ID",
    "ANTHROPIC_ORGANIZATION_ID", "ANTHROPIC_SERVICE_ACCOUNT_ID", "ANTHROPIC_SCOPE",
)  # fmt: skip


def key_credential(account: Account, key: str | None) -> Credential:
    if key is None:
        return NoCredential()
    return KeyCredential(key, header=account.header, key_hint=other_credential(account))


def wire_format_of(account: Account) -> WireFormat:
    """Return the wire format of an account. At another address, features of only the vendor's server are left out."""
    vendor = vendor_of(account.provider)
    is_at_home = account.where.rstrip("/") == vendor.address and vendor.cloud is None
    match vendor.wire:
        case "anthropic":
            never = () if is_at_home else ONLY_AT_HOME
            return AnthropicFormat(never=never, searches=vendor.searches, cloud=vendor.cloud)
        case "openai-responses":
            is_cached = vendor.takes_cache_key and is_at_home
            never = NOT_ON_A_PLAN if account.kind == "oauth" else frozenset[str]()
            return ResponsesFormat(
                never=never if is_cached else never | CACHE_FIELDS,
                searches=vendor.searches,
                names_sources=vendor.names_sources,
            )
        case "openai-chat":
            return ChatFormat(vendor, is_at_home=is_at_home)


def other_credential(account: Account) -> str:
    """Return what the user can do if a key or sign-in of the account is refused."""
    vendor = vendor_of(account.provider)
    if account.kind == "oauth":
        return f"Sign in again: `desktop-agent auth sign-in {vendor.id} --account {account.label}`."
    if account.kind == "profile":
        return vendor.cloud.sign_in if vendor.cloud is not None else "Sign in again: `ant auth login`."
    if vendor.is_local:
        return "The server requires a key: enter it in Settings."
    hint = f"Enter another key in Settings, or correct {vendor.key_variable} if the key comes from the environment."
    if account.where.rstrip("/") == vendor.address:
        return hint
    header = "x-api-key" if account.header == "bearer" else "bearer"
    command = f"desktop-agent auth set {vendor.id} --account {account.label} --header {header}"
    return f"{hint} If this address expects the key in another header: `{command}`."


def custom_headers(vendor: Vendor, environ: Mapping[str, str]) -> dict[str, str]:
    text = environ.get(vendor.headers_variable, "") if vendor.headers_variable else ""
    lines = (line.partition(":") for line in text.split("\n"))
    return {name.strip(): value.strip() for name, colon, value in lines if colon}


class ProviderCatalog:
    def __init__(
        self,
        environ: Mapping[str, str],
        keys: SystemKeyStore,
        accounts: AccountsFile,
        *,
        sign_ins: SignIns,
        models: ModelCatalog | None = None,
        is_paced: bool = False,
        allows_readable_proxy: Callable[[], bool] = lambda: False,
        client: Callable[[], Literal["direct", "sdk"]] = lambda: "direct",
        launched: SdkConnection | None = None,
    ) -> None:
        """`sign_ins` has the credentials of accounts without a key. If `is_paced`, the demo writes at a human pace.

        `client`: who sends the requests to Anthropic that we could send. `launched`: a connection that was started.
        """
        self._environ = environ
        self.keys = keys
        self.accounts = accounts
        self._sign_ins = sign_ins
        self._models = models
        self._is_paced = is_paced
        self._allows_readable_proxy = allows_readable_proxy
        self._client = client
        self._sdk: dict[SdkClient, SdkConnection] = {launched.client: launched} if launched is not None else {}

    async def build(self, model: ModelRef) -> Provider:
        """Return the provider of `model`, without importing an HTTP client.

        Raises `CredentialsError`, `AccountGoneError`, `UsageError` and `UnsafeSettingsError`.
        """
        if model.provider == DEMO:
            return demo_provider(is_paced=self._is_paced)
        vendor_of(model.provider)  # raises an error that lists what there is
        account = await self.account_of(model)
        credential = _CurrentCredential(self, model, account)
        await credential.look_up()
        provider = self._provider(credential.account, credential, model)
        await provider.prepare()
        return provider

    @asynccontextmanager
    async def started_early(self, model: ModelRef) -> AsyncGenerator[None]:
        """Start the SDK's process if requests to `model` need it, and keep it during the block."""
        sdk = None
        with suppress(AgentError):  # the first request says so
            sdk = self._shared_sdk(await self.account_of(model)) if known_vendor(model.provider) else None
        if sdk is None:
            yield
            return
        sdk.used()
        try:
            with suppress(OSError):  # the first request says so
                await sdk.start()
            yield
        finally:
            await sdk.aclose()

    async def list_models(self, account: Account) -> Sequence[ListedModel]:
        async with aclosing(self._provider(account, await self.credential_of(account), None)) as provider:
            return await provider.list_models()

    def _provider(self, account: Account, credential: Credential, model: ModelRef | None) -> HttpProvider:
        return account_provider(
            account,
            credential,
            model=model,
            models=self._models,
            environ=self._environ,
            allows_readable_proxy=self._allows_readable_proxy(),
            sdk=self._shared_sdk(account),
        )

    def _shared_sdk(self, account: Account) -> SdkConnection | None:
        if not needs_sdk(account, self._client()):
            return None
        connection = sdk_connection(account, self._environ)
        return self._sdk.setdefault(connection.client, connection)

    async def account_of(self, model: ModelRef) -> Account:
        return await in_daemon_thread(lambda: self.accounts.load().of_model(model))

    async def credential_of(self, account: Account) -> Credential:
        if account.kind == "oauth":
            return await self._sign_ins.credential(account)
        return key_credential(account, await in_daemon_thread(lambda: self._key_of(account)))

    def _key_of(self, account: Account) -> str | None:
        try:
            key = resolve_key(account, self._environ, self.keys).value
        except CredentialsError as error:
            raise CredentialsError(
                f"No API key for {account.full_label} could be read.",
                hint=f"{error.title} {error.hint}",
                detail=error.detail,
            ) from error
        if key is None and account.kind == "key":
            vendor = vendor_of(account.provider)
            command = f"desktop-agent auth set {vendor.id}" + (f" --account {account.name}" if account.name else "")
            variable = f", or set {vendor.key_variable}" if account.is_usual and vendor.key_variable else ""
            raise CredentialsError(
                f"There is no API key for {account.full_label}.",
                hint=f"Enter a key in Settings, or run `{command}`{variable}.",
            )
        return key


class _CurrentCredential:
    """The present credential of a model's account, as long as the account keeps its address.

    A change by another process is not noticed: reading the key at every request could prompt the user each time.
    """

    def __init__(self, catalog: ProviderCatalog, model: ModelRef, account: Account) -> None:
        self.account = account
        self._catalog = catalog
        self._model = model
        self._entry = entry_of(account)
        self._address = account.where.rstrip("/")
        self._stamp: FileStamp | None = None
        self._key_changes: int | None = None
        """How often the key had been changed at the last look-up; `None` before the first."""
        self._inner: Credential = NoCredential()
        self._earlier_secrets: tuple[str, ...] = ()

    async def look_up(self) -> None:
        """Look up the account and its credential if either may have changed. Raises `AgentError`."""
        # Before the look: what changes meanwhile is noticed the next time.
        stamp = await asyncio.to_thread(stamp_of, self._catalog.accounts.path)
        changes = self._catalog.keys.changes(self._entry)
        if changes == self._key_changes and is_unchanged(stamp, self._stamp):
            return
        account = await self._catalog.account_of(self._model)
        if account.where.rstrip("/") != self._address:
            raise AccountGoneError(
                f"The account {account.label!r} of {vendor_of(account.provider).label} has another address now: "
                f"{account.where}.",
                hint="Nothing was sent. Send the message again to use the new address.",
            )
        if changes != self._key_changes or account != self.account:
            found = await self._catalog.credential_of(account)
            self._earlier_secrets, self.account, self._inner = self.secrets, account, found
        self._stamp, self._key_changes = stamp, changes

    @property
    def secrets(self) -> tuple[str, ...]:
        return (*self._earlier_secrets, *self._inner.secrets)

    async def headers(self) -> Mapping[str, str]:
        await self.look_up()
        return await self._inner.headers()

    async def renew(self) -> bool:
        return await self._inner.renew()
