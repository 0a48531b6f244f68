"""The rules that formats share: kinds of parts, names, ids, arguments, schemas, pictures."""

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import cast

from desktop_agent.core.protocol.model import JsonObject

_PICTURE = re.compile(r"data:image/(?:png|jpeg|webp|gif);base64,(.*)", re.DOTALL)
_SCHEME = re.compile(r"https?://.+")


def objects(value: object) -> list[JsonObject]:
    return cast("list[JsonObject]", value) if isinstance(value, list) else []


def fields_of(value: object) -> JsonObject:
    """Return an object whose shape was checked before, empty where there is none."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def kinds(parts: Sequence[JsonObject], known: Set[str], path: str) -> Iterator[str]:
    for number, part in enumerate(parts):
        if part.get("type", "message") not in known:
            yield f"{path}.{number}: {part['type']!r} is not a type that may stand here"


def is_blank(content: object) -> bool:
    return not isinstance(content, str) or not content.strip()


def functions(declared: Sequence[JsonObject], schema: str = "parameters", *, longest: int = 64) -> Iterator[str]:
    names = Counter(str(function.get("name")) for function in declared)
    for name, count in names.items():
        yield from tool_name(name, "tools", longest=longest)
        if count > 1:
            yield f"tools: {count} tools are named {name!r}"
    for function in declared:
        where = f"tools.{function.get('name')}"
        parameters = fields_of(function.get(schema))
        if parameters and parameters.get("type") != "object":
            yield f"{where}: the schema of the arguments is not of type object"
        if function.get("strict") is True:
            yield from _strictness(parameters, where)


def tool_name(name: object, path: str, *, longest: int = 64) -> Iterator[str]:
    if not isinstance(name, str) or not re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{longest}}}", name):
        yield f"{path}: {name!r} is not a tool's name"


def call_id(value: object, path: str, *, longest: int) -> Iterator[str]:
    if not isinstance(value, str) or not value:
        yield f"{path}: {value!r} is no id"
    elif len(value) > longest:
        yield f"{path}: string too long, {len(value)} characters, {longest} at most"


def arguments(value: object, path: str) -> Iterator[str]:
    try:
        parsed: object = json.loads(str(value))
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        yield f"{path}: {value!r} is not an object in JSON"


def effort(value: object, levels: Sequence[str], path: str) -> Iterator[str]:
    if value is not None and value not in levels:
        yield f"{path}: {value!r} is none of {', '.join(levels)}"


def picture(url: object, path: str) -> Iterator[str]:
    if not isinstance(url, str) or _SCHEME.fullmatch(url):
        return
    found = _PICTURE.fullmatch(url)
    if not found:
        yield f"{path}: not the address of a picture: {url[:40]!r}"
    elif not _is_base64(found[1]):
        yield f"{path}: the data is not base64"


def _is_base64(data: str) -> bool:
    try:
        return bool(b64decode(data, validate=True))
    except ValueError:
        return False


def _strictness(schema: JsonObject, path: str) -> Iterator[str]:
    properties = fields_of(schema.get("properties"))
    if schema.get("additionalProperties") is not False:
        yield f"{path}: strict, and additionalProperties is not false"
    required = schema.get("required")
    if set(cast("list[str]", required) if isinstance(required, list) else ()) != set(properties):
        yield f"{path}: strict, and not every property is required"
