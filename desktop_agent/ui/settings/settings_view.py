"""The data of the settings dialog, and the functions for its requests. The dialog's owner provides them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from desktop_agent.core.agents.definition import AgentDefinition, AgentReport, LoginWay
from desktop_agent.core.agents.installed import KnownAgent
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.server_status import ServerStatus
from desktop_agent.core.models.account import Account, accounts_of, is_same_name
from desktop_agent.core.models.vendors import SignInWay, vendor_of
from desktop_agent.core.settings.loading import FileProblem, LoadedSettings, SettingSource
from desktop_agent.core.settings.model_choice import Destination, destination
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import setting_values

Section = Literal[
    "model", "spending", "appearance", "keyboard", "approvals", "rules", "conversations", "tools", "mcp", "skills",
    "hooks", "plugins", "diagnostics", "agents", "changes", "command line", "telemetry", "project",
]  # fmt: skip

SECTIONS: Final[Mapping[Section, object]] = {
    "model": QT_TRANSLATE_NOOP("SettingsSections", "Model"),
    "spending": QT_TRANSLATE_NOOP("SettingsSections", "Spending"),
    "appearance": QT_TRANSLATE_NOOP("SettingsSections", "Appearance"),
    "keyboard": QT_TRANSLATE_NOOP("SettingsSections", "Keyboard"),
    "approvals": QT_TRANSLATE_NOOP("SettingsSections", "Approvals"),
    "rules": QT_TRANSLATE_NOOP("SettingsSections", "Rules"),
    "conversations": QT_TRANSLATE_NOOP("SettingsSections", "Long conversations"),
    "tools": QT_TRANSLATE_NOOP("SettingsSections", "Tool results"),
    "mcp": QT_TRANSLATE_NOOP("SettingsSections", "MCP servers"),
    "skills": QT_TRANSLATE_NOOP("SettingsSections", "Skills"),
    "hooks": QT_TRANSLATE_NOOP("SettingsSections", "Hooks"),
    "plugins": QT_TRANSLATE_NOOP("SettingsSections", "Plugins"),
    "diagnostics": QT_TRANSLATE_NOOP("SettingsSections", "Language servers"),
    "agents": QT_TRANSLATE_NOOP("SettingsSections", "Other agents"),
    "changes": QT_TRANSLATE_NOOP("SettingsSections", "Changes made by commands"),
    "command line": QT_TRANSLATE_NOOP("SettingsSections", "Command line"),
    "telemetry": QT_TRANSLATE_NOOP("SettingsSections", "Telemetry"),
    "project": QT_TRANSLATE_NOOP("SettingsSections", "Project"),
}


def section_title(section: Section) -> str:
    return QCoreApplication.translate("SettingsSections", str(SECTIONS[section]))


class ToolView(Struct, frozen=True, kw_only=True):
    name: str
    about: str
    tokens: int
    """Estimated tokens of its definition in each request."""
    is_usable: bool = True
    """Whether it can be used here; if not, `about` says why."""


class SignInProgress(Struct, frozen=True, kw_only=True):
    address: str = ""
    """The page to continue on; empty while it is prepared."""
    is_open: bool = True


class ServerView(Struct, frozen=True, kw_only=True):
    definition: ServerDefinition
    status: ServerStatus
    tools: tuple[ToolView, ...] = ()
    log: str = ""
    sign_in: SignInProgress | None = None
    is_unsure: bool = False

    @property
    def name(self) -> str:
        return self.definition.name


class ServersView(Struct, frozen=True, kw_only=True):
    servers: tuple[ServerView, ...] = ()
    problems: tuple[str, ...] = ()


class ServerActions(Struct, frozen=True, kw_only=True):
    """Functions for the requests of the servers page. Each returns at once; the page shows the result later."""

    add: Callable[[ServerDefinition, str], None]
    """Defines a server, with the secret of its client if there is one, and starts it as a test."""
    edit: Callable[[ServerDefinition, str], None]
    keep: Callable[[str], None]
    """Keeps a server that failed its first test."""
    import_file: Callable[[Path], None]
    sign_in: Callable[[str], None]
    cancel_sign_in: Callable[[str], None]
    restart: Callable[[str], None]
    remove: Callable[[str], None]
    switch: Callable[[str, bool], None]
    switch_tool: Callable[[str, str, bool], None]


class AgentView(Struct, frozen=True, kw_only=True):
    definition: AgentDefinition
    title: str = ""
    """The name of a known agent; it is installed, and not defined."""
    missing: str = ""
    """The program that was not found."""
    is_testing: bool = False
    is_signing_in: bool = False
    report: AgentReport | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def is_mine(self) -> bool:
        return not self.title and self.definition.defined_by == "user"


class AgentsView(Struct, frozen=True, kw_only=True):
    agents: tuple[AgentView, ...] = ()
    not_installed: tuple[KnownAgent, ...] = ()
    problems: tuple[str, ...] = ()
    has_zed: bool = False
    """Whether there are settings of Zed to take agents from."""


class AgentActions(Struct, frozen=True, kw_only=True):
    """Functions for the requests of the agents page. Each returns at once; the page shows the result later."""

    look: Callable[[], None]
    """Looks again which agents are installed."""
    add: Callable[[AgentDefinition], None]
    edit: Callable[[AgentDefinition], None]
    take_from_zed: Callable[[], None]
    test: Callable[[str], None]
    sign_in: Callable[[str, LoginWay], None]
    cancel_sign_in: Callable[[], None]
    remove: Callable[[str], None]


ExtensionKind = Literal["skills", "hooks", "diagnostics"]
ExtensionState = Literal["on", "off", "waiting", "changed", "failed", "unusable"]
"""`changed`: it waits for another answer, because it has changed since the last one. `failed`: it is on, and ended by
itself."""


class ExtensionView(Struct, frozen=True, kw_only=True):
    """A skill, a hook or a language server, as the page of its kind lists it."""

    name: str
    """Unique, as the title may not be."""
    key: str
    """Its entry in the setting that switches single ones off."""
    title: str
    about: str
    """What a skill is for; the command of a hook or of a server."""
    place: str
    path: str
    state: ExtensionState
    reason: str = ""
    can_switch: bool = True
    tokens: int | None = None
    """About what the text of a skill takes, once it is read."""
    is_of_plugin: bool = False
    """Whether a plugin brings it: the answer that it waits for is then given on the page of plugins."""
    is_for_model: bool = True
    is_for_user: bool = True


class ExtensionsView(Struct, frozen=True, kw_only=True):
    items: tuple[ExtensionView, ...] = ()
    problems: tuple[str, ...] = ()
    tokens: int = 0
    """About what the list of skills takes of each request."""
    missing: tuple[str, ...] = ()
    """The language servers that are known but not installed."""


class PluginView(Struct, frozen=True, kw_only=True):
    name: str
    """Its folder, which is unique, as the title may not be."""
    title: str
    version: str = ""
    about: str = ""
    place: str = ""
    """Where it came from."""
    source: str = ""
    """The folder or address that the user added it from; `inside` is its folder there."""
    inside: str = ""
    detail: str = ""
    digest: Digest = ""
    state: Literal["on", "off", "waiting", "changed", "unusable"] = "on"
    reason: str = ""
    skills: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    unconfined: tuple[str, ...] = ()
    """What it runs outside the sandbox, a line for each hook and server, in full."""
    confined: tuple[str, ...] = ()
    """What it runs in the sandbox, likewise."""
    problems: tuple[str, ...] = ()
    is_mine: bool = False
    """Whether the user added it."""


class StagedPluginView(Struct, frozen=True, kw_only=True):
    """A plugin that could be added; without one, what is wrong."""

    plugin: PluginView | None = None
    left_out: tuple[str, ...] = ()
    is_update: bool = False
    """Whether it replaces one that was added from the same place."""
    is_current: bool = False
    """Whether that has the same files."""
    problem: str = ""


class PluginActions(Struct, frozen=True, kw_only=True):
    """Functions for the requests of the plugins page. Each returns at once; the page shows the result later."""

    look: Callable[[], None]
    stage: Callable[[str, str], None]
    """Copies the plugin in a folder or at an address, or in a folder of that, for review."""
    add: Callable[[], None]
    """Adds the plugin that was copied last, or updates it."""
    discard: Callable[[], None]
    renew: Callable[[str, Digest], None]
    """Allows a changed plugin as it was shown."""
    remove: Callable[[str], None]


class SettingsActions(Struct, frozen=True, kw_only=True):
    """Functions for the dialog's requests. Each returns at once; the dialog shows the result later."""

    change: Callable[[str, object], None]
    """Sets a setting, given by its dotted name, such as `ui.theme`."""
    reset: Callable[[str], None]
    open_file: Callable[[], None]
    answer_project: Callable[[str], None]
    """Answers the question about the project's settings with `trusted` or `ignored`."""
    revoke_rule: Callable[[str], None]
    add_account: Callable[[Account], None]
    change_account: Callable[[Account], None]
    remove_account: Callable[[Account], None]
    show_key: Callable[[Account], None]
    save_key: Callable[[Account, str], None]
    remove_key: Callable[[Account], None]
    sign_in: Callable[[SignInWay, str], None]
    """Signs in as the account of this name (empty: the default account), and tests the account."""
    cancel_sign_in: Callable[[], None]
    check_sign_in: Callable[[Account], None]
    look_for_server: Callable[[Account], None]
    servers: ServerActions
    agents: AgentActions
    look_at_extensions: Callable[[ExtensionKind], None]
    plugins: PluginActions
    check_key: Callable[[Account, str], None]
    """Tests the typed key of an account, or the account's current key if the typed one is empty."""


class AccountsView(Struct, frozen=True, kw_only=True):
    """The user's accounts. Before they are read, `is_known` is false."""

    added: tuple[Account, ...] = ()
    is_known: bool = False
    problem: str = ""

    def of(self, provider: str) -> tuple[Account, ...]:
        return accounts_of(provider, self.added)

    def find(self, provider: str, name: str) -> Account | None:
        """Return the account with this name; an empty name is the default account."""
        return next((account for account in self.of(provider) if is_same_name(account.name, name)), None)


class SettingsView(Struct, frozen=True):
    settings: Settings
    values: Mapping[str, object]
    problems: tuple[FileProblem, ...]
    sources: Mapping[str, SettingSource]
    project: Mapping[str, object]
    """What a trusted project sets in this folder, by the dotted names of settings."""
    loaded: LoadedSettings
    environ: Mapping[str, str]

    @classmethod
    def of(
        cls,
        loaded: LoadedSettings,
        project: Mapping[str, object] | None = None,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> "SettingsView":
        values = setting_values(loaded.settings)
        return cls(loaded.settings, values, loaded.problems, loaded.sources, project or {}, loaded, environ)

    def destination(self, account: Account) -> Destination:
        cloud = vendor_of(account.provider).cloud
        said = cloud.said_in(self.environ) if cloud is not None and account.kind == "profile" else {}
        return destination(replace(account, cloud={**said, **account.cloud}), self.loaded, self.environ)

    def variable_of(self, key: str) -> str:
        source = self.sources.get(key)
        return source.place if source is not None and source.kind == "environment" else ""

    def problem_of(self, key: str) -> str:
        found = (problem for problem in self.problems if problem.key == key)
        return " ".join(f"{problem.path.name}:{problem.line}: {problem.message}." for problem in found)

    @property
    def other_problems(self) -> tuple[str, ...]:
        return tuple(str(problem) for problem in self.problems if problem.key not in self.values)
