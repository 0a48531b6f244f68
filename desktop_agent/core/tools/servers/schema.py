"""Schemas of servers' tools, changed only where a model's API would refuse them.

Servers send any JSON Schema. APIs ask that the root is an object without alternatives, that an array says what is in
it, and that a property's name is plain. What had to be changed is changed back in the arguments, and the server's own
schema still decides whether they are right.
"""

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import cast

from msgspec import Struct, field

from desktop_agent.core.protocol.model import JsonObject

_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")
_DEEPEST = 64
"""Of schemas in schemas. A server that sends more gets the rest passed on as anything."""


class OfferedSchema(Struct, frozen=True):
    """A schema as models receive it."""

    schema: JsonObject
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """The properties of the root that have another name than the server's: ours to theirs."""

    def arguments_for_server(self, arguments: Mapping[str, object]) -> JsonObject:
        """Return arguments of the model's by the server's names."""
        return {self.renamed.get(name, name): value for name, value in arguments.items()}


def offered_schema(schema: Mapping[str, object]) -> OfferedSchema:
    """Return what models receive of a tool's schema, which stays as it is."""
    root = _as_object(schema)
    properties, renamed = _plain_names(_mapping(root.get("properties")))
    root["properties"] = properties
    required = root.get("required")
    if isinstance(required, list):
        ours = {theirs: name for name, theirs in renamed.items()}
        root["required"] = [ours.get(str(name), name) for name in cast("list[object]", required)]
    repaired = {key: _repaired(value, 0) if key != "required" else value for key, value in root.items()}
    return OfferedSchema(repaired, renamed)


def _as_object(schema: Mapping[str, object]) -> JsonObject:
    """Return the schema with an object at its root. Alternatives become one object that has what any of them has."""
    root: JsonObject = {key: value for key, value in schema.items() if key not in _ALTERNATIVES}
    properties = dict(_mapping(schema.get("properties")))
    for key in _ALTERNATIVES:
        alternatives = schema.get(key)
        for alternative in cast("list[object]", alternatives) if isinstance(alternatives, list) else []:
            other = _mapping(alternative)
            properties = {**_mapping(other.get("properties")), **properties}
            if key == "allOf" and isinstance(more := other.get("required"), list):
                known = root.get("required")
                root["required"] = [*(cast("list[object]", known) if isinstance(known, list) else []), *more]
    root["type"] = "object"
    root["properties"] = properties
    return root


def _plain_names(properties: Mapping[str, object]) -> tuple[JsonObject, dict[str, str]]:
    plain: JsonObject = {}
    renamed: dict[str, str] = {}
    for name, schema in properties.items():
        ours = name
        if _PROPERTY.fullmatch(name) is None:
            digest = blake2b(name.encode(errors="surrogatepass"), digest_size=3).hexdigest()
            ours = f"{_OTHER.sub('_', name)[:57]}_{digest}"
            renamed[ours] = name
        plain[ours] = schema
    return plain, renamed


def _repaired(value: object, depth: int) -> object:
    """Return a part of a schema with every array saying what is in it."""
    if isinstance(value, list):
        return [_repaired(inner, depth + 1) for inner in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    if depth > _DEEPEST:
        return {}
    inner = {key: _repaired(part, depth + 1) for key, part in cast("JsonObject", value).items()}
    kind = inner.get("type")
    is_array = kind == "array" or (isinstance(kind, list) and "array" in kind)
    if is_array and "items" not in inner and "prefixItems" not in inner:
        inner["items"] = {}
    return inner


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
