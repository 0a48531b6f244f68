"""The library: an agent in a folder, for programs. `desktop_agent` hands out the same names; nothing else is public.

```python
async with Agent("~/code/app", approve=lambda request: request.command is None) as agent:
    result = await agent.run("One of the tests fails. Fix it.")
    print(result.text, result.edited_files)
    await agent.undo(turn=result.turn)
```

An `Agent` is a front end like the window: ops go into a session, events come out of it, and the session does the rest.
"""

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.approvals import RulesFile
from desktop_agent.core.base.errors import (
    AgentError,
    CredentialsError,
    ProviderError,
    SandboxError,
    SessionBusyError,
    SessionNotFoundError,
    StorageError,
    ToolError,
    UnsafeSettingsError,
    UsageError,
    WorkspaceError,
)
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.changes.net import NetChange
from desktop_agent.core.diff.diff import FileDiff
from desktop_agent.core.diff.hunks import ReviewHunk, all_keys
from desktop_agent.core.protocol import events, ops
from desktop_agent.core.protocol.events import Event
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ApprovalRequest,
    ChangeSelection,
    Decision,
    Denied,
    FileChange,
    FileOutcome,
    ModelRef,
    Rule,
    ScriptMark,
    SearchHit,
    SearchQuery,
    SessionSummary,
    ToolResult,
    Usage,
)
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Say, ScriptedProvider, in_order
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.tools.access import CallRules
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.function_tool import FunctionTool, tool
from desktop_agent.core.tools.script_marks import repository_mark
from desktop_agent.core.transcript import Transcript
from desktop_agent.library.agent import Agent
from desktop_agent.library.results import InvalidOutputError, Result, RunFailedError, StructuredResult
from desktop_agent.library.turns import Approver, Changes

__all__ = [
    "Aborted",
    "Agent",
    "AgentError",
    "Allowed",
    "AppPaths",
    "ApprovalRequest",
    "Approver",
    "Call",
    "CallRules",
    "ChangeSelection",
    "Changes",
    "CredentialsError",
    "Decision",
    "Denied",
    "Event",
    "FileChange",
    "FileDiff",
    "FileOutcome",
    "FunctionTool",
    "InvalidOutputError",
    "LiveSettings",
    "ModelRef",
    "NetChange",
    "Provider",
    "ProviderError",
    "Result",
    "ReviewHunk",
    "Rule",
    "RulesFile",
    "RunFailedError",
    "SandboxError",
    "Say",
    "ScriptMark",
    "ScriptedProvider",
    "SearchHit",
    "SearchQuery",
    "SessionBusyError",
    "SessionNotFoundError",
    "SessionSummary",
    "Settings",
    "StorageError",
    "StructuredResult",
    "ToolError",
    "ToolResult",
    "Transcript",
    "TurnLimits",
    "UnsafeSettingsError",
    "Usage",
    "UsageError",
    "Workbench",
    "WorkspaceError",
    "all_keys",
    "builtin_tools",
    "events",
    "in_order",
    "ops",
    "repository_mark",
    "tool",
]
