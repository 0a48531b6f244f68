"""One tool of an MCP server, as a tool of a session."""

import asyncio
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from desktop_agent.core.base.errors import ServerError, ToolError
from desktop_agent.core.context.tokens import tool_tokens
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.definition import Program
from desktop_agent.core.mcp.offers import OfferedTool, Progress
from desktop_agent.core.protocol.model import Capability, JsonObject, ToolDefinition, ToolResult
from desktop_agent.core.tools.servers.naming import shown_name, wire_name
from desktop_agent.core.tools.servers.results import is_plain, result_of
from desktop_agent.core.tools.servers.schema import offered_schema
from desktop_agent.core.tools.spec import ServerTool, ToolArguments, ToolContext

if TYPE_CHECKING:
    from desktop_agent.core.tools.servers.validation import ArgumentCheck

_LONGEST_TITLE = 120


class McpArguments(ToolArguments):
    """Arguments as the server's own schema has them."""

    values: dict[str, Any]


class McpTool(ServerTool[McpArguments]):
    """A tool of a server, by whatever connection the session has with it."""

    source = "external"
    arguments_type = McpArguments

    def __init__(self, connection: Connection, offered: OfferedTool) -> None:
        definition = connection.definition
        self.server = definition.name
        self.offered = offered
        self.name = wire_name(definition.name, offered.name)
        self.shown_name = shown_name(definition.name, offered.name)
        self.description = offered.description or offered.title or f"The tool {offered.name} of {definition.name}."
        self._connection = connection
        self._schema = offered_schema(offered.input_schema)
        self.tokens = tool_tokens([self.definition()])
        is_here = isinstance(definition.reached_by, Program)
        self.capabilities: tuple[Capability, ...] = ("write_fs", "exec_shell", "network") if is_here else ("network",)

    @property
    def is_here(self) -> bool:
        """Whether the server runs on this machine, so that it can change files."""
        return "write_fs" in self.capabilities

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
        return (f"MCP server {self.server}: {self._connection.definition.where}", *said, *destroys)

    def definition(self) -> ToolDefinition:
        return ToolDefinition(name=self.name, description=self.description, input_schema=self._schema.schema)

    @cached_property
    def _check(self) -> "ArgumentCheck":
        from desktop_agent.core.tools.servers.validation import ArgumentCheck  # its library takes 0.1 s to import

        return ArgumentCheck(self.offered.input_schema)

    def parse(self, arguments: JsonObject) -> McpArguments:
        """Return the arguments by the server's names. Raises `ToolError` (validation) by the server's own schema."""
        values = self._schema.arguments_for_server(arguments)
        if mistake := self._check.mistake_in(values):
            known = ", ".join(cast("JsonObject", self._schema.schema["properties"])) or "none"
            raise ToolError(
                f"Invalid arguments for {self.name}: {mistake}. Its arguments are: {known}.", error_type="validation"
            )
        return McpArguments(values=values)

    async def run(self, arguments: McpArguments, context: ToolContext) -> ToolResult:
        """Call the server. Cancelling tells it to stop."""

        def progressed(progress: Progress) -> None:
            context.emit_output(f"{_progress_text(progress)}\n")

        try:
            reply = await self._connection.call(self.offered.name, arguments.values, progressed, context.ask_user)
        except ServerError as error:
            details = f"\n{error.detail}" if error.detail else ""
            raise ToolError(f"{error}{details}") from error
        may_block = not is_plain(reply)
        result = await asyncio.to_thread(result_of, reply, context) if may_block else result_of(reply, context)
        return replace(result, metadata=result.metadata | {"server_tool": self.shown_name})


def _progress_text(progress: Progress) -> str:
    of = f" of {progress.total:g}" if progress.total is not None else ""
    return f"{progress.done:g}{of}{': ' if progress.message else ''}{progress.message}"
