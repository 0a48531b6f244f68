"""Calls and their outputs among the items of a Responses request.

An answer of the model is a run of items: reasoning, messages and calls, in any order. The outputs follow, one for each
call, before anybody says anything else.
"""

from collections.abc import Iterator

from desktop_agent.core.protocol.model import JsonObject


def pairing(items: list[JsonObject]) -> Iterator[str]:
    """Yield calls that are answered never, twice, late or that were not made."""
    waiting: list[object] = []
    answered: list[object] = []
    for number, item in enumerate(items):
        call_id = item.get("call_id")
        if item.get("type") == "function_call_output":
            if call_id in waiting:
                waiting.remove(call_id)
                answered.append(call_id)
            elif call_id in answered:
                yield f"input.{number}: the call {call_id!r} is answered twice"
            else:
                yield f"input.{number}: no tool call found for function call output with call_id {call_id}"
            continue
        is_next_answer = bool(answered)
        if waiting and (is_next_answer or not _is_models(item)):
            yield f"input.{number}: no tool output found for {waiting}"
            waiting.clear()
        answered.clear()
        if item.get("type") == "function_call":
            if call_id in waiting:
                yield f"input.{number}: more than one call {call_id!r}"
            waiting.append(call_id)
    if waiting:
        yield f"input: the conversation ends with unanswered calls: {waiting}"


def _is_models(item: JsonObject) -> bool:
    return item.get("role", "assistant") == "assistant"
