"""`task`: a sub-agent works on a part of the task in a session of its own. The result is its last message."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from desktop_agent.core.base.errors import ArgumentsError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.extensions.agent_files import GENERAL, AgentRole
from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.tools.tool import ReadTool, TaskOrder, ToolArguments, ToolContext

_DESCRIPTION = (
    "Give a part of the work to a sub-agent. It works in a session of its own with its own context, and you read only "
    "its last message. Use it for a search that reads much, or for parts that do not depend on each other: calls in "
    "one message run side by side. It knows nothing of this conversation, so write down everything it needs and what "
    "to report. It works in the same folder with the rights of this session; questions of its tools go to the user. "
    "Never give two sub-agents the same files to change. The roles are:\n{}"
)


_OTHER_PROGRAM = (
    "It is another program: it works with its own rights, outside the sandbox, in a git worktree of its own."
)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text.strip()


class TaskArguments(ToolArguments):
    description: Annotated[str, AfterValidator(_not_blank)] = Field(
        max_length=200, description="What it is to do, in three to seven words, for the user."
    )
    prompt: Annotated[str, AfterValidator(_not_blank)] = Field(
        max_length=100_000, description="The whole task: what to do, what is known, and what to report."
    )
    background: bool = Field(
        default=False, description="Return at once. The report comes as a message when the sub-agent has ended."
    )
    role: str = Field(default=GENERAL.name, max_length=100, description="The name of its role.")


class Task(ReadTool[TaskArguments]):
    """Its own call changes nothing. The calls of the sub-agent are judged, confined and recorded like any others."""

    name = "task"
    capabilities = ()
    arguments_type = TaskArguments

    def __init__(self, roles: Sequence[AgentRole]) -> None:
        self.offer(roles)

    def offer(self, roles: Sequence[AgentRole]) -> None:
        """Offer these roles from now on."""
        self._roles = {role.name: role for role in roles}
        self.description = _DESCRIPTION.format("\n".join(f"- {role.name}: {role.description}" for role in roles))

    def title(self, arguments: TaskArguments) -> str:
        return f"{arguments.role}: {' '.join(arguments.description.split())}"

    def question(self, arguments: TaskArguments) -> str:
        role = self._roles.get(arguments.role)
        return f"Start {named(role.agent)} as a sub-agent?" if role is not None and role.agent else ""

    def why_asked(self, arguments: TaskArguments) -> str:
        return _OTHER_PROGRAM if self.question(arguments) else ""

    async def run(self, arguments: TaskArguments, context: ToolContext) -> ToolResult:
        role = self._roles.get(arguments.role)
        if role is None:
            text = f"There is no role {arguments.role!r}. The roles are: {', '.join(self._roles)}."
            raise ArgumentsError(text, ["role"])
        return await context.run_task(TaskOrder(role, arguments.description, arguments.prompt, arguments.background))
