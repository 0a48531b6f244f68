"""Desktop Agent: a coding assistant whose every change can be seen and undone.

Importing this package has no side effect and pulls in nothing. What programs use of it is imported with the first name
that is asked for; see `docs/library.md`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from desktop_agent.api import *
    from desktop_agent.core.base.package import __version__

__all__ = [
    "Aborted", "Agent", "AgentError", "Allowed", "AppPaths", "ApprovalRequest", "Approver", "Call", "CallRules",
    "ChangeSelection", "Changes", "CredentialsError", "Decision", "Denied", "Event", "FileChange", "FileDiff",
    "FileOutcome", "FunctionTool", "InvalidOutputError", "LiveSettings", "ModelRef", "NetChange", "NewWorktree",
    "Provider", "ProviderError", "Result", "ReviewHunk", "Rule", "RulesFile", "RunFailedError", "SandboxError", "Say",
    "ScriptMark", "ScriptedProvider", "SearchHit", "SearchQuery", "SessionBusyError", "SessionNotFoundError",
    "SessionSummary", "Settings", "StorageError", "StructuredResult", "ToolError", "ToolResult", "Transcript",
    "TurnLimits", "UnsafeSettingsError", "Usage", "UsageError", "Workbench", "WorkspaceError", "__version__",
    "all_keys", "builtin_tools", "events", "in_order", "ops", "repository_mark", "tool",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import the library when the first of its names is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = "desktop_agent.core.base.package" if name == "__version__" else "desktop_agent.api"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
