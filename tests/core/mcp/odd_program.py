"""An MCP server of either era that answers with a case's raw results: `python odd_program.py ERA CASE`."""

import json
import sys
from typing import Any, cast

CAN: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}}
PLAIN: dict[str, Any] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": CAN, "serverInfo": {"name": "odd", "version": "1"}},
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": CAN, "ttlMs": 0, "cacheScope": "private"},
    "tools/list": {"tools": [{"name": "plain", "inputSchema": {"type": "object"}}]},
    "prompts/list": {"prompts": []},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "tools/call": {"content": [{"type": "text", "text": "called"}]},
}


def main(era: str, case: dict[str, Any]) -> None:
    replies: dict[str, Any] = {**PLAIN, **case}
    asked: dict[str, int] = {}
    for line in sys.stdin:
        request = json.loads(line)
        method, number = request.get("method", ""), request.get("id")
        if number is None:
            continue
        if era == "handshake":
            replies.pop("server/discover", None)
        found = replies.get(method)
        if found is None:
            answer: dict[str, Any] = {"error": {"code": -32601, "message": f"no {method}"}}
        else:
            pages = cast("list[dict[str, Any]]", found if isinstance(found, list) else [found])
            page = pages[min(asked.get(method, 0), len(pages) - 1)]
            answer = {"error": page} if "code" in page else {"result": page}
        asked[method] = asked.get(method, 0) + 1
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": number, **answer}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
