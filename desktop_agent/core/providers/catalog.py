"""The provider catalogue: which providers there are, and how one is built for a model."""

from collections.abc import Callable, Mapping

from desktop_agent.core.base.errors import CredentialsError, UsageError
from desktop_agent.core.models.account import Account
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.anthropic import AnthropicProvider
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.keys import ResolvedKey, SystemKeyStore, resolve_key
from desktop_agent.core.providers.auth.patience import beside
from desktop_agent.core.providers.base import Provider
from desktop_agent.core.providers.demo import demo_provider

PROVIDER_IDS = ("anthropic", "demo")
KEYED_PROVIDERS = ("anthropic",)
"""Those that want a key."""


class ProviderCatalog:
    """Builds providers with the accounts of a user, and the keys of one environment and one key store."""

    def __init__(
        self,
        environ: Mapping[str, str],
        keys: SystemKeyStore,
        accounts: AccountsFile,
        *,
        is_paced: bool = False,
        allows_readable_proxy: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_paced` lets the demo write at a pace that people can follow.

        `allows_readable_proxy` says whether a proxy may see what goes to an unencrypted address.
        """
        self._environ = environ
        self._keys = keys
        self._accounts = accounts
        self._is_paced = is_paced
        self._allows_readable_proxy = allows_readable_proxy

    async def build(self, model: ModelRef) -> Provider:
        """Return the provider of `model`.

        Raises `CredentialsError` when it needs a key and there is none, or its account is gone, `UsageError` for an
        unknown provider, and `UnsafeSettingsError` when the accounts cannot be read. No HTTP client is imported yet: a
        provider does that itself, in a thread, when it is first asked.
        """
        match model.provider:
            case "demo":
                return demo_provider(is_paced=self._is_paced)
            case "anthropic":
                return await self._anthropic(model)
            case _:
                known = ", ".join(PROVIDER_IDS)
                raise UsageError(f"There is no provider {model.provider!r}.", hint=f"Known providers: {known}.")

    async def _anthropic(self, model: ModelRef) -> Provider:
        account, key = await beside(lambda: self._credential_of(model))
        if key.value is None:
            raise CredentialsError(
                f"There is no API key for {account.full_label}.",
                hint="Enter one in Settings, run `desktop-agent auth set anthropic`, or set ANTHROPIC_API_KEY.",
            )
        return AnthropicProvider(
            api_key=key.value,
            base_url=account.address,
            allows_readable_proxy=self._allows_readable_proxy(),
        )

    def _credential_of(self, model: ModelRef) -> tuple[Account, ResolvedKey]:
        account = self._accounts.load().of_model(model)
        return account, resolve_key(account, self._environ, self._keys)
