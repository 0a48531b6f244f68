"""An MCP server for tests whose only tool runs Python and returns the result."""

import json
import sys
from typing import Any


def answer(request: dict[str, Any]) -> dict[str, object] | None:
    match request.get("method"):
        case "initialize":
            can: dict[str, object] = {"tools": {}}
            return {"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": {"name": "a", "version": "1"}}
        case "tools/list":
            schema = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
            return {"tools": [{"name": "act", "description": "Runs it.", "inputSchema": schema}]}
        case "tools/call":
            text, failed = acted(request["params"]["arguments"]["code"])
            return {"content": [{"type": "text", "text": text}], "isError": failed}
        case _:
            return None


def acted(code: str) -> tuple[str, bool]:
    names: dict[str, object] = {}
    try:
        exec(code, names)
    except Exception as error:  # noqa: BLE001 -- whatever it is, the test reads it
        return f"{type(error).__name__}: {error}", True
    return str(names.get("said", "")), False


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message)
        reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
