"""Whether arguments are what a server's schema asks for, told so that the model can put it right.

A schema is written by the server: nothing it names is fetched, and its regular expressions, which can be made to take
for ever, are left to the server. `jsonschema` is imported with the first check, at a call of a server's tool (0.1 s).
"""

from collections.abc import Mapping
from typing import Any, cast

_LEFT_TO_THE_SERVER = frozenset({"pattern", "patternProperties", "format"})
_DEEPEST = 64


class ArgumentCheck:
    """Checks arguments against one schema, which is itself checked once: that takes longer than the arguments."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        from jsonschema import SchemaError
        from jsonschema.validators import validator_for
        from referencing import Registry
        from referencing.exceptions import Unresolvable

        checked = cast("dict[str, Any]", _checked(schema, 0))
        kind = validator_for(checked)
        registry: Registry[Any] = Registry()
        try:
            kind.check_schema(checked)
            self._validator = kind(checked, registry=registry)
        except (SchemaError, Unresolvable, RecursionError):
            self._validator = None  # the schema is none, so nothing is wrong

    def mistake_in(self, values: Mapping[str, object]) -> str:
        """Return what is wrong with the arguments, in a line; nothing where the schema itself is none."""
        if self._validator is None:
            return ""
        from referencing.exceptions import Unresolvable

        try:
            mistakes = self._validator.iter_errors(cast("dict[str, Any]", values))
            found = min(mistakes, key=lambda mistake: len(mistake.absolute_path), default=None)
        except (Unresolvable, RecursionError):
            return ""
        if found is None:
            return ""
        place = ".".join(map(str, found.absolute_path)) or "input"
        return f"{place}: {found.message}"


def _checked(value: object, depth: int) -> object:
    """Return a part of a schema without what is left to the server. A property may be called like a keyword."""
    if isinstance(value, list):
        return [_checked(inner, depth + 1) for inner in cast("list[object]", value)]
    if depth > _DEEPEST:
        return True
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, object]", value)
    return {
        key: _properties(inner, depth) if key in ("properties", "$defs", "definitions") else _checked(inner, depth + 1)
        for key, inner in fields.items()
        if key not in _LEFT_TO_THE_SERVER
    }


def _properties(value: object, depth: int) -> object:
    if not isinstance(value, dict):
        return value
    return {name: _checked(inner, depth + 1) for name, inner in cast("dict[str, object]", value).items()}
