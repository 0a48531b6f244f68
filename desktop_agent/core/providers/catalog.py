"""The provider catalogue: how the provider of a model is built, as one of the user's accounts.

A conversation may stay open for days after its provider was built, so its credential is looked up again when its
account, or the account's key, has changed.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from desktop_agent.core.base.errors import AccountGoneError, AgentError, CredentialsError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.catalogue import ModelCatalogue
from desktop_agent.core.models.known_model import KnownModel, ListedModel
from desktop_agent.core.models.vendors import DEMO, known_vendor, vendor_of
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.credential import Credential, NoCredential
from desktop_agent.core.providers.auth.keys import SystemKeyStore, beside, entry_of, resolve_key
from desktop_agent.core.providers.auth.sign_ins import SignIns
from desktop_agent.core.providers.demo import demo_provider
from desktop_agent.core.providers.http_provider import HttpProvider
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.vendor_provider import account_provider, key_credential
from desktop_agent.core.system.private_files import FileStamp, is_unchanged, stamp_of


class KnownModels:
    """What is known of the model that a session names. Reads files, off the loop, and asks no network."""

    def __init__(self, catalogue: ModelCatalogue, accounts: AccountsFile) -> None:
        self._catalogue = catalogue
        self._accounts = accounts

    async def of(self, model: ModelRef) -> KnownModel | None:
        """Return what is known of a model; `None` for one without a vendor, and while its account is not there."""
        if known_vendor(model.provider) is None:
            return None
        try:
            account = await asyncio.to_thread(lambda: self._accounts.load().of_model(model))
        except AgentError:
            return None
        await self._catalogue.read(account)
        return self._catalogue.model(account, model.model)


class ProviderCatalog:
    """Builds providers with the accounts of a user, and the keys of one environment and one key store."""

    def __init__(
        self,
        environ: Mapping[str, str],
        keys: SystemKeyStore,
        accounts: AccountsFile,
        *,
        sign_ins: SignIns,
        models: ModelCatalogue | None = None,
        is_paced: bool = False,
        allows_readable_proxy: Callable[[], bool] = lambda: False,
    ) -> None:
        """`sign_ins` has the credentials of accounts without a key; `is_paced` lets the demo write at a human pace."""
        self._environ = environ
        self.keys = keys
        self.accounts = accounts
        self._sign_ins = sign_ins
        self._models = models
        self._is_paced = is_paced
        self._allows_readable_proxy = allows_readable_proxy

    async def build(self, model: ModelRef) -> Provider:
        """Return the provider of `model`, without importing an HTTP client.

        Raises `CredentialsError`, `AccountGoneError`, `UsageError` and `UnsafeSettingsError`.
        """
        if model.provider == DEMO:
            return demo_provider(is_paced=self._is_paced)
        vendor_of(model.provider)  # raises what says which there are
        account = await self.account_of(model)
        credential = _CurrentCredential(self, model, account)
        await credential.look_up()
        return self._provider(credential.account, credential, model)

    async def list_models(self, account: Account) -> Sequence[ListedModel]:
        """Return the models that an account's address lists. Raises as `build`, and `ProviderError`."""
        provider = self._provider(account, await self.credential_of(account), None)
        try:
            return await provider.list_models()
        finally:
            await provider.aclose()

    def _provider(self, account: Account, credential: Credential, model: ModelRef | None) -> HttpProvider:
        return account_provider(
            account,
            credential,
            model=model,
            models=self._models,
            environ=self._environ,
            allows_readable_proxy=self._allows_readable_proxy(),
        )

    async def account_of(self, model: ModelRef) -> Account:
        return await beside(lambda: self.accounts.load().of_model(model))

    async def credential_of(self, account: Account) -> Credential:
        if account.kind in ("oauth", "profile"):
            return await self._sign_ins.credential(account)
        return key_credential(account, await beside(lambda: self._key_of(account)))

    def _key_of(self, account: Account) -> str | None:
        key = resolve_key(account, self._environ, self.keys).value
        if key is None and account.kind == "key":
            vendor = vendor_of(account.provider)
            command = f"desktop-agent auth set {vendor.id}" + (f" --account {account.name}" if account.name else "")
            variable = f", or set {vendor.key_variable}" if account.is_usual and vendor.key_variable else ""
            raise CredentialsError(
                f"There is no API key for {account.full_label}.",
                hint=f"Enter one in Settings, or run `{command}`{variable}.",
            )
        return key


class _CurrentCredential:
    """The credential of the account of a model, for as long as that stays where it is now.

    A change of a key by another process is not noticed: the keyring might ask the user with every request.
    """

    def __init__(self, catalog: ProviderCatalog, model: ModelRef, account: Account) -> None:
        self.account = account
        self._catalog = catalog
        self._model = model
        self._entry = entry_of(account)
        self._address = account.where.rstrip("/")
        self._stamp: FileStamp | None = None
        self._key_changes: int | None = None
        """How often the key had been changed at the last look; `None` before the first."""
        self._inner: Credential = NoCredential()
        self._earlier_secrets: tuple[str, ...] = ()

    async def look_up(self) -> None:
        """Find the account and its credential, if they may have changed. Raises `AgentError`."""
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
                hint="Nothing was sent. Send the message again, and it goes there.",
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
