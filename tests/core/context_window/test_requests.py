"""The requests of a turn, as the loop sees them being made."""

import threading

from desktop_agent.core.protocol.model import ToolDefinition, ToolResult
from desktop_agent.core.providers.scripted import Say
from desktop_agent.core.tools.spec import ReadTool, ToolArguments, ToolContext
from tests.harness import Ground


class Slow(ReadTool[ToolArguments]):
    """Notes the threads in which its definition is asked for."""

    name = "slow"
    description = "Do nothing."
    capabilities = ()
    arguments_type = ToolArguments

    def __init__(self) -> None:
        self.threads: list[str] = []

    def definition(self) -> ToolDefinition:
        self.threads.append(threading.current_thread().name)
        return super().definition()

    def title(self, arguments: ToolArguments) -> str:
        return ""

    async def run(self, arguments: ToolArguments, context: ToolContext) -> ToolResult:
        raise NotImplementedError


async def test_the_first_definition_of_a_tool_is_made_off_the_loops_thread(ground: Ground) -> None:
    tool = Slow()
    ground.extra_tools = (tool,)
    async with ground.session([[Say("yes")]]) as s:
        await s.prompt()
        assert "slow" in [definition.name for definition in s.last_request.tools]
    assert tool.threads[0] != threading.current_thread().name
