"""The library: an agent in a folder, for programs. `desktop_agent` exports the same names; nothing else is public.

```python
async with Agent("~/code/app", approve=lambda request: request.command is None) as agent:
    result = await agent.run("One of the tests fails. Fix it.")
    print(result.text, result.edited_files)
    await agent.changes.undo(ChangeSelection(turn=result.turn))
```
"""

from desktop_agent.composition.workbench import Workbench as Workbench
from desktop_agent.core.approvals import RulesFile as RulesFile
from desktop_agent.core.base.errors import (
    AgentError as AgentError, CredentialsError as CredentialsError, ProviderError as ProviderError,
    SandboxError as SandboxError, SessionBusyError as SessionBusyError, SessionNotFoundError as SessionNotFoundError,
    StorageError as StorageError, ToolError as ToolError, UnsafeSettingsError as UnsafeSettingsError,
    UsageError as UsageError, WorkspaceError as WorkspaceError,
)  # fmt: skip
from desktop_agent.core.base.paths import AppPaths as AppPaths
from desktop_agent.core.changes.net import NetChange as NetChange
from desktop_agent.core.diff.diff import FileDiff as FileDiff
from desktop_agent.core.diff.hunks import ReviewHunk as ReviewHunk, all_keys as all_keys
from desktop_agent.core.protocol import events as events, ops as ops
from desktop_agent.core.protocol.events import Event as Event
from desktop_agent.core.protocol.model import (
    Aborted as Aborted, Allowed as Allowed, ApprovalRequest as ApprovalRequest, ChangeSelection as ChangeSelection,
    Decision as Decision, Denied as Denied, FileChange as FileChange, FileOutcome as FileOutcome,
    ModelRef as ModelRef, Rule as Rule, ScriptMark as ScriptMark, SearchHit as SearchHit, SearchQuery as SearchQuery,
    SessionSummary as SessionSummary, ToolResult as ToolResult, Usage as Usage,
)  # fmt: skip
from desktop_agent.core.providers.provider import Provider as Provider
from desktop_agent.core.providers.scripted import (
    Call as Call, Say as Say, ScriptedProvider as ScriptedProvider, in_order as in_order,
)  # fmt: skip
from desktop_agent.core.session.spending import TurnLimits as TurnLimits
from desktop_agent.core.settings.live_settings import LiveSettings as LiveSettings
from desktop_agent.core.settings.sections import Settings as Settings
from desktop_agent.core.tools.access import CallRules as CallRules
from desktop_agent.core.tools.builtin import builtin_tools as builtin_tools
from desktop_agent.core.tools.function_tool import FunctionTool as FunctionTool, tool as tool
from desktop_agent.core.extensions.script_marks import repository_mark as repository_mark
from desktop_agent.core.transcript import Transcript as Transcript
from desktop_agent.core.worktrees.worktrees import NewWorktree as NewWorktree
from desktop_agent.library.agent import Agent as Agent
from desktop_agent.library.results import (
    InvalidOutputError as InvalidOutputError, Result as Result, RunFailedError as RunFailedError,
    StructuredResult as StructuredResult,
)  # fmt: skip
from desktop_agent.library.turns import Approver as Approver, Changes as Changes
