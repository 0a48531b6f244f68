"""An MCP server of the stateless era, on the official SDK, whose answers ask the user or the model."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequests,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
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
async def ask_name(ctx: Context) -> str | InputRequiredResult:
    """Ask for a name, then say it."""
    if ctx.input_responses is None:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        form = ElicitRequestFormParams(message="Who are you?", requested_schema=schema)
        return InputRequiredResult(input_requests={"name": ElicitRequest(params=form)})
    return str([each.content for each in ctx.input_responses.values() if isinstance(each, ElicitResult)])


@server.tool()
async def nag() -> str | InputRequiredResult:
    """Ask, whatever the answer."""
    form = ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object", "properties": {}})
    return InputRequiredResult(input_requests={"sure": ElicitRequest(params=form)})


@server.tool()
async def colour(ctx: Context) -> str | InputRequiredResult:
    """Ask the model for a colour, then say what it answered."""
    if ctx.input_responses is None:
        message = SamplingMessage(role="user", content=TextContent(text="Name a colour."))
        asked = CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=50))
        return InputRequiredResult(input_requests={"colour": asked})
    return str([each.content for each in ctx.input_responses.values() if isinstance(each, CreateMessageResult)])


if __name__ == "__main__":
    server.run("stdio")
