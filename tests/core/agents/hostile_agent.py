"""An agent that prints whatever it is told to: a prompt is the path of a file with lines, `SESSION` is its session."""

import json
import os
import sys
from pathlib import Path

os.chdir("/")
for asked in sys.stdin:
    message = json.loads(asked)
    method, number, result = message.get("method"), message.get("id"), {}
    if method == "session/prompt":
        lines = Path(message["params"]["prompt"][-1]["text"]).read_bytes()
        sys.stdout.buffer.write(lines.replace(b"SESSION", b"s1"))
        result = {"stopReason": "end_turn"}
    elif method == "initialize":
        result = {"protocolVersion": 1}
    elif method == "session/new":
        result = {"sessionId": "s1"}
    if method is not None and number is not None:
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode() + b"\n")
        sys.stdout.flush()
