"""The provider catalogue: how the provider of a model is built, as one of the user's accounts."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from desktop_agent.core.base.errors import AccountGoneError, AgentError, CredentialsError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.catalogue import ModelCatalogue
from desktop_agent.core.models.known_model import KnownModel, ListedModel
from desktop_agent.core.models.vendors import DEMO, known_vendor, vendor_of
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.credential import Credential, CurrentCredential, Seen
from desktop_agent.core.providers.auth.keys import SystemKeyStore, beside, entry_of, resolve_key
from desktop_agent.core.providers.auth.sign_ins import SignIns
from desktop_agent.core.providers.demo import demo_provider
from desktop_agent.core.providers.http_provider import HttpProvider
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.vendor_provider import account_provider, key_credential
from desktop_agent.core.system.private_files import stamp_of


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
            account = await asyncio.to_thread(self._account, model)
        except AgentError:
            return None
        await self._catalogue.read(account)
        return self._catalogue.model(account, model.model)

    def _account(self, model: ModelRef) -> Account:
        return self._accounts.load().of_model(model)


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
        self._keys = keys
        self._accounts = accounts
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
        credential = await self._current_credential(model)
        return self._provider(credential.account, credential, model)

    async def list_models(self, account: Account) -> Sequence[ListedModel]:
        """Return the models that an account's address lists. Raises as `build`, and `ProviderError`."""
        provider = self._provider(account, await self._credential(account), None)
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

    async def _current_credential(self, model: ModelRef) -> CurrentCredential:
        """Return the credential of the account of `model`, for as long as that stays where it is now."""
        first = await self._account_of(model)
        entry = entry_of(first)

        async def account() -> Account:
            now = await self._account_of(model)
            if now.where.rstrip("/") != first.where.rstrip("/"):
                raise AccountGoneError(
                    f"The account {now.label!r} of {vendor_of(now.provider).label} has another address now: "
                    f"{now.where}.",
                    hint="Nothing was sent. Send the message again, and it goes there.",
                )
            return now

        def look() -> Seen:
            return Seen(stamp_of(self._accounts.path), self._keys.changes(entry))

        credential = CurrentCredential(first, look, account, self._credential)
        await credential.look_up()
        return credential

    async def _account_of(self, model: ModelRef) -> Account:
        return await beside(lambda: self._accounts.load().of_model(model))

    async def _credential(self, account: Account) -> Credential:
        if account.kind in ("oauth", "profile"):
            return await self._sign_ins.credential(account)
        return key_credential(account, await beside(lambda: self._key_of(account)))

    def _key_of(self, account: Account) -> str | None:
        key = resolve_key(account, self._environ, self._keys).value
        if key is None and account.kind == "key":
            vendor = vendor_of(account.provider)
            command = f"desktop-agent auth set {vendor.id}" + (f" --account {account.name}" if account.name else "")
            variable = f", or set {vendor.key_variable}" if account.is_usual and vendor.key_variable else ""
            raise CredentialsError(
                f"There is no API key for {account.full_label}.",
                hint=f"Enter one in Settings, or run `{command}`{variable}.",
            )
        return key
