"""A tool's schema: its parameters, and arguments that break one rule."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.tools.builtin import AnyTool


def parameters(tool: AnyTool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each parameter of a tool with its schema; an item's parameter is named like `todos[].id`."""
    schema = tool.definition().input_schema
    yield from _members("", schema, cast("Mapping[str, Any]", schema.get("$defs", {})))


def _members(
    prefix: str, schema: Mapping[str, Any], named: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, member in schema.get("properties", {}).items():
        yield prefix + name, member
        items = member.get("items", {})
        yield from _members(f"{prefix}{name}[].", named.get(items.get("$ref", "").rpartition("/")[2], items), named)


def values(arguments: Mapping[str, Any], path: str) -> list[Any]:
    name, _, rest = path.partition("[].")
    if name not in arguments:
        return []
    return [value for item in arguments[name] for value in values(item, rest)] if rest else [arguments[name]]


def misused(tool: AnyTool, good: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield copies of `good` that each break one rule of the schema, with the broken parameter."""
    schema = cast("Mapping[str, Any]", tool.definition().input_schema)
    yield "colour", {**good, "colour": "red"}
    for name in schema.get("required", ()):
        yield name, {key: value for key, value in good.items() if key != name}
    for name, member in schema["properties"].items():
        for value in _not_allowed(member):
            yield name, {**good, name: value}


def _not_allowed(member: Mapping[str, Any]) -> Iterator[object]:
    yield {"string": 5, "array": "x", "object": "x"}.get(member["type"], "many")
    if "minimum" in member:
        yield member["minimum"] - 1
    if "exclusiveMinimum" in member:
        yield member["exclusiveMinimum"]
    if "maximum" in member:
        yield member["maximum"] + 1
    if "minLength" in member:
        yield ""
    if "maxLength" in member:
        yield "x" * (member["maxLength"] + 1)
    if "enum" in member:
        yield "something else"
