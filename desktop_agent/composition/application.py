"""What all sessions of one data folder share: settings, rules, accounts, providers, tools, servers, and the store."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Literal, TypedDict
from weakref import WeakSet

from desktop_agent.composition.agent_trials import AgentTrials
from desktop_agent.composition.stored_sessions import StoredSessions
from desktop_agent.core.agents.definition import AgentDefinition, agent_meant, read_agents
from desktop_agent.core.approvals import RULES_NAME, LiveRules, RulesFile
from desktop_agent.core.base.clock import Clock, SystemClock
from desktop_agent.core.base.errors import AgentError, UnsafeSettingsError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.context.tokens import Calibration
from desktop_agent.core.diagnostics.diagnostics import Diagnostics, DiagnosticsHost, RecordedChanges
from desktop_agent.core.diagnostics.lsp_connection import LspHost, ServerState
from desktop_agent.core.extensions.agent_files import AgentRole, roles_in_force
from desktop_agent.core.extensions.hook_runs import HookBook
from desktop_agent.core.extensions.language_servers import LanguageServer, LanguageServerBook
from desktop_agent.core.extensions.plugin_store import Plugins, PluginStore
from desktop_agent.core.extensions.project_items import Extensions, extensions_of
from desktop_agent.core.extensions.skills_in_force import Skills
from desktop_agent.core.extensions.untrusted import SecretAt
from desktop_agent.core.mcp.connection import ServerPool
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.known_model import KnownModel, ListedModel
from desktop_agent.core.models.model_catalog import MODELS_NAME, ModelCatalog
from desktop_agent.core.models.vendors import known_vendor
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_sign_ins import KeyringCredentials, ServerKeyring
from desktop_agent.core.providers.auth.sign_ins import SignIns
from desktop_agent.core.providers.provider import ProviderSource, RetryPolicy
from desktop_agent.core.providers.provider_catalog import ProviderCatalog
from desktop_agent.core.providers.sdk_connection import SdkConnection
from desktop_agent.core.sandbox.find import TRIED_NAME, find_tried_sandbox
from desktop_agent.core.search.session_search import SessionSearch
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import FileProblem
from desktop_agent.core.settings.model_choice import NamedModel, model_meant
from desktop_agent.core.settings.models_file import MODELS_FILE_NAME, ModelsFile
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.workspace_settings import ProjectTrust, WorkspaceSettings
from desktop_agent.core.slash.session_commands import Services
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import JOURNAL_NAME
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.telemetry.telemetry import Telemetry
from desktop_agent.core.tools.builtin import AnyTool, builtin_tools
from desktop_agent.core.tools.execution.confiner import SandboxProbe, server_confiner
from desktop_agent.core.tools.secret_files import finder_of_secrets
from desktop_agent.core.worktrees.worktrees import Worktrees


class OwnParts(TypedDict, total=False):
    """Parts that a program can supply instead of the application's own."""

    environ: Mapping[str, str]
    client: Literal["direct", "sdk"] | None
    """Who sends requests to Anthropic, instead of the setting."""
    launched: SdkConnection | None
    """A connection to Anthropic's SDK whose process was started already."""
    clock: Clock | None
    key_store: SystemKeyStore | None
    sign_ins: SignIns | None
    is_paced: bool
    """Whether the demo writes so slowly that people can follow it."""
    provider_source: ProviderSource | None
    """Builds the providers, instead of the catalog."""
    retry: RetryPolicy | None
    tools: Sequence[AnyTool] | None
    probe: SandboxProbe | None
    services: Services | None
    makes_titles: bool
    """Whether the model makes titles for sessions, if the settings allow that."""


class SharedTools:
    def __init__(self, tools: Sequence[AnyTool], servers: ServerPool) -> None:
        self.tools = tuple(tools)
        self.servers = servers
        self._users = 0

    def take(self) -> None:
        if self._users == 0:
            self.servers.reopen()
        self._users += 1

    async def give_back(self) -> None:
        """Give up one use. The last one ends the servers and the background work of tools."""
        self._users -= 1
        if self._users == 0:
            async with AsyncExitStack() as ends:
                ends.push_async_callback(self.servers.aclose)
                for tool in self.tools:
                    ends.push_async_callback(tool.aclose)


def build_server_pool(
    paths: AppPaths, environ: Mapping[str, str], clock: Clock, keyring: ServerKeyring, probe: SandboxProbe
) -> ServerPool:
    return ServerPool(
        clock,
        child_environment(environ),
        paths.logs / "mcp",
        credentials=KeyringCredentials(keyring, paths.data, clock),
        confiner=server_confiner(paths, environ, probe),
    )


class Application:
    """Everything that sessions share. Creating it does not touch the disk."""

    def __init__(self, paths: AppPaths, settings: Settings | LiveSettings, own: OwnParts) -> None:
        """`Settings`, unlike `LiveSettings`, come from no file, and change only through `live`."""
        self.paths = paths
        self.environ = own.get("environ", os.environ)
        self.clock = own.get("clock") or SystemClock()
        self.live = settings if isinstance(settings, LiveSettings) else LiveSettings(settings)
        self.rules = LiveRules(RulesFile(paths.config / RULES_NAME))
        self.accounts = AccountsFile(paths.config / ACCOUNTS_NAME)
        self.models_file = ModelsFile(paths.config / MODELS_FILE_NAME)
        self._extensions: dict[Path, Extensions] = {}
        self._diagnostics: WeakSet[Diagnostics] = WeakSet()
        self.server_listeners: list[Callable[[], None]] = []
        """Called when the state of a language server has changed."""
        self.plugin_store = PluginStore(paths.plugins, self.environ)
        self.trust = ProjectTrust(paths.project_answers)
        self.blobs = Blobs(paths.blobs)
        self.catalog = SessionCatalog(paths.sessions, self.blobs, paths.cache)
        self.stored = StoredSessions(
            paths=paths, catalog=self.catalog, live=self.live, clock=self.clock, default_model=self.default_model
        )
        self.worktrees = Worktrees(paths.worktrees, paths.sessions, self.clock)
        self.search = SessionSearch(paths.sessions, self.blobs, paths.cache)
        self.keys = own.get("key_store") or SystemKeyStore()
        self.sign_ins = own.get("sign_ins") or SignIns(
            self.keys, self.accounts, paths.data, clock=self.clock, environ=self.environ
        )
        self.models = ModelCatalog(
            paths.cache / MODELS_NAME,
            self._listed_models,
            clock=self.clock,
            stated=lambda: self.models_file.load().models,
        )
        self._providers = ProviderCatalog(
            self.environ,
            self.keys,
            self.accounts,
            sign_ins=self.sign_ins,
            models=self.models,
            is_paced=own.get("is_paced", False),
            allows_readable_proxy=lambda: self.live.current.model.allow_readable_proxy,
            client=lambda: own.get("client") or self.live.current.model.client,
            launched=own.get("launched"),
        )
        self.started_early = self._providers.started_early
        self.provider_source = own.get("provider_source") or self._providers.build
        self.retry = own.get("retry") or RetryPolicy()
        self.calibration = Calibration()
        self.probe = own.get("probe") or SandboxProbe(
            self.environ, partial(find_tried_sandbox, tried=paths.cache / TRIED_NAME)
        )
        tools = own.get("tools") or builtin_tools(
            paths.cache, longest_command_s=lambda: self.live.current.execution.timeout_seconds
        )
        keyring = ServerKeyring(self.keys)
        servers = build_server_pool(paths, self.environ, self.clock, keyring, self.probe)
        self.agents = AgentTrials(paths=paths, environ=self.environ, keyring=keyring, probe=self.probe)
        self.tools = SharedTools(tools, servers)
        self.telemetry = Telemetry(self.environ, servers.subscribe)
        self.services = own.get("services") or Services(
            config=self.settings_in, forker=self.stored.fork, exporter=self.stored.export
        )
        self.makes_titles = own.get("makes_titles", False)

    def settings_in(self, root: Path) -> WorkspaceSettings:
        return self._extensions_in(root).settings

    def skills_in(self, root: Path) -> Skills:
        return self._extensions_in(root).skills

    def plugins_in(self, root: Path) -> Plugins:
        return self._extensions_in(root).plugins

    def roles_in(self, root: Path) -> tuple[AgentRole, ...]:
        """Return the roles that sub-agents can have in a workspace, as they are now. Blocks; never raises."""
        found = self._extensions_in(root)
        return roles_in_force(found.roles.read(), is_trusted=found.settings.trusts_texts)

    def _extensions_in(self, root: Path) -> Extensions:
        if root not in self._extensions:
            secrets = finder_of_secrets(root, self.environ)
            made = extensions_of(
                root, self.live, self.paths, self.environ, lambda: secrets().secret_at, self.plugin_store
            )
            self._extensions[root] = made
        return self._extensions[root]

    def faults_in(self, root: Path) -> tuple[FileProblem, ...]:
        """The problems for which nothing may run here, among the settings and rules read so far."""
        return (*self.settings_in(root).faults, *self.rules.faults)

    def hooks_in(self, root: Path) -> HookBook:
        secret_at = self._secrets_in(root)
        return HookBook(
            workspace=self.settings_in(root),
            plugins=self.plugins_in(root),
            environ=self.environ,
            secret_at=secret_at,
        )

    def language_servers_in(self, root: Path) -> LanguageServerBook:
        secret_at = self._secrets_in(root)
        plugins = self.plugins_in(root)

        def of_plugins() -> Iterator[tuple[str, LanguageServer]]:
            for one in plugins.look():
                for server in one.plugin.checkers if one.plugin is not None else ():
                    yield one.state, server

        return LanguageServerBook(
            workspace=self.settings_in(root), environ=self.environ, secret_at=secret_at, of_plugins=of_plugins
        )

    def diagnostics(self, root: Path, processes: ProcessRunner, changes: RecordedChanges, log: EventLog) -> Diagnostics:
        """Return the diagnostics of a session with these changes, which runs its language servers by `processes`."""
        servers = LspHost(
            root=root,
            environ=self.environ,
            confiner=server_confiner(self.paths, self.environ, self.probe),
            runner=processes,
            clock=self.clock,
            logs=self.paths.logs / "language-servers",
            on_state=lambda: [listener() for listener in self.server_listeners],
        )
        host = DiagnosticsHost(servers=servers, changes=changes, content_of=self.blobs.of_file)
        made = Diagnostics(self.language_servers_in(root), host, log)
        self._diagnostics.add(made)
        return made

    def server_states_in(self, root: Path) -> tuple[ServerState, ...]:
        """Return the states of the language servers that open sessions of this folder have started."""
        return tuple(state for each in self._diagnostics if each.root == root for state in each.states)

    def _secrets_in(self, root: Path) -> SecretAt:
        secrets = finder_of_secrets(root, self.environ)
        return lambda path, status: secrets().secret_at(path, status)

    async def safe_in(self, root: Path) -> WorkspaceSettings:
        """Read all settings and rules of a workspace. Raises `UnsafeSettingsError` while nothing may run there."""
        settings = self.settings_in(root)
        await settings.refresh()
        await asyncio.to_thread(self.rules.look)
        if faults := self.faults_in(root):
            raise UnsafeSettingsError(faults)
        return settings

    async def agent_meant(self, reference: str, root: Path) -> AgentDefinition:
        """Raises `UsageError` for an agent that is neither defined nor installed, and whose program is not found."""
        settings = self.settings_in(root)
        await settings.refresh()
        agents = read_agents(settings.loaded.tables).agents
        return await asyncio.to_thread(agent_meant, agents, reference, self.environ, root)

    def default_model(self) -> ModelRef:
        return self.model_meant(NamedModel())

    def model_meant(self, meant: NamedModel, now: ModelRef | None = None) -> ModelRef:
        return model_meant(meant, self.live.loaded, self.environ, now)

    async def known_model(self, model: ModelRef) -> KnownModel | None:
        """Return a model's properties; `None` without a vendor or an existing account."""
        if known_vendor(model.provider) is None:
            return None
        try:
            account = await asyncio.to_thread(lambda: self.accounts.load().of_model(model))
        except AgentError:
            return None
        await self.models.read(account)
        return self.models.model(account, model.model)

    async def model_called(self, name: str, like: ModelRef) -> str:
        """Return the same account's model with this name, or with it as a part, such as `opus`; otherwise empty."""
        if known_vendor(like.provider) is None:
            return ""
        try:
            account = await asyncio.to_thread(lambda: self.accounts.load().of_model(like))
        except AgentError:
            return ""
        names = [model.name for model in await self.models.read(account)]
        parts = (one for one in names if name in one.split("-"))
        return name if name in names else next(parts, "")

    async def _listed_models(self, account: Account) -> Sequence[ListedModel]:
        return await self._providers.list_models(account)

    @property
    def own_places(self) -> tuple[Path, ...]:
        own = (self.paths.config, self.paths.data, self.paths.cache, self.paths.logs)
        return (*own, self.live.path) if self.live.path is not None else own

    def journal_path(self, session_id: SessionId) -> Path:
        return self.catalog.session_folder(session_id) / JOURNAL_NAME
