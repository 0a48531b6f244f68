"""What asks models and knows them: keys, sign-ins, providers, and the catalogue, which are made for each other."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from desktop_agent.composition.user_settings import UserSettings
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.catalogue import MODELS_NAME, ModelCatalogue
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.sign_ins import SignIns
from desktop_agent.core.providers.catalog import KnownModels, ProviderCatalog


class ModelParts(Struct, frozen=True, kw_only=True):
    """All of it, for one user."""

    catalogue: ModelCatalogue
    known: KnownModels
    providers: ProviderCatalog


def build_model_parts(
    paths: AppPaths,
    settings: UserSettings,
    keys: SystemKeyStore,
    sign_ins: SignIns,
    environ: Mapping[str, str],
    clock: Clock,
    *,
    is_paced: bool = False,
) -> ModelParts:
    """Return it. Touches no disk. `is_paced` lets the demo write at a pace that people can follow."""

    async def listed(account: Account) -> Sequence[ListedModel]:
        return await providers.list_models(account)

    catalogue = ModelCatalogue(
        paths.cache / MODELS_NAME, listed, clock=clock, stated=lambda: settings.models_file.load().models
    )
    providers = ProviderCatalog(
        environ,
        keys,
        settings.accounts,
        sign_ins=sign_ins,
        models=catalogue,
        is_paced=is_paced,
        allows_readable_proxy=lambda: settings.live.current.model.allow_readable_proxy,
    )
    return ModelParts(catalogue=catalogue, known=KnownModels(catalogue, settings.accounts), providers=providers)
