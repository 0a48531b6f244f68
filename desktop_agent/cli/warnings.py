"""What commands say about settings that cannot be used, once for each thing."""

from desktop_agent.cli.console import Console
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings


class SettingsWarnings:
    """Prints what of the settings file cannot be used. Call it whenever the settings may have changed."""

    def __init__(self, live: LiveSettings, console: Console) -> None:
        self._live = live
        self._console = console
        self._printed: set[str] = set()

    def __call__(self) -> None:
        """Print the problems that are new, but for faults: the command that refuses to run prints those as errors."""
        faults = self._live.faults
        problems = [str(problem) for problem in self._live.problems if problem not in faults]
        for problem in problems:
            if problem not in self._printed:
                self._console.say(f"warning: {problem}")
        self._printed = set(problems)


def warn_of_project(settings: WorkspaceSettings, console: Console) -> None:
    """Say that a project has settings of its own that the user has not trusted, and what to do. Blocks."""
    settings.look()
    proposal = settings.proposal
    if proposal is not None and settings.is_waiting:
        console.say(
            f"warning: {proposal.path}: the project's settings are not trusted, so they do not hold. "
            "`desktop-agent config trust` shows and trusts them."
        )
