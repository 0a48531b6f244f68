"""What a workbench stands on: what its sessions share, what asks models, and what finds sessions on the disk."""

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

from msgspec import Struct

from desktop_agent.composition.shared_parts import SharedParts, SharedTools, UserSettings
from desktop_agent.composition.stored_sessions import StoredSessions
from desktop_agent.composition.tool_parts import build_server_pool
from desktop_agent.core.base.clock import Clock, SystemClock
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.catalogue import MODELS_NAME, ModelCatalogue
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_credentials import ServerKeyring
from desktop_agent.core.providers.auth.sign_ins import SignIns
from desktop_agent.core.providers.catalog import KnownModels, ProviderCatalog
from desktop_agent.core.providers.provider import ProviderSource, RetryPolicy
from desktop_agent.core.search.session_search import SessionSearch
from desktop_agent.core.slash.session_commands import LiveConfig, Services
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.telemetry.telemetry import Telemetry
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.core.tools.tool import AnyTool


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


class OwnParts(TypedDict, total=False):
    """What a program may bring itself, each in place of what the application has."""

    environ: Mapping[str, str]
    """Where settings and keys are looked for, instead of the process's environment."""
    clock: Clock | None
    key_store: SystemKeyStore | None
    sign_ins: SignIns | None
    """With the same keys."""
    is_paced: bool
    """Whether the demo writes at a pace that people can follow."""
    provider_source: ProviderSource | None
    """Instead of the catalogue of real providers."""
    retry: RetryPolicy | None
    tools: Sequence[AnyTool] | None
    """Instead of the built-in tools."""
    probe: SandboxProbe | None
    """Instead of the look for a sandbox."""
    services: Services | None
    """What slash commands reach beyond their session."""
    makes_titles: bool
    """Whether the model names each session after its first turn, if the settings say so."""


class Foundation(Struct, frozen=True, kw_only=True):
    """The parts, made for each other."""

    shared: SharedParts
    stored: StoredSessions
    search: SessionSearch
    keys: SystemKeyStore
    models: ModelCatalogue
    sign_ins: SignIns


def lay_foundation(paths: AppPaths, settings: UserSettings, **own: Unpack[OwnParts]) -> Foundation:
    """Return it for one data folder. Touches no disk."""
    live = settings.live
    environ, clock = own.get("environ", os.environ), own.get("clock") or SystemClock()
    keys = own.get("key_store") or SystemKeyStore()
    blobs = Blobs(paths.blobs)
    catalog = Catalog(paths.sessions, blobs, paths.cache)
    stored = StoredSessions(
        paths=paths, catalog=catalog, blobs=blobs, live=live, clock=clock, default_model=settings.default_model
    )
    sign_ins = own.get("sign_ins") or SignIns(keys, settings.accounts, paths.data, clock=clock, environ=environ)
    models = build_model_parts(paths, settings, keys, sign_ins, environ, clock, is_paced=own.get("is_paced", False))
    tools = own.get("tools") or builtin_tools(
        paths.cache, longest_command_s=lambda: live.current.execution.timeout_seconds
    )
    probe = own.get("probe") or SandboxProbe(environ)
    servers = build_server_pool(paths, environ, clock, ServerKeyring(keys), probe)
    services = Services(config=LiveConfig(settings.settings_in), forker=stored.fork, exporter=stored.export)
    shared = SharedParts(
        paths=paths,
        settings_file=live.path,
        rules=settings.rules,
        accounts=settings.accounts,
        known_models=models.known,
        model_meant=settings.model_meant,
        takes_images=models.known.takes_images,
        environ=environ,
        clock=clock,
        blobs=blobs,
        catalog=catalog,
        tools=SharedTools(tools, servers),
        telemetry=Telemetry(environ, servers.subscribe),
        probe=probe,
        provider_source=own.get("provider_source") or models.providers.build,
        retry=own.get("retry") or RetryPolicy(),
        services=own.get("services") or services,
        makes_titles=own.get("makes_titles", False),
    )
    search = SessionSearch(paths.sessions, blobs, paths.cache)
    return Foundation(
        shared=shared, stored=stored, search=search, keys=keys, sign_ins=sign_ins, models=models.catalogue
    )
