"""What the settings dialog shows: plain data, made by the code that opens it."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from desktop_agent.core.models.account import Account, accounts_of, is_same_name
from desktop_agent.core.settings import FileProblem, LoadedSettings, Settings, SettingSource, setting_values
from desktop_agent.core.settings.model_choice import Destination, destination


class AccountsView(Struct, frozen=True, kw_only=True):
    """The accounts of the user, as far as they are known."""

    added: tuple[Account, ...] = ()
    is_known: bool = False
    """Whether their file has been read."""
    problem: str = ""
    """Why none of them is used; empty when they can be."""

    def of(self, provider: str) -> tuple[Account, ...]:
        """Return the accounts of a provider, the usual one first."""
        return accounts_of(provider, self.added)

    def find(self, provider: str, name: str) -> Account | None:
        """Return the account of this name; empty is the usual one."""
        return next((account for account in self.of(provider) if is_same_name(account.name, name)), None)


class SettingsView(Struct, frozen=True):
    """The user's settings, what is wrong with their file, and what the project tightens where they work."""

    settings: Settings
    values: Mapping[str, object]
    """Every setting by its dotted name."""
    problems: tuple[FileProblem, ...]
    sources: Mapping[str, SettingSource]
    project: Mapping[str, object]
    """What a trusted project sets here, by dotted name."""
    loaded: LoadedSettings
    environ: Mapping[str, str]

    @classmethod
    def of(
        cls,
        loaded: LoadedSettings,
        project: Mapping[str, object] | None = None,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> "SettingsView":
        """Return the view of these settings, in this environment."""
        values = setting_values(loaded.settings)
        return cls(loaded.settings, values, loaded.problems, loaded.sources, project or {}, loaded, environ)

    def destination(self, account: Account) -> Destination:
        """Return where the requests of an account go."""
        return destination(account, self.loaded, self.environ)

    def variable_of(self, key: str) -> str:
        """Return the environment variable that sets this setting; empty when none does."""
        source = self.sources.get(key)
        return source.place if source is not None and source.kind == "environment" else ""

    def problem_of(self, key: str) -> str:
        """Return what is wrong with what the file says about this setting; empty when nothing is."""
        found = (problem for problem in self.problems if problem.key == key)
        return " ".join(f"{problem.path.name}:{problem.line}: {problem.message}." for problem in found)

    @property
    def other_problems(self) -> tuple[str, ...]:
        """What is wrong with the file apart from single settings."""
        return tuple(str(problem) for problem in self.problems if problem.key not in self.values)
