"""An MCP server with many tools, for the benchmark: `python mcp_many.py TOOLS`. Without the SDK: it starts at once."""

import json
import sys

SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for, in the words of whoever wrote it."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        "kinds": {"type": "array", "items": {"type": "string", "enum": ["issue", "page", "person"]}},
    },
    "required": ["query"],
}


def result_of(method: str, tools: int) -> dict[str, object] | None:
    match method:
        case "initialize":
            info = {"name": "many", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            about = "Finds what matches a query, and says of each find where it is and who wrote it last."
            listed = [
                {"name": f"find_{number}", "description": about, "inputSchema": SCHEMA} for number in range(tools)
            ]
            return {"tools": listed}
        case "tools/call":
            return {"content": [{"type": "text", "text": "found"}]}
        case _:
            return None


def main() -> None:
    tools = int(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = result_of(request["method"], tools)
        answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)


if __name__ == "__main__":
    main()
