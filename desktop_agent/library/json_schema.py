"""Validates values against a JSON Schema. `jsonschema` takes 0.1 s to import, so import this late."""

from collections.abc import Mapping
from typing import Any, cast

from jsonschema import SchemaError, ValidationError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from desktop_agent.core.base.errors import UsageError


def require_schema(schema: Mapping[str, object]) -> None:
    """Raise `UsageError` when `schema` is not a JSON Schema."""
    checked = cast("dict[str, Any]", schema)
    try:
        validator_for(checked).check_schema(checked)
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path)) or "the schema"
        raise UsageError("The output schema is no JSON Schema.", detail=f"{place}: {error.message}") from error


def mistake_in(value: object, schema: Mapping[str, object]) -> str:
    """Return the outermost mistake in a value, or an empty string. References are not fetched."""
    checked = cast("dict[str, Any]", schema)
    registry: Registry[Any] = Registry()
    try:
        mistakes = validator_for(checked)(checked, registry=registry).iter_errors(cast("Any", value))
        found: ValidationError | None = min(mistakes, key=lambda one: len(one.absolute_path), default=None)
    except (Unresolvable, RecursionError) as error:
        return f"the schema cannot be applied ({error})"
    if found is None:
        return ""
    place = ".".join(map(str, found.absolute_path)) or "the value"
    return f"{place}: {found.message}"
