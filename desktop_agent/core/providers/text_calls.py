"""Calls that a model wrote as text, as some local models do where their server does not understand their template.

Three spellings are known: JSON in `<tool_call>` tags (Hermes, Qwen), `<function=…>` with `<parameter=…>` in them
(Qwen Coder), and one fenced block of JSON at the end of an answer. What else it may be is left as text: a call of a
tool that is not offered, one inside a block of code, and one that more text follows.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from desktop_agent.core.models.vendors import VENDORS
from desktop_agent.core.protocol.codec import object_in, text_in
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    JsonObject,
    StopReason,
    TextBlock,
    ToolDefinition,
    ToolUseBlock,
)
from desktop_agent.core.providers.provider import Completion
from desktop_agent.core.providers.strict_json import read_object

CAN_WRITE_CALLS = frozenset(vendor.id for vendor in VENDORS if vendor.wire == "openai-chat")
"""The providers whose models' texts are searched for calls: those of Chat Completions, which local servers speak."""

_TAG = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>\s*|\Z)", re.DOTALL)
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
        begin = end = text.find("<tool_call>")
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
        if _PARAMETER.sub("", found[2]).strip():
            return None
        return _Call(found[1], {name: _value(value, object_in(properties, name)) for name, value in parameters})
    try:
        fields = read_object(written)
    except ValueError:
        return None
    given = next((fields[name] for name in ("arguments", "parameters") if name in fields), None)
    if not isinstance(given, dict) or len(fields) != 2:
        return None
    return _Call(text_in(fields, "name"), object_in({"given": given}, "given"))


def _value(written: str, schema: JsonObject) -> object:
    """Return the value of a parameter: text as it stands between its tags, anything else as JSON."""
    text = written.removeprefix("\r\n").removeprefix("\n").removesuffix("\n").removesuffix("\r")
    if text_in(schema, "type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
