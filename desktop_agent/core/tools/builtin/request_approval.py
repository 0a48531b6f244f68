"""`request_approval`: the agent asks the user to approve a risky action. The tool runs only after a yes."""

from typing import Annotated

from pydantic import AfterValidator, Field

from desktop_agent.core.protocol.model import JsonObject, ToolResult
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext, json_text


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    if not line:
        raise ValueError("must not be blank")
    return line


class RequestApprovalArguments(ToolArguments):
    action: Annotated[str, Field(max_length=200), AfterValidator(_one_line)] = Field(
        description="What you want to do, in one short sentence: Delete the old migration files."
    )
    reason: Annotated[str, Field(max_length=1_000), AfterValidator(_one_line)] = Field(
        description="Why it is needed, and what could go wrong."
    )
    details: str = Field(
        default="", max_length=4_000, description="What exactly would happen, one line each: commands, files, hosts."
    )


class RequestApproval(ReadTool[RequestApprovalArguments]):
    name = "request_approval"
    description = (
        "Ask the user before you do something risky or hard to take back that would not be asked about by itself. "
        "Call it alone and wait for the answer: an approval covers exactly the action described, once. When it is "
        "denied, do not do it, not in another way either; find one without it, or explain what you need."
    )
    capabilities = ()
    arguments_type = RequestApprovalArguments

    def title(self, arguments: RequestApprovalArguments) -> str:
        return arguments.action

    def question(self, arguments: RequestApprovalArguments) -> str:
        return arguments.action

    def why_asked(self, arguments: RequestApprovalArguments) -> str:
        return f"The agent says: {arguments.reason}"

    def asked_arguments(self, arguments: RequestApprovalArguments, given: JsonObject) -> JsonObject:
        return {}

    def circumstances(self, arguments: RequestApprovalArguments) -> tuple[str, ...]:
        lines = (line.strip() for line in arguments.details.splitlines())
        return tuple(line for line in lines if line)

    async def run(self, arguments: RequestApprovalArguments, context: ToolContext) -> ToolResult:
        return ToolResult(content=json_text({"approved": True, "action": arguments.action}))
