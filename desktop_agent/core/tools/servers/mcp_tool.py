"""One tool of an MCP server, as a tool of a session."""

import asyncio
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

from msgspec.structs import replace

from desktop_agent.core.base.errors import ServerError, ToolError
from desktop_agent.core.base.plain_text import on_one_line
from desktop_agent.core.context.tokens import tool_tokens
from desktop_agent.core.mcp.connecting.connection import Connection
from desktop_agent.core.mcp.definition import Program
from desktop_agent.core.mcp.offers import OfferedTool, Progress
from desktop_agent.core.mcp.trust.definitions import introduced, is_same_definition
from desktop_agent.core.protocol.model import Capability, JsonObject, Rule, ToolChange, ToolDefinition, ToolResult
from desktop_agent.core.tools.servers.naming import shown_name, wire_name
from desktop_agent.core.tools.servers.results import is_plain, result_of
from desktop_agent.core.tools.servers.schema import offered_schema
from desktop_agent.core.tools.servers.session_trust import SessionTrust
from desktop_agent.core.tools.servers.validation import ArgumentCheck
from desktop_agent.core.tools.tool import ServerTool, ToolArguments, ToolContext

_LONGEST_TITLE = 120
_LONGEST_PROGRESS = 500


NO_VIEW = "[The server has an interactive view of this, which is not shown here: the user sees this text only.]"


class McpArguments(ToolArguments):
    """Arguments as the server's own schema has them."""

    values: dict[str, Any]


class McpTool(ServerTool[McpArguments]):
    """A tool of a server, by whatever connection the session has with it."""

    source = "external"
    arguments_type = McpArguments

    def __init__(
        self,
        connection: Connection,
        offered: OfferedTool,
        trust: SessionTrust | None = None,
        told: OfferedTool | None = None,
    ) -> None:
        """`told` is what the model hears of it instead of what the server says now."""
        definition = connection.definition
        self.server = definition.name
        self.offered = offered
        self.name = wire_name(definition.name, offered.name)
        self.server_tool = offered.name
        self.shown_name = shown_name(definition.name, offered.name)
        self._told = told or offered
        self.description = self._told.description or self._told.title or f"The tool {offered.name} of {self.server}."
        self._connection = connection
        self._trust = trust
        self._judged: OfferedTool | None = None
        """The definition that the last judgement was about."""
        self._schema = offered_schema(self._told.input_schema)
        self.tokens = tool_tokens([self.definition()])
        is_here = isinstance(definition.reached_by, Program)
        self.capabilities: tuple[Capability, ...] = ("write_fs", "exec_shell", "network") if is_here else ("network",)

    @property
    def is_confined(self) -> bool:
        reached_by = self._connection.definition.reached_by
        return isinstance(reached_by, Program) and reached_by.sandbox is not None

    @property
    def may_write(self) -> bool:
        reached_by = self._connection.definition.reached_by
        return isinstance(reached_by, Program) and (reached_by.sandbox is None or bool(reached_by.sandbox.folders))

    @property
    def is_read_only(self) -> bool:
        """Never: that a tool only reads is what its server says."""
        return False

    def title(self, arguments: McpArguments) -> str:
        shown = json.dumps(arguments.values, ensure_ascii=False) if arguments.values else ""
        return shown if len(shown) <= _LONGEST_TITLE else f"{shown[:_LONGEST_TITLE]}…"

    def heading(self, title: str) -> str:
        return f"Let {self.server} run {self.offered.title or self.offered.name}?"

    def circumstances(self, arguments: McpArguments) -> tuple[str, ...]:
        hints = {True: "The server says that it only reads.", False: "The server says that it changes something."}
        said = (hints[self.offered.only_reads],) if self.offered.only_reads is not None else ()
        destroys = ("The server says that it may destroy something.",) if self.offered.destroys else ()
        definition = self._connection.definition
        confinement = (definition.confinement,) if definition.confinement else ()
        return (f"MCP server {self.server}: {definition.where}", *confinement, *said, *destroys)

    def asked_arguments(self, arguments: McpArguments, given: JsonObject) -> JsonObject:
        """Return the arguments as they are sent, by the server's names."""
        return arguments.values

    def definition(self) -> ToolDefinition:
        return ToolDefinition(name=self.name, description=self.description, input_schema=self._schema.schema)

    @cached_property
    def _check(self) -> ArgumentCheck:
        return ArgumentCheck(self._told.input_schema)

    def parse(self, arguments: JsonObject) -> McpArguments:
        """Return the arguments by the server's names. Raises `ToolError` (validation) by the server's own schema."""
        values = self._schema.arguments_for_server(arguments)
        if mistake := self._check.mistake_in(values):
            known = ", ".join(cast("JsonObject", self._schema.schema["properties"])) or "none"
            raise ToolError(
                f"Invalid arguments for {self.name}: {mistake}. Its arguments are: {known}.", error_type="validation"
            )
        return McpArguments(values=values)

    async def change(self) -> ToolChange | None:
        if self._trust is None:
            return None
        self._judged = await self._offered_now()
        return await self._trust.change(self._connection.definition, self._judged)

    def introduction(self, change: ToolChange | None) -> str:
        if self._trust is None or change is None or change.kind != "unknown":
            return ""
        definition = self._connection.definition
        is_known = self._trust.is_allowed_once(definition, change.tool, change.digest)
        return "" if is_known else introduced(change.after)

    async def allow(self, rules: Sequence[Rule], *, is_lasting: bool) -> None:
        if self._trust is not None:
            now = await self._offered_now()
            await self._require_judged(now)
            others = self._connection.status.tools
            await self._trust.allow(self._connection.definition, now, others, rules, is_lasting=is_lasting)

    async def run(self, arguments: McpArguments, context: ToolContext) -> ToolResult:
        """Call the server. Cancelling tells it to stop."""
        if self._trust is not None:
            now = await self._offered_now()
            await self._require_judged(now)
            if now is not self._told and (mistake := await asyncio.to_thread(self._mistake_by, now, arguments)):
                raise ToolError(
                    f"The server changed this tool, and by its new schema these are no arguments for it: {mistake}. "
                    "The user allowed it as it is now: its new definition comes with the next request.",
                    error_type="validation",
                )

        def progressed(progress: Progress) -> None:
            context.emit_output(f"{_progress_text(progress)}\n")

        try:
            reply = await self._connection.call(
                self.offered.name, arguments.values, progressed, context.ask_user, context.sample_model
            )
        except ServerError as error:
            details = f"\n{error.detail}" if error.detail else ""
            raise ToolError(f"{error}{details}") from error
        may_block = not is_plain(reply)
        result = await asyncio.to_thread(result_of, reply, context) if may_block else result_of(reply, context)
        if self.offered.view:
            result = replace(result, content=f"{result.content}\n{NO_VIEW}")
        return replace(result, metadata=result.metadata | {"server_tool": self.shown_name})

    async def _offered_now(self) -> OfferedTool:
        """Return the tool as the server lists it now; it is started, because with a start comes a new list."""
        try:
            tools = await self._connection.tools()
        except ServerError as error:
            raise ToolError(str(error)) from error
        found = next((tool for tool in tools if tool.name == self.offered.name), None)
        if found is None:
            raise ToolError(f"The server {self.server} does not offer {self.offered.name} any more.")
        return found

    def _mistake_by(self, now: OfferedTool, arguments: McpArguments) -> str:
        """Return what is wrong with arguments by another definition than the model was told."""
        is_told = is_same_definition(now, self._told)
        return "" if is_told else ArgumentCheck(now.input_schema).mistake_in(arguments.values)

    async def _require_judged(self, now: OfferedTool) -> None:
        if self._judged is None or not await _is_same(now, self._judged):
            raise ToolError(
                "The server changed this tool while the call waited, so it was not called. Call it again if you still "
                "need it; the user may be asked about the change."
            )


async def _is_same(one: OfferedTool, other: OfferedTool) -> bool:
    """Whether two definitions are the same; mostly they are one object, as long as the server lists no others."""
    return one is other or await asyncio.to_thread(is_same_definition, one, other)


def _progress_text(progress: Progress) -> str:
    of = f" of {progress.total:g}" if progress.total is not None else ""
    message = on_one_line(progress.message[:_LONGEST_PROGRESS])
    return f"{progress.done:g}{of}{': ' if message else ''}{message}"
