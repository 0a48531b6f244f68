"""Scripts as JSON, for a server that runs as its own process."""

from typing import cast

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.script import Answer, Block, Fault, Part, Refusal, reply, text, thinking, tool_use


def answers_from_json(script: object) -> list[Answer]:
    """Return the answers that a script file spells: each `{"text": …}`, `{"content": […], …}` or `{"status": …}`.

    `content` holds blocks as Anthropic's API writes them, without ids. `stop_reason`, `pace_ms` and `fault` (`{"kind":
    "reset", "events": 3}`) are optional. Raises `ValueError` for anything else.
    """
    match script:
        case list():
            return [_answer(cast("JsonObject", entry)) for entry in cast("list[object]", script)]
        case _:
            raise ValueError("a script is a list of answers")


def _answer(entry: JsonObject) -> Answer:
    match entry:
        case {"status": int(status)}:
            kind, message = str(entry.get("error_type", "api_error")), str(entry.get("message", ""))
            headers = {str(k): str(v) for k, v in cast("JsonObject", entry.get("headers", {})).items()}
            return Refusal(status, kind, message, headers=headers)
        case {"text": str(content)}:
            parts: list[Part] = [text(content)]
        case {"content": list()}:
            parts = [_block(cast("JsonObject", block)) for block in cast("list[object]", entry["content"])]
        case _:
            raise ValueError(f"an answer needs text, content or a status: {entry}")
    if "fault" in entry:
        parts.append(_fault(cast("JsonObject", entry["fault"])))
    whole = reply(*parts, stop_reason=cast("str", entry.get("stop_reason", "")))
    return whole.paced(cast("float", entry.get("pace_ms", 0)) / 1000)


def _fault(fields: JsonObject) -> Fault:
    kind, events = fields.get("kind"), fields.get("events")
    if kind not in ("reset", "close", "end", "stall") or not isinstance(events, int):
        raise ValueError(f"a fault needs a kind and a number of events: {fields}")
    return Fault(kind, events=events)


def _block(fields: JsonObject) -> Block:
    match fields:
        case {"type": "text", "text": str(content)}:
            return text(content)
        case {"type": "thinking", "thinking": str(content), "signature": str(signature)}:
            return thinking(content, signature=signature)
        case {"type": "tool_use", "name": str(name), "input": dict()}:
            call = tool_use(name, **cast("JsonObject", fields["input"]))
            return call.with_id(str(fields["id"])) if "id" in fields else call
        case _:
            raise ValueError(f"not a block that a script can hold: {fields}")
