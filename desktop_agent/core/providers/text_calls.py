"""Calls that a model wrote as text, as some local models do where their server does not understand their template.

Three spellings are known: JSON in `<tool_call>` tags (Hermes, Qwen), `<function=…>` with `<parameter=…>` in them
(Qwen Coder, which may leave out the opening `<tool_call>`), and one fenced block of JSON at the end of an answer. What
else it may be is left as text: a call of a tool that is not offered, one inside a block of code, and one that more text
follows.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

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

CAN_WRITE_CALLS = frozenset(vendor.id for vendor in VENDORS if vendor.wire == "openai-chat")
"""The providers whose models' texts are searched for calls: those of Chat Completions, which local servers speak."""

_BEGIN = re.compile(r"<tool_call>|<function=")
_TAG = re.compile(r"(?:<tool_call>\s*(?!<tool_call>)|(?=<function=))(.*?)\s*(?:</tool_call>\s*|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.-]+)>\s*(.*?)\s*</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>(.*?)</parameter>\s*", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call)?[ \t]*\r?\n(\{.*\})\s*\r?\n```\s*\Z", re.DOTALL)
_FENCE = "```"
_WHOLE: frozenset[StopReason] = frozenset({"end_turn", "stop_sequence"})


class _Call(NamedTuple):
    name: str
    arguments: JsonObject


def with_text_calls(completion: Completion, tools: Sequence[ToolDefinition]) -> Completion:
    """Return the completion with the calls in its text as calls; unchanged if it has calls, or was cut off."""
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
    """Return where the calls begin, and the calls; none if any of it is something else."""
    if fenced := _FENCED.search(text):
        begin, written = fenced.start(), [fenced[1]]
    else:
        begin = end = found.start() if (found := _BEGIN.search(text)) else -1
        written = list[str]()
        while end >= 0 and (found := _TAG.match(text, end)):
            written.append(found[1])
            end = found.end()
        if end != len(text):
            return 0, []
    if not written or text[:begin].count(_FENCE) % 2:
        return 0, []
    calls = [_call_in(each, schemas) for each in written]
    known = [call for call in calls if call is not None and call.name in schemas]
    return (begin, known) if len(known) == len(calls) else (0, [])


def _call_in(written: str, schemas: Mapping[str, JsonObject]) -> _Call | None:
    if found := _FUNCTION.fullmatch(written):
        properties = schemas.get(found[1], {})
        parameters = _PARAMETER.findall(found[2])
        arguments = {name: _value(value, object_in(properties, name)) for name, value in parameters}
        is_clear = len(arguments) == len(parameters) and not _PARAMETER.sub("", found[2]).strip()
        return _Call(found[1], arguments) if is_clear else None
    fields = parse_arguments(written).value
    if fields.keys() <= {"id", "type", "function"}:  # as in Chat Completions
        fields = object_in(fields, "function")
    names = fields.keys() & {"arguments", "parameters"}
    if len(names) != 1 or fields.keys() - names - {"id", "type", "name"}:
        return None
    given = fields[names.pop()]
    read = parse_arguments(given if isinstance(given, str) else json.dumps(given))
    return _Call(text_in(fields, "name"), read.value) if not read.rejected else None


def _value(written: str, schema: JsonObject) -> object:
    """Return the value of a parameter: text as it stands between its tags, anything else as JSON."""
    text = written.removeprefix("\r\n").removeprefix("\n").removesuffix("\n").removesuffix("\r")
    choices = (schema, *objects_in(schema, "anyOf"), *objects_in(schema, "oneOf"))
    types = {name for choice in choices for name in (text_in(choice, "type"), *texts_in(choice, "type"))}
    if "string" in types:
        return None if text == "null" and "null" in types else text
    with suppress(ValueError, RecursionError):
        return read_object(json.dumps({"value": json.loads(text)}))["value"]
    return text
