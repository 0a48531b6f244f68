"""Tools that prove which calls run in parallel: they meet at a barrier, or report start and end."""

import asyncio

from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.tools.tool import EditPlan, EditTool, ReadTool, ToolArguments, ToolContext


class Meeting:
    """A barrier for coroutines: `meet` returns once `parties` of them have joined."""

    def __init__(self, parties: int) -> None:
        self._parties = parties
        self._waiting = 0
        self._changed = asyncio.Condition()

    async def meet(self) -> None:
        async with self._changed:
            self._waiting += 1
            self._changed.notify_all()
        await self.until(self._parties)

    async def until(self, count: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._waiting >= count)


class NamedArguments(ToolArguments):
    name: str


class MeetingTool(ReadTool[NamedArguments]):
    """A reading tool that returns when its whole party runs at the same time."""

    name = "meet"
    description = "Meet the others."
    capabilities = ("read_fs",)
    arguments_type = NamedArguments

    def __init__(self, meeting: Meeting, journal: list[str]) -> None:
        self._meeting = meeting
        self._journal = journal

    def title(self, arguments: NamedArguments) -> str:
        return arguments.name

    async def run(self, arguments: NamedArguments, context: ToolContext) -> ToolResult:
        del context
        self._journal.append(f"{arguments.name} begins")
        await self._meeting.meet()
        self._journal.append(f"{arguments.name} ends")
        return ToolResult(content=arguments.name)


class WritingTool(EditTool[NamedArguments]):
    name = "write"
    description = "Write nothing."
    capabilities = ("write_fs",)
    arguments_type = NamedArguments

    def __init__(self, journal: list[str]) -> None:
        self._journal = journal

    def title(self, arguments: NamedArguments) -> str:
        return arguments.name

    def plan(self, arguments: NamedArguments, context: ToolContext) -> EditPlan:
        del context
        self._journal.append(arguments.name)
        return EditPlan(writes=(), content=arguments.name)


class BrokenTool(ReadTool[NamedArguments]):
    """A tool that raises an unexpected error."""

    name = "broken"
    description = "Fail."
    capabilities = ("read_fs",)
    arguments_type = NamedArguments

    def __init__(self, error: Exception) -> None:
        self.calls = 0
        self._error = error

    def title(self, arguments: NamedArguments) -> str:
        return arguments.name

    async def run(self, arguments: NamedArguments, context: ToolContext) -> ToolResult:
        del arguments, context
        self.calls += 1
        raise self._error
