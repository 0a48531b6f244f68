"""Would the Responses API accept this request? `check_request(body)` returns problems as `path: problem`."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from desktop_agent.core.models.known_model import LEVELS
from desktop_agent.core.protocol.model import JsonObject
from tests.servers.validation import rules
from tests.servers.validation.rules import fields_of, is_blank, objects

_LONGEST_CALL_ID = 64
_FEWEST_TOKENS = 16
_SEALED = "reasoning.encrypted_content"
_ITEM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PREFIXES: Mapping[object, str] = {"reasoning": "rs", "message": "msg", "function_call": "fc"}

KINDS = frozenset({"message", "reasoning", "function_call", "function_call_output", "web_search_call"})

NOT_ON_A_PLAN = (
    *("background", "conversation", "max_output_tokens", "metadata", "prompt_cache_key", "prompt_cache_options"),
    *("prompt_cache_retention", "service_tier", "temperature", "top_p", "truncation"),
)


def check_request(body: object, *, is_plan: bool = False) -> list[str]:
    """Return what is wrong with a streaming request; `is_plan` means that a ChatGPT plan pays."""
    fields = fields_of(body)
    return [*_nonsense(fields), *(_not_on_a_plan(fields) if is_plan else ())]


def _nonsense(body: JsonObject) -> Iterator[str]:
    yield from (f"body.{name}: missing" for name in ("model", "input") if not body.get(name))
    items = objects(body.get("input"))
    yield from rules.kinds(items, KINDS, "input")
    wanted = fields_of(body.get("reasoning")).get("effort")
    yield from rules.effort(wanted, LEVELS["openai-responses"], "reasoning.effort")
    if isinstance(body.get("input"), str) and is_blank(body["input"]):
        yield "input: text must not be blank"
    yield from _order(items)
    yield from pairing(items)
    for number, item in enumerate(items):
        yield from _item(item, f"input.{number}")
    yield from _ids(items)
    yield from _thinking(items, body)
    yield from rules.functions([tool for tool in objects(body.get("tools")) if tool.get("type") == "function"])
    limit = body.get("max_output_tokens")
    if isinstance(limit, int) and limit < _FEWEST_TOKENS:
        yield f"max_output_tokens: {limit} is below the minimum of {_FEWEST_TOKENS}"
    if body.get("store") is False:
        if body.get("previous_response_id"):
            yield "previous_response_id: nothing is stored"
        referring = (number for number, item in enumerate(items) if _kind(item) == "item_reference")
        yield from (f"input.{number}: refers to an item, and nothing is stored" for number in referring)


def _not_on_a_plan(body: JsonObject) -> Iterator[str]:
    yield from (f"{name}: unsupported parameter" for name in NOT_ON_A_PLAN if name in body)
    if body.get("store") is not False:
        yield "store: must be false"
    if not isinstance(body.get("input"), list):
        yield "input: must be a list"


def _order(items: list[JsonObject]) -> Iterator[str]:
    said = [item for item in items if item.get("role") not in ("system", "developer")]
    if said and said[0].get("role") != "user":
        yield f"input: begins with {said[0].get('type', 'a message')} where a message of user belongs"
    if said and said[-1].get("role") == "assistant":
        yield "input: the last word is the assistant's"


def _item(item: JsonObject, path: str) -> Iterator[str]:
    match _kind(item):
        case "message":
            yield from _message(item, path)
        case "function_call":
            yield from rules.call_id(item["call_id"], f"{path}.call_id", longest=_LONGEST_CALL_ID)
            yield from rules.tool_name(item["name"], f"{path}.name")
            yield from rules.arguments(item["arguments"], f"{path}.arguments")
        case "function_call_output":
            yield from rules.call_id(item.get("call_id"), f"{path}.call_id", longest=_LONGEST_CALL_ID)
            yield from _parts(item["output"], f"{path}.output")
        case _:
            pass


def _kind(item: JsonObject) -> object:
    return item.get("type") or ("message" if "role" in item else "item_reference")


def _message(item: JsonObject, path: str) -> Iterator[str]:
    content = item["content"]
    if isinstance(content, str) and is_blank(content):
        yield f"{path}.content: text must not be blank"
    yield from _parts(content, f"{path}.content")
    said = {str(part["type"]) for part in objects(content)}
    if item["role"] == "assistant" and (wrong := said - {"output_text", "refusal"}):
        yield f"{path}.content: {sorted(wrong)} in a message of the assistant"


def _parts(content: object, path: str) -> Iterator[str]:
    if content == []:
        yield f"{path}: empty"
    for number, part in enumerate(objects(content)):
        if "text" in part and is_blank(part["text"]):
            yield f"{path}.{number}: text must not be blank"
        yield from rules.picture(part.get("image_url"), f"{path}.{number}.image_url")


def _ids(items: list[JsonObject]) -> Iterator[str]:
    """The API accepts only item ids that it made itself."""
    ids = Counter(str(item["id"]) for item in items if item.get("id"))
    yield from (f"input: duplicate item found with id {each}" for each, count in ids.items() if count > 1)
    for number, item in enumerate(items):
        item_id, prefix = item.get("id"), _PREFIXES.get(_kind(item))
        if item_id is None or prefix is None:
            continue
        if not isinstance(item_id, str) or not _ITEM_ID.fullmatch(item_id) or not item_id.startswith(prefix):
            yield f"input.{number}.id: {item_id!r} is not an id that begins with {prefix}"


def _thinking(items: list[JsonObject], body: JsonObject) -> Iterator[str]:
    included = body.get("include")
    for number, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        after = items[number + 1] if number + 1 < len(items) else {}
        if after.get("role") != "assistant" and after.get("type") not in (
            "reasoning",
            "function_call",
            "web_search_call",
        ):
            yield f"input.{number}: reasoning without its required following item"
        if body.get("store") is False and not item.get("encrypted_content"):
            yield f"input.{number}: reasoning was not stored, and has no encrypted_content"
        if body.get("store") is False and _SEALED not in (included if isinstance(included, list) else ()):
            yield f"input.{number}: reasoning goes back without asking for {_SEALED}"


def pairing(items: list[JsonObject]) -> Iterator[str]:
    """Yield calls without an answer, with two or a late one, and answers without a call."""
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
