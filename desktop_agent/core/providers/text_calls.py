"""Calls that a model wrote as text, as some local models do if their server does not understand their template.

Three spellings are recognised: JSON in `<tool_call>` tags (Hermes, Qwen), `<function=…>` with `<parameter=…>` in it
(Qwen Coder), and one fenced block of JSON at the end of an answer. Calls of unknown tools remain text.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from desktop_agent.core.base.regex import regex
from desktop_agent.core.models.vendors import VENDORS
from desktop_agent.core.protocol.codec import object_in, objects_in, text_in, texts_in
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    JsonObject,
    StopReason,
    TextBlock,
    ToolDefinition,
    ToolUseBlock,
)
from desktop_agent.core.providers.provider import Completion
from desktop_agent.core.providers.strict_json import parse_arguments, read_object
from desktop_agent.core.system.network.connections import MAX_CALLS

CAN_WRITE_CALLS = frozenset(vendor.id for vendor in VENDORS if vendor.wire == "openai-chat")

# The patterns look at no character twice: a model can repeat one of these marks, or a newline, thousands of times.
_BEGIN = regex(r"<tool_call>|<function=")
_MARK = regex(r"</?tool_call>|<\|(?:im_end|endoftext)\|>")
"""Marks around calls. The last two end an answer in a model's template, and some servers pass them on."""
_BETWEEN = regex(r"(?<=\})[ \t]*\r?\n\s*(?=\{)|(?<=</function>)\s*(?=<function=)")
_FUNCTION = regex(r"<function=([\w.-]+)>(.*)</function>", re.DOTALL)
_PARAMETER = regex(r"<parameter=([\w.-]+)>")
_PARAMETER_END = "</parameter>"
_FENCED = regex(r"```(?:json|tool_call)?[ \t]*\r?\n(?=\{)")
_FENCE = "```"
_WHOLE: frozenset[StopReason] = frozenset({"end_turn", "stop_sequence"})


class _Call(NamedTuple):
    name: str
    arguments: JsonObject


def with_text_calls(completion: Completion, tools: Sequence[ToolDefinition]) -> Completion:
    """Turn the calls in the completion's text into real calls; unchanged if it has others, or was cut off."""
    last = completion.content[-1] if completion.content else None
    has_calls = any(isinstance(block, ToolUseBlock) for block in completion.content)
    if has_calls or completion.stop_reason not in _WHOLE or not isinstance(last, TextBlock):
        return completion
    schemas = {tool.name: object_in(tool.input_schema, "properties") for tool in tools}
    begin, calls = _calls_in(last.text, schemas)
    if not calls:
        return completion
    text: list[AssistantBlock] = [replace(last, text=before)] if (before := last.text[:begin].rstrip()) else []
    blocks = [ToolUseBlock(id=f"text_{at}", name=call.name, arguments=call.arguments) for at, call in enumerate(calls)]
    return replace(
        completion,
        content=(*completion.content[:-1], *text, *blocks),
        stop_reason="tool_use",
        mended=(*completion.mended, "calls_in_text"),
    )


def _calls_in(text: str, schemas: Mapping[str, JsonObject]) -> tuple[int, list[_Call]]:
    text = text.rstrip()
    if (fenced := _FENCED.search(text)) and text.endswith(f"\n{_FENCE}"):
        begin, written = fenced.start(), [text[fenced.end() : -len(_FENCE)]]
    elif found := _BEGIN.search(text):
        begin, written = found.start(), _MARK.split(text[found.start() :])
    else:
        return 0, []
    if text[:begin].count(_FENCE) % 2:
        return 0, []
    calls = [call for each in written if each.strip() for call in _calls_of(each.strip(), schemas)]
    known = [call for call in calls if call is not None and call.name in schemas]
    return (begin, known) if len(known) == len(calls) <= MAX_CALLS else (0, [])


def _calls_of(written: str, schemas: Mapping[str, JsonObject]) -> list[_Call | None]:
    if written.startswith(_FENCE) and written.endswith(_FENCE):
        written = written[len(_FENCE) : -len(_FENCE)].removeprefix("json").strip()
    whole = _call_in(written, schemas)
    return [whole] if whole is not None else [_call_in(each, schemas) for each in _BETWEEN.split(written)]


def _call_in(written: str, schemas: Mapping[str, JsonObject]) -> _Call | None:
    if found := _FUNCTION.fullmatch(written):
        before, *parameters = _PARAMETER.split(found[2])
        names, values = parameters[::2], [value.rstrip() for value in parameters[1::2]]
        is_clear = len(set(names)) == len(names) and all(value.endswith(_PARAMETER_END) for value in values)
        if before.strip() or not is_clear or any(value.count(_PARAMETER_END) > 1 for value in values):
            return None
        properties = schemas.get(found[1], {})
        given = {
            name: _value(value.removesuffix(_PARAMETER_END), object_in(properties, name))
            for name, value in zip(names, values, strict=True)
        }
        return _Call(found[1], given)
    fields = parse_arguments(written).value
    if fields.keys() <= {"id", "type", "function"}:  # as in Chat Completions
        fields = object_in(fields, "function")
    places = fields.keys() & {"arguments", "parameters"}
    if len(places) != 1 or fields.keys() - places - {"id", "type", "name"}:
        return None
    arguments = fields[places.pop()]
    read = parse_arguments(arguments if isinstance(arguments, str) else json.dumps(arguments))
    return _Call(text_in(fields, "name"), read.value) if not read.rejected else None


def _value(written: str, schema: JsonObject) -> object:
    """Return the value of a parameter: the text itself if the schema allows text, otherwise decoded JSON."""
    text = written.removeprefix("\r\n").removeprefix("\n").removesuffix("\n").removesuffix("\r")
    choices = (schema, *objects_in(schema, "anyOf"), *objects_in(schema, "oneOf"))
    types = {name for choice in choices for name in (text_in(choice, "type"), *texts_in(choice, "type"))}
    if "string" in types:
        return None if text == "null" and "null" in types else text
    with suppress(ValueError, RecursionError):
        return read_object(json.dumps({"value": json.loads(text)}))["value"]
    return text
