"""Runs one tool call without a model: for scripts, and to show that a tool does what it says.

A scripted model makes the call in its own session, so the policy, the sandbox and undo apply as usual.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.mcp.definition_file import used_definitions
from desktop_agent.core.models.vendors import DEMO
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import ApprovalPolicy, FileChange, JsonObject, ModelRef, SandboxMode, ToolResult
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Say, ScriptedProvider, in_order
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.tools.access import ToolRegistry
from desktop_agent.core.tools.builtin import AnyTool
from desktop_agent.core.tools.mcp_tool import BETWEEN, server_named_in
from desktop_agent.core.worktrees.variants import VariantCheck
from desktop_agent.headless.runner import EXIT_CODES, HeadlessRun, RunOptions, unattended_call

_LONGEST_CHECK_S = 1_800
_NO_VENDOR = ModelRef(provider=DEMO, model="scripted")
"""The model of the session. It has no vendor, because requests to a vendor's model would be booked as paid."""


class CallOptions(Struct, frozen=True, kw_only=True):
    """The call to make, and how. `None` leaves a value to the settings."""

    tool: str
    arguments: JsonObject
    workspace: Path
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    undoes: bool = False
    """Whether to undo at the end what the call changed."""


class CallReport(Struct, frozen=True, kw_only=True):
    tool: str
    result: ToolResult
    exit_code: int
    """0 completed, 1 failed, 2 invalid arguments or unknown tool, 3 an approval was needed, 130 interrupted."""
    changes: tuple[FileChange, ...] = ()
    session_id: SessionId = ""
    """The session that recorded the call; empty if the call was refused before a session was opened."""

    @classmethod
    def of_invalid(cls, tool: str, error: ToolError) -> "CallReport":
        result = ToolResult(content=str(error), is_error=True, error_type=error.error_type)
        return cls(tool=tool, result=result, exit_code=2)

    def as_json(self) -> JsonObject:
        return {
            "tool": self.tool,
            "status": "failed" if self.result.is_error else "completed",
            **picked(self.result, "content", "is_error", "error_type", "metadata"),
            "changes": [
                picked(change, "id", "path", "kind", "author", "added", "removed", "is_binary")
                for change in self.changes
            ],
            "session_id": self.session_id or None,
        }


def require_callable(options: CallOptions, registry: ToolRegistry, settings: WorkspaceSettings) -> None:
    """Check a call as far as that is possible before the session starts the servers. Raises `ToolError`."""
    servers = (server.name for server in used_definitions(settings).servers)
    if options.tool in registry or server_named_in(options.tool, servers) is None:
        registry.require(options.tool).parse(options.arguments)


class SingleCall:
    """One call of a tool. Call `run` once."""

    def __init__(
        self,
        paths: AppPaths,
        live: LiveSettings,
        options: CallOptions,
        environ: Mapping[str, str],
        tools: Sequence[AnyTool] | None = None,
    ) -> None:
        async def scripted(_model: ModelRef) -> Provider:
            return ScriptedProvider(in_order([[Call(options.tool, options.arguments)], [Say("Done.")]]), cost_usd=0.0)

        self._options = options
        self._result: ToolResult | None = None
        self._changes: tuple[FileChange, ...] = ()
        self._run = HeadlessRun(
            Workbench(paths, live, environ=environ, provider_source=scripted, tools=tools),
            RunOptions(
                prompts=(f"tools call {options.tool}",),
                workspace=options.workspace,
                session=SessionOptions(
                    model=_NO_VENDOR, approval=options.approval, sandbox=options.sandbox, purpose="call"
                ),
                undo_last_turn=options.undoes,
            ),
            listener=self._hear,
            refuse=unattended_call,
        )

    def interrupt(self) -> None:
        self._run.interrupt()

    async def run(self) -> CallReport:
        ended = await self._run.run()
        missing = "\n".join(("The call ended without a result.", *ended.problems))
        result = self._result or ToolResult(content=missing, is_error=True)
        exit_code = EXIT_CODES[ended.stopped_reason]
        server, is_of_server, _ = self._options.tool.partition(BETWEEN)
        is_unknown = bool(is_of_server) and result.error_type == "not_found"
        if is_unknown:
            why = f" `desktop-agent mcp test {server}` lists the tools of {server}, or says why it does not start."
            result = replace(result, content=f"{result.content}{why}")
        if exit_code == 0 and result.is_error:
            exit_code = 2 if is_unknown or result.error_type == "validation" else 1
        return CallReport(
            tool=self._options.tool,
            result=result,
            changes=self._changes,
            session_id=ended.session_id,
            exit_code=exit_code,
        )

    def _hear(self, event: ev.Event) -> None:
        match event:
            case ev.ToolCallFinished(result=result):
                self._result = result
            case ev.ChangesRecorded(changes=changes):
                self._changes += changes
            case _:
                pass


class CommandCheck:
    """One run of a command of the user's, confined as the settings say. What it changes in the folder is undone."""

    def __init__(
        self, paths: AppPaths, live: LiveSettings, command: str, folder: Path, environ: Mapping[str, str]
    ) -> None:
        options = CallOptions(
            tool="run_terminal_cmd",
            arguments={"command": command, "timeout": _LONGEST_CHECK_S},
            workspace=folder,
            approval="never",
            undoes=True,
        )
        self._command = command
        self._call = SingleCall(paths, live, options, environ)

    def interrupt(self) -> None:
        self._call.interrupt()

    async def run(self) -> VariantCheck:
        """Raises `AgentError` if the folder cannot be used, or nothing can be recorded."""
        result = (await self._call.run()).result
        code, seconds = result.metadata.get("exit_code"), result.metadata.get("duration_seconds")
        if not isinstance(code, int) or not isinstance(seconds, float):
            return VariantCheck(command=self._command, output=result.content)
        output = str(json.loads(result.content)["output"])
        return VariantCheck(command=self._command, exit_code=code, output=output, duration_s=seconds)
