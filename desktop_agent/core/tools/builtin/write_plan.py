"""`write_plan`: the plan that the user reads, edits and accepts. The newest one in the journal *is* the plan."""

from typing import Annotated

from pydantic import AfterValidator, Field

from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext, json_text

LONGEST_PLAN = 100_000


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text.strip() + "\n"


class WritePlanArguments(ToolArguments):
    plan: Annotated[str, AfterValidator(_not_blank)] = Field(
        max_length=LONGEST_PLAN, description="The whole plan in markdown, with its steps as `- [ ] step`."
    )


class WritePlan(ReadTool[WritePlanArguments]):
    name = "write_plan"
    description = (
        "Show the user your plan as a document that they edit and accept. Write the whole plan each time; it replaces "
        "the one before. Only while planning."
    )
    capabilities = ()
    arguments_type = WritePlanArguments

    @property
    def is_parallel(self) -> bool:
        return False

    def title(self, arguments: WritePlanArguments) -> str:
        return arguments.plan.partition("\n")[0].lstrip("# ")

    async def run(self, arguments: WritePlanArguments, context: ToolContext) -> ToolResult:
        del context
        answer = {"shown": True, "next": "Wait: the user will comment on it, or accept it."}
        return ToolResult(content=json_text(answer), metadata={"plan": arguments.plan})
