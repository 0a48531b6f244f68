"""An MCP server of the stateless era, on the official SDK, that asks the user within the answers to its calls."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequests,
    InputRequiredResult,
)

server = MCPServer("stateless")
FORM = {"type": "object", "properties": {"guests": {"type": "integer"}}, "required": ["guests"]}


@server.tool()
async def book(ctx: Context) -> str | InputRequiredResult:
    """Ask two things at once, then say what the answers were."""
    if ctx.input_responses is None:
        form = ElicitRequestFormParams(message="For how many?", requested_schema=FORM)
        page = ElicitRequestURLParams(message="Pay here.", url="https://pay.example.org/cart?id=7")
        asked: InputRequests = {"form": ElicitRequest(params=form), "page": ElicitRequest(params=page)}
        return InputRequiredResult(input_requests=asked, request_state="\x1b[31mstate\u202e")
    answers = [each for each in ctx.input_responses.values() if isinstance(each, ElicitResult)]
    said = [f"{each.action} {each.content}" for each in answers]
    return f"{sorted(said)} {ctx.request_state == chr(27) + '[31mstate' + chr(0x202E)}"


@server.tool()
async def nag() -> str | InputRequiredResult:
    """Ask, whatever the answer."""
    form = ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object", "properties": {}})
    return InputRequiredResult(input_requests={"sure": ElicitRequest(params=form)})


if __name__ == "__main__":
    server.run("stdio")
