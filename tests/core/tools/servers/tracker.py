"""An MCP server for tests with `COUNT` tools: `python tracker.py COUNT`."""

import json
import sys
from typing import Any, Final

THINGS: Final = ("issue", "page", "branch", "release", "label", "comment", "board", "member", "build", "secret")
DEEDS: Final = ("list", "create", "update", "delete", "close", "assign", "find", "export", "archive", "count")


def tool(number: int) -> dict[str, Any]:
    deed, thing = DEEDS[number // len(THINGS) % len(DEEDS)], THINGS[number % len(THINGS)]
    round_of = number // (len(THINGS) * len(DEEDS))
    name = f"{deed}_{thing}" if not round_of else f"{deed}_{thing}_{round_of}"
    about = f"{deed.capitalize()} one {thing} of the tracker, by its number or by words that occur in its text."
    properties = {
        "number": {"type": "integer", "description": f"The number of the {thing}."},
        "text": {"type": "string", "description": "Words that occur in it."},
    }
    return {"name": name, "description": about, "inputSchema": {"type": "object", "properties": properties}}


def result_of(request: dict[str, Any], tools: list[dict[str, Any]]) -> dict[str, Any] | None:
    match request["method"]:
        case "initialize":
            info = {"name": "tracker", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": tools}
        case "tools/call":
            return {"content": [{"type": "text", "text": json.dumps(request["params"]["arguments"])}]}
        case _:
            return None


def main() -> None:
    tools = [tool(number) for number in range(int(sys.argv[1]))]
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = result_of(request, tools)
        answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)


if __name__ == "__main__":
    main()
